//! Names the patterns that hold what was counted.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use foldhash::quality::RandomState;
use kato_model::{Event, PatternName};
use kato_store::{PatternStore, Source};

use crate::HeadError;
use crate::collect::{BREAK, Holder, Sink, visit};
use crate::explanation::{CountedPattern, Counts, Explanation, OrderTerm, Reason};
use crate::head::Head;
use crate::one_by_one::OneByOne;
use crate::symbols::SymbolId;

/// Patterns of one count beyond those that will be listed, before the least of them are dropped.
const SPARE: usize = 1000;

/// Patterns between two looks whether there are too many.
const DROP_EVERY: usize = 256;

impl Head {
    /// Names the patterns behind the counts of explanations, at most `most` for each count, each with
    /// the place where it was first seen, if the store knows that.
    ///
    /// The store must be the one that the head was built of. What was learned since and is not
    /// committed is in no pattern of it, and what was committed since in no count. Reads all
    /// levels once, whatever the number of explanations, which takes about as long as building the
    /// head and as much memory for the ends of patterns.
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
        let mut finder = Finder::new(self, explanations);
        let mut number = |text: &str| Ok(self.number(text));
        visit(store, &mut number, self.options(), &mut finder)?;
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

    /// Returns the n-gram of a term; `None` if it was never counted, or has unknown symbols.
    fn target(&self, term: &OrderTerm, symbol: &str) -> Option<Target> {
        let symbols = term.context.iter().map(String::as_str).chain([symbol]);
        let ids = symbols.map(|symbol| Some(self.symbol(symbol)?.0));
        let ngram = ids.collect::<Option<Vec<u32>>>()?;
        let n_before = usize::from(term.counts == Counts::SymbolsBefore);
        (term.count > 0).then_some(Target { n_before, ngram })
    }

    /// Lists the patterns with the most occurrences.
    fn listed(&self, found: &Found, most: usize) -> Vec<CountedPattern> {
        let mut holders: Vec<(&Holder, &Held)> = found.held.iter().collect();
        holders.sort_by(|one, other| Held::rank(*one).cmp(&Held::rank(*other)));
        let text = |&symbol: &u32| self.text(SymbolId(symbol)).map(str::to_owned);
        let pattern = |(holder, held): (&Holder, &Held)| {
            let mut before: Vec<String> = held.before.iter().filter_map(text).collect();
            // Numbers depend on who was learned first.
            before.sort_unstable();
            CountedPattern {
                level: holder.level,
                pattern: holder.name,
                count: held.count,
                before,
                source: None,
            }
        };
        holders.into_iter().take(most).map(pattern).collect()
    }
}

/// Names the patterns behind explanations, where those lie in no store: [`Head::name_patterns`] for
/// a head that was built by a [`HeadBuilder`](crate::HeadBuilder) or taught.
///
/// The patterns must be all that the head has counted, as they were then. Keeps about 40 bytes for
/// each pattern below the highest level, as building does, and a thousand patterns for each count.
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
    n_added: usize,
}

impl<'h> PatternNamer<'h> {
    /// Creates a namer that has seen no pattern, of at most `most` patterns for each count.
    #[must_use]
    pub fn new(head: &'h Head, explanations: &[Explanation], most: usize) -> Self {
        Self {
            head,
            finder: Finder::new(head, explanations),
            reader: OneByOne::new(head.n_levels, head.options().order),
            most,
            n_added: 0,
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
        self.n_added += 1;
        if self.n_added.is_multiple_of(DROP_EVERY) {
            // No pattern comes twice, so what one holds is final.
            self.finder.drop_least(self.most);
        }
        Ok(())
    }

    /// Returns about how many bytes of memory the namer holds.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        let held = size_of::<(Holder, Held)>() * 2;
        let kept = self.finder.found.iter().map(|found| found.held.len());
        self.reader.heap_bytes() + kept.sum::<usize>() * held
    }

    /// Writes the patterns into the explanations, which have to be those that the namer was made
    /// for.
    pub fn name(self, explanations: &mut [Explanation]) {
        self.finder.name(self.head, explanations, self.most);
    }
}

/// Lists the terms of explanations, each with the symbol that is explained.
fn terms(explanations: &[Explanation]) -> impl Iterator<Item = (&OrderTerm, &str)> {
    explanations.iter().flat_map(|explanation| {
        let parts = explanation.parts.iter();
        let orders = parts.flat_map(|part| match &part.reason {
            Reason::Ngrams { orders, .. } => orders.as_slice(),
            Reason::Cache { .. } | Reason::Outside { .. } => &[],
        });
        orders.map(|order| (order, explanation.symbol.as_str()))
    })
}

/// An n-gram that is looked for, with or without the symbol before it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Target {
    n_before: usize,
    ngram: Vec<u32>,
}

/// What one pattern holds of a target.
#[derive(Debug, Clone, Default)]
struct Held {
    count: u64,
    before: BTreeSet<u32>,
}

impl Held {
    /// Returns the key to sort by: the most occurrences first, ties by level and name.
    fn rank<'a>((holder, held): (&'a Holder, &Self)) -> (std::cmp::Reverse<u64>, &'a Holder) {
        (std::cmp::Reverse(held.count), holder)
    }
}

/// The patterns that hold a target.
#[derive(Debug, Default)]
struct Found {
    held: BTreeMap<Holder, Held>,
    /// Patterns that hold it and are not kept.
    n_dropped: u64,
}

/// An n-gram that is looked for, and its place in [`Finder::found`].
type Place = (Vec<u32>, usize);

/// A sink that keeps who holds the targets.
#[derive(Debug, Default)]
struct Finder {
    targets: HashMap<Target, usize, RandomState>,
    found: Vec<Found>,
    /// The targets by how many symbols stand before their n-gram, and by the first one of that:
    /// most windows are none of them.
    by_first: [HashMap<u32, Vec<Place>, RandomState>; 2],
}

impl Finder {
    /// Creates a finder of what the counts of explanations count.
    fn new(head: &Head, explanations: &[Explanation]) -> Self {
        let mut finder = Self::default();
        for (term, symbol) in terms(explanations) {
            let Some(target) = head.target(term, symbol) else {
                continue;
            };
            if finder.targets.contains_key(&target) {
                continue;
            }
            let place = finder.found.len();
            finder.found.push(Found::default());
            if let Some(&first) = target.ngram.first() {
                let places = finder.by_first[target.n_before].entry(first).or_default();
                places.push((target.ngram.clone(), place));
            }
            finder.targets.insert(target, place);
        }
        finder
    }

    /// Looks at one n-gram-to-be: a window that begins here, of which the n-grams of more than
    /// `n_known` symbols are new.
    fn look(&mut self, holder: Holder, window: &[u32], n_known: usize, times: u32) {
        for (n_before, by_first) in self.by_first.iter().enumerate() {
            let places = window.get(n_before).and_then(|first| by_first.get(first));
            for (ngram, place) in places.into_iter().flatten() {
                let length = n_before + ngram.len();
                let is_new = length > n_known && length <= window.len();
                if is_new && window[n_before..length] == ngram[..] {
                    let held = self.found[*place].held.entry(holder).or_default();
                    held.count = held.count.saturating_add(times.into());
                    held.before.extend(&window[..n_before]);
                }
            }
        }
    }

    /// Drops patterns that will not be listed, where there are many.
    fn drop_least(&mut self, most: usize) {
        for found in &mut self.found {
            if found.held.len() < most.saturating_add(SPARE) {
                continue;
            }
            let mut holders: Vec<(Holder, Held)> =
                std::mem::take(&mut found.held).into_iter().collect();
            holders.sort_by(|(one, of_one), (other, of_other)| {
                Held::rank((one, of_one)).cmp(&Held::rank((other, of_other)))
            });
            found.n_dropped += holders.len().saturating_sub(most) as u64;
            holders.truncate(most);
            found.held = holders.into_iter().collect();
        }
    }

    /// Writes what was found into explanations.
    fn name(&self, head: &Head, explanations: &mut [Explanation], most: usize) {
        for explanation in explanations {
            let symbol = explanation.symbol.clone();
            for term in explanation.orders_mut() {
                let target = head.target(term, &symbol);
                let place = target.and_then(|target| self.targets.get(&target));
                let Some(found) = place.map(|&place| &self.found[place]) else {
                    continue;
                };
                term.n_patterns = Some(found.n_dropped + found.held.len() as u64);
                term.patterns = head.listed(found, most);
            }
        }
    }
}

impl Sink for Finder {
    fn run(&mut self, holder: Holder, run: &[u32], times: u32) -> Result<(), HeadError> {
        for start in 0..run.len() {
            self.look(holder, &run[start..], 0, times);
        }
        Ok(())
    }

    fn window(
        &mut self,
        holder: Holder,
        window: &[u32],
        n_known: usize,
        times: u32,
    ) -> Result<(), HeadError> {
        self.look(holder, window, n_known, times);
        Ok(())
    }
}
