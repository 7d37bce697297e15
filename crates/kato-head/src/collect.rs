//! Counts the n-grams of a hierarchy's patterns, each occurrence at the lowest level that holds it
//! whole.

mod edges;
mod visiting;

use std::ops::{ControlFlow, Range};

use foldhash::quality::RandomState;
use hashbrown::HashMap;
use kato_model::{Event, PatternName};
use kato_store::PatternStore;
use serde::{Deserialize, Serialize};

pub(crate) use self::edges::{Child, Edges};
pub(crate) use self::visiting::{Ends, visit};
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
    /// Names that no level below holds, and what is no name above the lowest level, across which nothing is
    /// counted.
    pub unknown_names: u64,
}

impl Counted {
    /// Counts a pattern of `n_symbols` that was learned `times` times. Learn calls are those of the lowest level.
    pub(crate) fn add_pattern(&mut self, level: usize, n_symbols: usize, times: u64) {
        self.patterns += 1;
        if level == 0 {
            self.learns = self.learns.saturating_add(times);
            let n_learned = times.saturating_mul(n_symbols as u64);
            self.symbols = self.symbols.saturating_add(n_learned);
        }
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

    /// Notes that patterns of another part of a store come, the first of a level or one more, in which those of
    /// before may be again; breaks off where they have to come [once more](Self::end_level).
    fn source(&mut self, _is_first: bool) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// Notes that no more patterns of a level come; goes on where they have to come once more.
    fn end_level(&mut self) -> ControlFlow<()> {
        ControlFlow::Break(())
    }

    /// Returns whether what reaches into a pattern of these symbols, or of these first and last ones, matters.
    /// Where it does not, [`visit`] may show any other symbols in their place.
    fn needs_ends(&self, _symbols: &[u32]) -> bool {
        true
    }
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
    let (counted, missing) = visit(store, &mut intern, options, &mut builder, Ends::All)?;
    Ok((builder.finish()?, counted, missing))
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

/// Returns the windows of a run at which n-grams begin.
pub(crate) fn windows_of(run: &[u32], order: usize) -> impl Iterator<Item = &[u32]> {
    let range = move |start: usize| -> Range<usize> { start..(start + order).min(run.len()) };
    (0..run.len()).map(move |start| &run[range(start)])
}
