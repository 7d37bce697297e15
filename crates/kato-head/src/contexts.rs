//! The contexts at the end of a history, and the n-grams that the next symbol makes of them.

use std::ops::Range;

use crate::options::MAX_ORDER;
use crate::trie::{BothSums, NgramCounts, ROOT, Trie};

/// The contexts that the last symbols of a history are, by length.
#[derive(Debug, Clone)]
pub(crate) struct Contexts {
    /// Their ids; `None` where the n-grams hold no such context.
    pub(crate) ids: [Option<u32>; MAX_ORDER],
    /// What follows those that there are; nothing of the empty one, which is the same everywhere.
    pub(crate) sums: [BothSums; MAX_ORDER],
    /// Symbols of the longest that the history allows.
    pub(crate) longest: usize,
}

/// The n-grams that a symbol makes of the contexts before it, by length of the context.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Found {
    ids: [Option<u32>; MAX_ORDER],
    pub(crate) ngrams: [Option<NgramCounts>; MAX_ORDER],
}

impl Default for Contexts {
    fn default() -> Self {
        let mut ids = [None; MAX_ORDER];
        ids[0] = Some(ROOT);
        Self {
            ids,
            sums: [BothSums::default(); MAX_ORDER],
            longest: 0,
        }
    }
}

impl Contexts {
    /// Finds the contexts at the end of some symbols.
    pub(crate) fn of(trie: &Trie, symbols: &[u32]) -> Self {
        let mut contexts = Self {
            longest: symbols.len().min(trie.order() - 1),
            ..Self::default()
        };
        for length in 1..=contexts.longest {
            let id = trie.context(&symbols[symbols.len() - length..]);
            contexts.ids[length] = id;
            if let Some(id) = id {
                contexts.sums[length] = trie.sums(length, id);
            }
        }
        contexts
    }

    /// Looks a symbol up after all contexts.
    pub(crate) fn find(&self, trie: &Trie, symbol: u32) -> Found {
        let mut found = Found::default();
        for (length, context) in self.ids.iter().enumerate().take(self.longest + 1) {
            let id = context.and_then(|context| trie.follower(length, context, symbol));
            found.ids[length] = id;
            found.ngrams[length] = id.map(|id| trie.ngram(length + 1, id, symbol));
        }
        found
    }
}

impl Default for Found {
    fn default() -> Self {
        Self {
            ids: [None; MAX_ORDER],
            ngrams: [None; MAX_ORDER],
        }
    }
}

/// A symbol of a text that lies ahead, and what the n-grams hold of it.
#[derive(Debug, Default)]
pub(crate) struct Step {
    symbol: u32,
    pub(crate) contexts: Contexts,
    pub(crate) found: Found,
}

/// The next symbols of a text, looked up together: length by length for all of them, so that what lies anywhere is
/// fetched for many at once, where one after the other each would wait for its own.
#[derive(Debug, Default)]
pub(crate) struct Ahead {
    /// Those of before are used again.
    steps: Vec<Step>,
    n_steps: usize,
    /// The n-grams that the symbol before the next ones made, and symbols of the longest context behind it.
    last: [Option<u32>; MAX_ORDER],
    longest: usize,
    /// By symbol, where the followers of its context of the length at hand lie.
    ranges: Vec<Range<usize>>,
    /// By symbol, what is looked at first among these: it is kept so that it is read.
    middles: Vec<u32>,
}

impl Ahead {
    /// Looks up the symbols that follow those of before, in a history that keeps at most so many.
    pub(crate) fn look_up(
        &mut self,
        trie: &Trie,
        symbols: impl ExactSizeIterator<Item = u32>,
        kept: usize,
    ) {
        self.n_steps = symbols.len();
        if self.steps.len() < self.n_steps {
            self.steps.resize_with(self.n_steps, Step::default);
        }
        let steps = &mut self.steps[..self.n_steps];
        for (step, symbol) in steps.iter_mut().zip(symbols) {
            step.symbol = symbol;
            step.contexts.longest = self.longest;
            self.longest = (self.longest + 1).min(trie.order() - 1).min(kept);
        }
        for length in 0..trie.order() {
            if let Some(shorter) = length.checked_sub(1) {
                let mut context = self.last[shorter];
                for step in &mut *steps {
                    let is_allowed = length <= step.contexts.longest;
                    step.contexts.ids[length] = context.filter(|_| is_allowed);
                    context = step.found.ids[shorter];
                }
            }
            let contexts = steps.iter().map(|step| step.contexts.ids[length]);
            self.ranges.clear();
            self.ranges.extend(contexts.map(|context| {
                context.map_or(0..0, |context| trie.sealed_followers(length, context))
            }));
            let middles = self.ranges.iter().map(|range| trie.middle(length, range));
            self.middles.clear();
            self.middles.extend(middles);
            for (step, range) in steps.iter_mut().zip(&self.ranges) {
                let context = step.contexts.ids[length];
                step.found.ids[length] = context.and_then(|context| {
                    trie.follower_among(length, range.clone(), context, step.symbol)
                });
            }
            for (step, range) in steps.iter_mut().zip(&self.ranges) {
                let id = step.found.ids[length];
                step.found.ngrams[length] = id.map(|id| trie.ngram(length + 1, id, step.symbol));
                if let Some(context) = step.contexts.ids[length].filter(|_| length > 0) {
                    step.contexts.sums[length] = trie.sums_among(length, range.clone(), context);
                }
            }
        }
        if let Some(step) = steps.last() {
            self.last = step.found.ids;
        }
    }

    /// Returns what was found of the symbols that were looked up last.
    pub(crate) fn steps(&self) -> &[Step] {
        &self.steps[..self.n_steps]
    }
}
