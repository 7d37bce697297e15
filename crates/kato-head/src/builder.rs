//! Counts patterns that are handed over one by one into a head.

use kato_model::{Event, PatternName};

use crate::collect::{BREAK, Child, Edges, note_missing};
use crate::head::Head;
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
    edges: Edges,
    level: usize,
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
            head,
            trie: TrieBuilder::new(order),
            edges: Edges::new(order - 1),
            level: 0,
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
        if level < self.level {
            return Err(HeadError::LevelOrder {
                level,
                after: self.level,
            });
        }
        self.level = level;
        if level >= self.head.n_levels || times == 0 {
            return Ok(());
        }
        let short = u32::try_from(times).unwrap_or(u32::MAX);
        self.head.counted.patterns += 1;
        let symbols = if level == 0 {
            self.head.count_learns(events, times);
            let run = self.head.run_of(events)?;
            for run in run.split(|&symbol| symbol == BREAK) {
                self.trie.run(run, short)?;
            }
            run
        } else {
            let children = self.children_of(level, events);
            let (edges, trie) = (&self.edges, &mut self.trie);
            edges.crossing_windows(&children, |window, n_known| {
                trie.window(window, n_known, short)
            })?;
            let mut symbols = Vec::new();
            edges.join(&children, &mut symbols);
            symbols
        };
        // Nothing refers to the uppermost level.
        if level + 1 < self.head.n_levels {
            self.edges.insert(level, *name, &symbols);
        }
        Ok(())
    }

    /// Returns the children of a pattern.
    fn children_of(&mut self, level: usize, events: &[Event]) -> Vec<Child> {
        let mut children = Vec::with_capacity(events.len());
        let counted = &mut self.head.counted;
        for event in events {
            children.push(match event.symbols() {
                [symbol] => {
                    let name = PatternName::from_symbol(symbol);
                    let child = name.and_then(|name| self.edges.place(level, &name));
                    if child.is_none() {
                        counted.unknown_names += 1;
                        if let Some(name) = name {
                            note_missing(&mut self.head.missing, level, name);
                        }
                    }
                    child
                }
                _ => {
                    counted.wide_events += 1;
                    None
                }
            });
        }
        children
    }

    /// Returns about how many bytes of memory the builder holds. [`finish`](Self::finish) takes about
    /// as much beside it.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.trie.heap_bytes() + self.edges.heap_bytes() + self.head.heap_bytes()
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
            edges,
            ..
        } = self;
        drop(edges);
        head.trie = trie.finish()?;
        Ok(head)
    }
}
