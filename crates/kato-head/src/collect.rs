//! Counts the n-grams of a hierarchy's patterns, each occurrence at the lowest level that holds it
//! whole.

use std::collections::HashMap;
use std::ops::{ControlFlow, Range};

use foldhash::quality::RandomState;
use kato_model::{Event, PatternName};
use kato_store::visit::{SourceSymbols, SymbolRef, VisitedPattern};
use kato_store::{PatternStore, PatternVisitor, Tombstones};
use serde::{Deserialize, Serialize};

use crate::symbols::Symbols;
use crate::trie::{Trie, TrieBuilder};
use crate::{HeadError, HeadOptions};

/// Stands where symbols are unknown, or several at once: no n-gram reaches across it.
pub(crate) const BREAK: u32 = u32::MAX;

/// What a head counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Counted {
    /// Learn calls of the lowest level.
    pub learns: u64,
    /// Symbols of those learn calls.
    pub symbols: u64,
    /// Patterns read, of all levels. A pattern that several parts of a store hold counts for each, but
    /// once where the counts lie on the disk.
    pub patterns: u64,
    /// Events of several symbols, across which nothing is counted.
    pub wide_events: u64,
    /// Names that no level below holds, across which nothing is counted.
    pub unknown_names: u64,
}

impl Counted {
    /// Counts learn calls of the lowest level.
    pub(crate) fn count_learns(&mut self, events: &[Event], times: u64) {
        let n_symbols: u64 = events.iter().map(|event| event.len() as u64).sum();
        self.learns = self.learns.saturating_add(times);
        let n_learned = times.saturating_mul(n_symbols);
        self.symbols = self.symbols.saturating_add(n_learned);
    }

    /// Returns the numbers of the symbols of a pattern of the lowest level, which `number` gives.
    pub(crate) fn run_of(
        &mut self,
        events: &[Event],
        number: &mut dyn FnMut(&str) -> Result<u32, HeadError>,
    ) -> Result<Vec<u32>, HeadError> {
        let mut run = Vec::with_capacity(events.len());
        for event in events {
            run.push(match event.symbols() {
                [symbol] => number(symbol)?,
                // Which of them came first was not learned.
                _ => {
                    self.wide_events += 1;
                    BREAK
                }
            });
        }
        Ok(run)
    }
}

/// A pattern that holds what is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Holder {
    pub(crate) level: usize,
    pub(crate) name: PatternName,
}

/// A receiver of the n-grams of patterns.
pub(crate) trait Sink {
    /// Receives all n-grams of a run of symbols that a pattern of the lowest level holds.
    fn run(&mut self, holder: Holder, run: &[u32], times: u32) -> Result<(), HeadError>;

    /// Receives the n-grams that begin a window, but not its first `n_known`, which lie within a
    /// child of the holder.
    fn window(
        &mut self,
        holder: Holder,
        window: &[u32],
        n_known: usize,
        times: u32,
    ) -> Result<(), HeadError>;
}

impl Sink for TrieBuilder {
    fn run(&mut self, _holder: Holder, run: &[u32], times: u32) -> Result<(), HeadError> {
        self.run(run, times)
    }

    fn window(
        &mut self,
        _holder: Holder,
        window: &[u32],
        n_known: usize,
        times: u32,
    ) -> Result<(), HeadError> {
        self.window(window, n_known, times)
    }
}

/// Counts the patterns of a store.
pub(crate) fn collect(
    store: &dyn PatternStore,
    symbols: &mut Symbols,
    options: &HeadOptions,
) -> Result<(Trie, Counted, Missing), HeadError> {
    let mut builder = TrieBuilder::new(options.order);
    let mut intern = |symbol: &str| symbols.intern(symbol);
    let (counted, missing) = visit(store, &mut intern, options, &mut builder)?;
    Ok((builder.finish()?, counted, missing))
}

/// Shows the n-grams of all patterns of a store that are not retired to a sink. `number` gives symbols their numbers,
/// [`BREAK`] for those that do not matter.
pub(crate) fn visit(
    store: &dyn PatternStore,
    number: &mut dyn FnMut(&str) -> Result<u32, HeadError>,
    options: &HeadOptions,
    sink: &mut dyn Sink,
) -> Result<(Counted, Missing), HeadError> {
    let n_levels = store.nodes().len();
    let n_levels = options.levels.map_or(n_levels, |most| most.min(n_levels));
    let mut collector = Collector {
        number,
        sink,
        counted: Counted::default(),
        missing: Missing::default(),
        edges: Edges::new(options.order - 1),
        level: 0,
        retired: Tombstones::default(),
        is_top: n_levels <= 1,
        source_ids: Vec::new(),
        run: Vec::new(),
        children: Vec::new(),
        error: None,
    };
    for level in 0..n_levels {
        collector.level = level;
        let retired = store.tombstones(level);
        collector.retired = retired.map_err(|source| HeadError::Store { level, source })?;
        collector.is_top = level + 1 == n_levels;
        let visited = store.visit(level, &mut collector);
        // A visitor can only break off; the reason is kept beside it.
        if let Some(error) = collector.error.take() {
            return Err(error);
        }
        visited.map_err(|source| HeadError::Store { level, source })?;
    }
    Ok((collector.counted, collector.missing))
}

/// A visitor that counts the patterns of one level after the other.
struct Collector<'a> {
    number: &'a mut dyn FnMut(&str) -> Result<u32, HeadError>,
    sink: &'a mut dyn Sink,
    counted: Counted,
    missing: Missing,
    edges: Edges,
    level: usize,
    /// Patterns of the level that count as if nobody had learned them.
    retired: Tombstones,
    is_top: bool,
    /// By number of the source: a symbol at the lowest level, a place in `edges` above; `None`
    /// before the first use.
    source_ids: Vec<Option<u32>>,
    /// Symbols of the pattern at hand; reused.
    run: Vec<u32>,
    /// Its children above the lowest level; reused.
    children: Vec<Child>,
    error: Option<HeadError>,
}

/// The names that patterns refer to and no level below them held, with the highest level of those
/// patterns.
// Names come from users, so hashers are keyed at random.
pub(crate) type Missing = HashMap<PatternName, usize, RandomState>;

/// Notes that a pattern of a level refers to a name that no level below it holds.
pub(crate) fn note_missing(missing: &mut Missing, level: usize, name: PatternName) {
    let highest = missing.entry(name).or_default();
    *highest = level.max(*highest);
}

/// A child of a pattern: a place in [`Edges`], or none.
pub(crate) type Child = Option<u32>;

impl Collector<'_> {
    fn add(
        &mut self,
        source: &SourceSymbols<'_>,
        pattern: &VisitedPattern<'_>,
    ) -> Result<(), HeadError> {
        if self.retired.get(&pattern.name).is_some() {
            return Ok(());
        }
        let times = u32::try_from(pattern.frequency).unwrap_or(u32::MAX);
        let holder = Holder {
            level: self.level,
            name: pattern.name,
        };
        self.counted.patterns += 1;
        self.run.clear();
        if self.level == 0 {
            self.counted.learns = self.counted.learns.saturating_add(pattern.frequency);
            let n_symbols = pattern.symbols.len() as u64;
            let learned = pattern.frequency.saturating_mul(n_symbols);
            self.counted.symbols = self.counted.symbols.saturating_add(learned);
            self.read_tokens(source, pattern)?;
            for run in self.run.split(|&symbol| symbol == BREAK) {
                self.sink.run(holder, run, times)?;
            }
        } else {
            self.read_children(source, pattern);
            let sink = &mut *self.sink;
            let show = |window: &[u32], n_known: usize| sink.window(holder, window, n_known, times);
            self.edges.crossing_windows(&self.children, show)?;
            if !self.is_top {
                self.edges.join(&self.children, &mut self.run);
            }
        }
        if !self.is_top {
            self.edges.insert(self.level, pattern.name, &self.run);
        }
        Ok(())
    }

    /// Reads the symbols of a pattern of the lowest level.
    fn read_tokens(
        &mut self,
        source: &SourceSymbols<'_>,
        pattern: &VisitedPattern<'_>,
    ) -> Result<(), HeadError> {
        for event in pattern.events() {
            let symbol = match *event {
                [number] => self.token(source, number)?,
                // Which of them came first was not learned.
                _ => {
                    self.counted.wide_events += 1;
                    BREAK
                }
            };
            self.run.push(symbol);
        }
        Ok(())
    }

    /// Returns the number of a source's symbol in the head.
    fn token(&mut self, source: &SourceSymbols<'_>, number: u32) -> Result<u32, HeadError> {
        if let Some(id) = self.source_ids.get(number as usize).copied().flatten() {
            return Ok(id);
        }
        let id = match source.get(number) {
            Some(SymbolRef::Text(text)) => (self.number)(text)?,
            Some(name @ SymbolRef::Name(_)) => (self.number)(&name.to_string())?,
            // A store that breaks its contract: the pattern has a symbol that the source lacks.
            None => BREAK,
        };
        if let Some(held) = self.source_ids.get_mut(number as usize) {
            *held = Some(id);
        }
        Ok(id)
    }

    /// Reads the children of a pattern above the lowest level.
    fn read_children(&mut self, source: &SourceSymbols<'_>, pattern: &VisitedPattern<'_>) {
        self.children.clear();
        for event in pattern.events() {
            let child = match *event {
                [number] => {
                    let child = self.child(source, number);
                    self.counted.unknown_names += u64::from(child.is_none());
                    child
                }
                _ => {
                    self.counted.wide_events += 1;
                    None
                }
            };
            self.children.push(child);
        }
    }

    /// Returns the place of a child in the edges.
    fn child(&mut self, source: &SourceSymbols<'_>, number: u32) -> Child {
        let held = self.source_ids.get(number as usize).copied().flatten();
        if let Some(place) = held {
            return Some(place).filter(|&place| place != BREAK);
        }
        let place = match source.get(number) {
            Some(SymbolRef::Name(name)) => {
                let place = self.edges.place(self.level, &name);
                if place.is_none() {
                    note_missing(&mut self.missing, self.level, name);
                }
                place
            }
            // Text above the lowest level is no pattern.
            Some(SymbolRef::Text(_)) | None => None,
        };
        if let Some(held) = self.source_ids.get_mut(number as usize) {
            *held = Some(place.unwrap_or(BREAK));
        }
        place
    }
}

impl PatternVisitor for Collector<'_> {
    fn source(&mut self, symbols: &SourceSymbols<'_>, _n_patterns: u64) -> ControlFlow<()> {
        self.source_ids.clear();
        self.source_ids.resize(symbols.len(), None);
        ControlFlow::Continue(())
    }

    fn pattern(
        &mut self,
        symbols: &SourceSymbols<'_>,
        pattern: &VisitedPattern<'_>,
    ) -> ControlFlow<()> {
        match self.add(symbols, pattern) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.error = Some(error);
                ControlFlow::Break(())
            }
        }
    }
}

/// The first and the last symbols of patterns, as many as can belong to an n-gram that reaches
/// into a neighbour.
#[derive(Debug)]
pub(crate) struct Edges {
    /// One less than the order.
    reach: usize,
    /// The place of each, and its level.
    places: HashMap<PatternName, (u32, usize), RandomState>,
    /// Where the symbols of each end; they begin where those before end.
    ends: Vec<usize>,
    /// Of each pattern all symbols, or the first and the last `reach`.
    symbols: Vec<u32>,
}

impl Edges {
    pub(crate) fn new(reach: usize) -> Self {
        Self {
            reach,
            places: HashMap::default(),
            ends: Vec::new(),
            symbols: Vec::new(),
        }
    }

    /// Returns the place of a pattern that lies below a level; `None` if it is unknown there.
    pub(crate) fn place(&self, level: usize, name: &PatternName) -> Option<u32> {
        // Not those of the level itself: whether they were read before would decide.
        let found = self.places.get(name).filter(|(_, of)| *of < level);
        found.map(|&(place, _)| place)
    }

    /// Returns about how many bytes all of it takes.
    pub(crate) fn heap_bytes(&self) -> usize {
        let place = size_of::<(PatternName, (u32, usize))>() + 1;
        self.places.capacity() * place
            + self.ends.capacity() * size_of::<usize>()
            + self.symbols.capacity() * size_of::<u32>()
    }

    /// Adds a pattern of a level, given its symbols or what [`join`](Self::join) left of them. Of
    /// several of one name the first stays, which has to be that of the lowest level.
    pub(crate) fn insert(&mut self, level: usize, name: PatternName, symbols: &[u32]) {
        // Places have 32 bits; a pattern that gets none is unknown to the levels above.
        let Ok(place) = u32::try_from(self.ends.len()) else {
            return;
        };
        if place == BREAK || self.places.contains_key(&name) {
            return;
        }
        self.places.insert(name, (place, level));
        let reach = self.reach;
        match symbols.len() <= 2 * reach {
            true => self.symbols.extend_from_slice(symbols),
            false => {
                self.symbols.extend_from_slice(&symbols[..reach]);
                self.symbols
                    .extend_from_slice(&symbols[symbols.len() - reach..]);
            }
        }
        self.ends.push(self.symbols.len());
    }

    /// Forgets all patterns.
    pub(crate) fn clear(&mut self) {
        self.places.clear();
        self.ends.clear();
        self.symbols.clear();
    }

    /// Adds a pattern without a name, given what is left of its symbols, and returns its place.
    pub(crate) fn push(&mut self, symbols: &[u32]) -> u32 {
        self.symbols.extend_from_slice(symbols);
        self.ends.push(self.symbols.len());
        // For the children of one pattern, which are fewer than 2³².
        (self.ends.len() - 1) as u32
    }

    fn symbols(&self, place: u32) -> &[u32] {
        let place = place as usize;
        let start = match place {
            0 => 0,
            _ => self.ends[place - 1],
        };
        &self.symbols[start..self.ends[place]]
    }

    /// Writes the symbols of a pattern of these children: all of them, or its first and last.
    pub(crate) fn join(&self, children: &[Child], symbols: &mut Vec<u32>) {
        let of = |child: &Child| child.map_or(&[BREAK][..], |place| self.symbols(place));
        // Where a child is cut in its middle, the whole is longer than twice the reach as well, so
        // that what is missing lies between what is kept.
        symbols.clear();
        for child in children {
            symbols.extend_from_slice(of(child));
        }
    }

    /// Calls a function with every window that begins in one child and ends in a later one, and
    /// with the number of its symbols that lie in the first.
    pub(crate) fn crossing_windows<E>(
        &self,
        children: &[Child],
        mut each: impl FnMut(&[u32], usize) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut window = Vec::with_capacity(2 * self.reach);
        for (idx, child) in children.iter().enumerate() {
            let Some(place) = *child else { continue };
            let left = last_run(tail(self.symbols(place), self.reach));
            window.clear();
            window.extend_from_slice(left);
            for next in &children[idx + 1..] {
                let symbols = next.map_or(&[][..], |next| self.symbols(next));
                let head = &symbols[..symbols.len().min(self.reach)];
                let run = first_run(head);
                window.extend_from_slice(run);
                // A child of fewer symbols than an n-gram reaches is all in it.
                let goes_on = next.is_some()
                    && run.len() == symbols.len()
                    && window.len() - left.len() < self.reach;
                if !goes_on {
                    break;
                }
            }
            for start in 0..left.len() {
                let end = (start + self.reach + 1).min(window.len());
                let n_known = left.len() - start;
                if end - start > n_known {
                    each(&window[start..end], n_known)?;
                }
            }
        }
        Ok(())
    }
}

/// Returns the last `n` symbols, or all.
fn tail(symbols: &[u32], n: usize) -> &[u32] {
    &symbols[symbols.len() - symbols.len().min(n)..]
}

/// Returns the symbols after the last break.
fn last_run(symbols: &[u32]) -> &[u32] {
    let run = symbols.rsplit(|&symbol| symbol == BREAK).next();
    run.unwrap_or_default()
}

/// Returns the symbols before the first break.
fn first_run(symbols: &[u32]) -> &[u32] {
    let run = symbols.split(|&symbol| symbol == BREAK).next();
    run.unwrap_or_default()
}

/// Returns the windows of a run at which n-grams begin.
pub(crate) fn windows_of(run: &[u32], order: usize) -> impl Iterator<Item = &[u32]> {
    let range = move |start: usize| -> Range<usize> { start..(start + order).min(run.len()) };
    (0..run.len()).map(move |start| &run[range(start)])
}
