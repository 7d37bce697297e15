//! The runs of tokens of a document while it is read: what is too short to stand alone is joined with
//! what follows, or with what it follows.

use std::ops::Range;

use crate::ChunkRule;
use crate::plan::DocumentPlan;

/// The last run that was found, and the tokens around it.
#[derive(Debug, Default)]
pub(super) struct OpenRuns {
    /// End of the tokens that are in chunks, which lie together at the beginning.
    pub(super) kept: usize,
    /// The last run. What lies behind it is too short to stand alone, so far.
    last: Range<usize>,
    /// End of the tokens that were seen.
    seen: usize,
}

impl OpenRuns {
    /// Creates runs of which none is open behind so many tokens, all of them in chunks.
    pub(super) fn behind(n_tokens: usize) -> Self {
        Self {
            kept: n_tokens,
            last: n_tokens..n_tokens,
            seen: n_tokens,
        }
    }

    /// Adds the tokens of a passage, which end at `end`; returns a run that nothing is joined with
    /// any more.
    pub(super) fn add(&mut self, end: usize, rule: ChunkRule) -> Option<Range<usize>> {
        self.seen = end;
        if rule.joins(self.last.len()) {
            self.last.end = end;
            return None;
        }
        // With what was too short in front of it: a heading belongs to what follows.
        let next = self.last.end..end;
        if rule.joins(next.len()) {
            return None;
        }
        Some(std::mem::replace(&mut self.last, next))
    }

    /// Returns the last run. Nothing follows it, so what is too short behind it belongs to it.
    pub(super) fn finish(&mut self) -> Range<usize> {
        self.last.end = self.seen;
        self.last.clone()
    }

    /// Takes the tokens that are not in chunks yet out of a plan, and counts from them on.
    pub(super) fn take_open(&mut self, plan: &mut DocumentPlan) -> Vec<u32> {
        let start = self.last.start;
        let rest = plan.tokens[start..].to_vec();
        plan.tokens.truncate(self.kept);
        self.kept = 0;
        self.last = 0..self.last.end - start;
        self.seen -= start;
        rest
    }
}
