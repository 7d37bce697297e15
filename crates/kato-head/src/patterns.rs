//! Names the patterns that hold what was counted.

mod coming;
mod finder;
mod found;
mod looked_at;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use kato_model::{Event, PatternName};
use kato_store::{PatternStore, Source};

use self::finder::Finder;
use self::looked_at::LookedAt;
use crate::HeadError;
use crate::collect::{BREAK, Ends, Holder, visit};
use crate::explanation::Explanation;
use crate::head::Head;
use crate::one_by_one::OneByOne;

impl Head {
    /// Names the patterns behind the counts of explanations, at most `most` for each count, each with
    /// the place where it was first seen, if the store knows that.
    ///
    /// The store must be the one that the head was built of. What was learned since and is not
    /// committed is in no pattern of it, and what was committed since in no count. Reads the levels
    /// that are counted once, whatever the number of explanations, and keeps the ends of the patterns
    /// below the highest: where the counts lie on the disk, as a rule, only of those that
    /// begin or end with a symbol that is asked about. Where patterns lie in several parts of the store
    /// and more than a million of a level hold what is asked about, that level is read once for each
    /// million or less.
    ///
    /// # Errors
    ///
    /// [`HeadError::Store`].
    pub fn name_patterns(
        &self,
        store: &dyn PatternStore,
        explanations: &mut [Explanation],
        most: usize,
    ) -> Result<(), HeadError> {
        let mut finder = Finder::new(self, explanations, most);
        let mut number = |text: &str| Ok(self.number(text));
        let ends = match self.has_plain_names() {
            true => Ends::Needed,
            false => Ends::All,
        };
        visit(store, &mut number, self.options(), &mut finder, ends)?;
        let mut looked_at = LookedAt::new(self, store)?;
        finder.look_again(|holder, finder| looked_at.show(holder, finder))?;
        finder.name(self, explanations, most);
        // A pattern that stands behind several counts is looked up once.
        let mut sources: BTreeMap<Holder, Option<Source>> = BTreeMap::new();
        for pattern in explanations.iter_mut().flat_map(Explanation::patterns_mut) {
            let (level, name) = (pattern.level, pattern.pattern);
            let key = Holder { level, name };
            pattern.source = match sources.entry(key) {
                Entry::Occupied(known) => known.get().clone(),
                Entry::Vacant(unknown) => {
                    let source = Source::of_pattern(store, level, &name);
                    let source = source.map_err(|source| HeadError::Store { level, source })?;
                    unknown.insert(source).clone()
                }
            };
        }
        Ok(())
    }

    /// Returns the number of a symbol, [`BREAK`] if nobody counted it.
    fn number(&self, text: &str) -> u32 {
        self.symbol(text).map_or(BREAK, |symbol| symbol.0)
    }
}

/// Names the patterns behind explanations, where those lie in no store: [`Head::name_patterns`] for
/// a head that was built by a [`HeadBuilder`](crate::HeadBuilder) or taught.
///
/// The patterns must be all that the head has counted, as they were then. Keeps about 100 bytes for
/// each pattern below the highest level, as building does, and some thousand patterns for each count.
///
/// ```
/// use kato_head::{Head, HeadOptions, PatternNamer, Weights};
/// use kato_model::{Event, PatternName};
///
/// let events = ["a", "b", "c"].map(|word| Event::new([word]));
/// let mut head = Head::new(HeadOptions::default())?;
/// head.learn(0, &events, 3, |_, _| Ok::<_, kato_head::HeadError>(None))?;
/// let mut history = head.history();
/// head.read(&mut history, "a");
/// let weights = Weights::new();
/// let next = head.next(&history, &weights, None);
/// let mut why = [next.explain(head.symbol("b").unwrap())];
///
/// let mut namer = PatternNamer::new(&head, &why, 5);
/// namer.add(0, &PatternName::of_events(&events), &events, 3)?;
/// namer.name(&mut why);
/// assert!(why[0].patterns_mut().all(|pattern| pattern.count == 3));
/// # Ok::<(), kato_head::HeadError>(())
/// ```
#[derive(Debug)]
pub struct PatternNamer<'h> {
    head: &'h Head,
    finder: Finder,
    reader: OneByOne,
    most: usize,
}

impl<'h> PatternNamer<'h> {
    /// Creates a namer that has seen no pattern, of at most `most` patterns for each count.
    #[must_use]
    pub fn new(head: &'h Head, explanations: &[Explanation], most: usize) -> Self {
        Self {
            head,
            finder: Finder::new(head, explanations, most).with_symbols_before(),
            reader: OneByOne::new(head.n_levels, head.options().order),
            most,
        }
    }

    /// Looks at a pattern, which was learned `times` times. Patterns come level by level, from the
    /// lowest up, each once.
    ///
    /// # Errors
    ///
    /// [`HeadError::LevelOrder`].
    pub fn add(
        &mut self,
        level: usize,
        name: &PatternName,
        events: &[Event],
        times: u64,
    ) -> Result<(), HeadError> {
        let holder = Holder { level, name: *name };
        let number = &mut |text: &str| Ok(self.head.number(text));
        self.reader
            .read(holder, events, times, number, &mut self.finder)?;
        Ok(())
    }

    /// Returns about how many bytes of memory the namer holds.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.reader.heap_bytes() + self.finder.heap_bytes()
    }

    /// Writes the patterns into the explanations, which have to be those that the namer was made
    /// for.
    pub fn name(mut self, explanations: &mut [Explanation]) {
        self.finder.settle();
        self.finder.name(self.head, explanations, self.most);
    }
}
