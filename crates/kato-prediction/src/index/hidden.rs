//! Patterns that predictions pass over: those that are retired, and those that were purged.

use kato_model::emotives::remove_emotives;
use kato_model::{EmotiveMap, PatternName};

use super::{PatternIndex, Spot};
use crate::collections::HashSet;
use crate::frozen::Taken;

/// The patterns that predictions pass over.
#[derive(Debug, Clone, Default)]
pub(crate) struct Hidden {
    /// Retired: they are known, and counted, and not predicted.
    retired: HashSet<PatternName>,
    /// Purged: they lie where they lay, and nothing knows or counts them.
    purged: HashSet<PatternName>,
    /// The ranks of both in the index below.
    ranks: HashSet<u32>,
}

impl Hidden {
    /// Returns the patterns that were taken back of the index below, which have these ranks.
    pub(super) fn of(taken: &Taken, ranks: HashSet<u32>) -> Self {
        Self {
            retired: HashSet::default(),
            purged: taken.patterns.iter().map(|(_, name)| *name).collect(),
            ranks,
        }
    }

    /// Returns whether no pattern is hidden, as in nearly all indexes.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.retired.is_empty() && self.purged.is_empty()
    }

    /// Returns whether the pattern of a name is hidden.
    #[inline]
    pub(crate) fn holds(&self, name: &PatternName) -> bool {
        !self.is_empty() && (self.retired.contains(name) || self.purged.contains(name))
    }

    /// Returns whether a pattern of the index below is hidden.
    #[inline]
    pub(crate) fn holds_rank(&self, rank: u32) -> bool {
        !self.ranks.is_empty() && self.ranks.contains(&rank)
    }

    /// Returns whether a pattern was purged and not learned since.
    pub(super) fn is_purged(&self, name: &PatternName) -> bool {
        !self.purged.is_empty() && self.purged.contains(name)
    }

    /// Knows a purged pattern again, which is learned; returns whether it was one.
    pub(super) fn revive(&mut self, name: &PatternName, rank: Option<u32>) -> bool {
        let was_purged = !self.purged.is_empty() && self.purged.remove(name);
        if let Some(rank) = rank.filter(|_| was_purged && !self.retired.contains(name)) {
            self.ranks.remove(&rank);
        }
        was_purged
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let names = self.retired.allocation_size() + self.purged.allocation_size();
        names + self.ranks.allocation_size()
    }

    /// Returns the number of patterns that were purged and not learned since.
    pub(super) fn n_purged(&self) -> usize {
        self.purged.len()
    }
}

impl PatternIndex {
    /// Sets which patterns are retired, in place of those before: no prediction shows them, and everything
    /// else stays as it is, the node's counts among it. Names of no pattern hide it once it is learned.
    ///
    /// ```
    /// use kato_model::Event;
    /// use kato_prediction::{PatternIndex, PredictionConfig};
    ///
    /// let event = |symbol: &str| Event::new([symbol]);
    /// let mut index = PatternIndex::new();
    /// let name = index.learn(&["a", "b"].map(event))?;
    /// index.set_retired([name]);
    /// let answer = index.predict(&[event("a")], &PredictionConfig::default());
    /// assert!(answer.predictions.is_empty());
    /// assert_eq!(index.frequency(&name), 1);
    /// # Ok::<(), kato_prediction::IndexError>(())
    /// ```
    pub fn set_retired(&mut self, names: impl IntoIterator<Item = PatternName>) {
        self.hidden.retired = names.into_iter().collect();
        let Some(base) = &self.base else {
            return;
        };
        // Of what was taken back below, the ranks are known: there may be many.
        let taken = base.frozen.taken().cloned().unwrap_or_default();
        let of_taken: HashSet<PatternName> = taken.patterns.iter().map(|(_, name)| *name).collect();
        let names = self.hidden.retired.iter().chain(&self.hidden.purged);
        let sought = names.filter(|name| !of_taken.contains(*name));
        let found = sought.filter_map(|name| base.frozen.rank(name));
        let hidden = &self.hidden;
        let known = taken.patterns.iter().filter(|(_, name)| hidden.holds(name));
        let ranks = found.chain(known.map(|(rank, _)| *rank)).collect();
        self.hidden.ranks = ranks;
    }

    /// Returns what was purged of the index below, where nothing was learned above it.
    #[cfg(feature = "disk")]
    pub(crate) fn taken(&self) -> Taken {
        let Some(base) = &self.base else {
            return Taken::default();
        };
        let mut ranks: Vec<u32> = base.purged.iter().copied().collect();
        ranks.sort_unstable();
        let named = ranks.into_iter().map(|rank| (rank, base.frozen.name(rank)));
        Taken {
            patterns: named.collect(),
            symbols: self.symbols.taken(),
            n_unused: base.frozen.n_symbols().saturating_sub(self.n_symbols()),
        }
    }

    /// Takes back all that a pattern taught: its counts, those of its symbols, its emotives, and what
    /// it added to the affinities of its distinct symbols. Returns how often it was learned; `None` if
    /// it is unknown.
    ///
    /// Every answer is then that of an index that never learned it, but for the last bits of affinities,
    /// which are differences. What was [finalized](Self::finalize) is no more. The memory that the
    /// pattern takes stays taken.
    pub fn purge(&mut self, name: &PatternName, affinity: &EmotiveMap) -> Option<u64> {
        // As in KATO, whether or not there is something behind the name.
        self.finalized = None;
        let spot = self.spot(name)?;
        let frequency = self.frequency_at(spot);
        let mut symbols = Vec::new();
        self.read_symbols_at(spot, &mut symbols);
        for &symbol in &symbols {
            self.symbols.take(symbol, frequency, false);
        }
        symbols.sort_unstable();
        symbols.dedup();
        for symbol in symbols {
            self.symbols.take(symbol, 0, true);
            if let Some(sums) = self.affinities.get_mut(&symbol) {
                remove_emotives(sums, affinity);
                if sums.is_empty() {
                    self.affinities.remove(&symbol);
                }
            }
        }
        match (spot, &mut self.base) {
            (Spot::Page(place), _) => self.page_set.clear_frequency(place),
            (Spot::Base(rank), Some(base)) => {
                base.purged.insert(rank);
                base.learns.remove(&rank);
                self.hidden.ranks.insert(rank);
            }
            (Spot::Base(_), None) => {}
        }
        self.emotives.remove(name);
        self.hidden.purged.insert(*name);
        Some(frequency)
    }
}
