//! Counts patterns that are handed over one by one into a head.

use kato_model::{Event, PatternName};

use crate::collect::Holder;
use crate::head::Head;
use crate::one_by_one::OneByOne;
use crate::symbols::Symbols;
use crate::trie::TrieBuilder;
use crate::{HeadError, HeadOptions};

/// A builder of a [`Head`] from patterns that lie in no store: those of nodes in memory. Counts as
/// [`Head::from_store`] does, and much faster than [`Head::learn`]. Of the uppermost level that the
/// options [name](HeadOptions::levels) less is kept in memory while it counts.
///
/// ```
/// use kato_head::{HeadBuilder, HeadOptions};
/// use kato_model::{Event, PatternName};
///
/// let events = ["a", "b", "c"].map(|word| Event::new([word]));
/// let mut builder = HeadBuilder::new(HeadOptions::default())?;
/// builder.add(0, &PatternName::of_events(&events), &events, 3)?;
/// let head = builder.finish()?;
/// let ngram = ["a", "b"].map(|word| head.symbol(word).unwrap());
/// assert_eq!(head.count(&ngram), 3);
/// # Ok::<(), kato_head::HeadError>(())
/// ```
#[derive(Debug)]
pub struct HeadBuilder {
    /// Its tree stays empty until the end.
    head: Head,
    trie: TrieBuilder,
    reader: OneByOne,
}

impl HeadBuilder {
    /// Creates a builder that has counted nothing, of any symbols.
    ///
    /// # Errors
    ///
    /// [`HeadError::Option`].
    pub fn new(options: HeadOptions) -> Result<Self, HeadError> {
        let (order, head) = (options.order, Head::empty(Symbols::new(None)?, options)?);
        Ok(Self {
            reader: OneByOne::new(head.n_levels, order),
            head,
            trie: TrieBuilder::new(order),
        })
    }

    /// Counts all learns of a pattern. Patterns come level by level, from the lowest up, each once;
    /// levels that the options leave out are passed over.
    ///
    /// # Errors
    ///
    /// [`HeadError::LevelOrder`], [`HeadError::TooManyNgrams`], [`HeadError::TooManySymbols`].
    pub fn add(
        &mut self,
        level: usize,
        name: &PatternName,
        events: &[Event],
        times: u64,
    ) -> Result<(), HeadError> {
        let holder = Holder { level, name: *name };
        let symbols = &mut self.head.symbols;
        let number = &mut |symbol: &str| symbols.intern(symbol);
        self.reader
            .read(holder, events, times, number, &mut self.trie)
    }

    /// Returns about how many bytes of memory the builder holds. [`finish`](Self::finish) takes about
    /// as much beside it.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.trie.heap_bytes() + self.reader.heap_bytes() + self.head.heap_bytes()
    }

    /// Returns the head of everything that was counted.
    ///
    /// # Errors
    ///
    /// [`HeadError::TooManyNgrams`].
    pub fn finish(self) -> Result<Head, HeadError> {
        let Self {
            mut head,
            trie,
            reader,
        } = self;
        // What is known of patterns goes before the tree is made, which takes much memory.
        (head.counted, head.missing) = reader.finish();
        head.trie = trie.finish()?;
        Ok(head)
    }
}
