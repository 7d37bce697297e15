//! Counting n-grams of one order.

use super::{Added, Level, NgramCounts};

impl Level {
    /// Adds an n-gram that is not there, without a count, and returns its id.
    pub(in crate::trie) fn add(&mut self, context: u32, symbol: u32) -> u32 {
        let id = self.len() as u32;
        let place = self.added.len() as u32;
        let previous = self.latest.insert(context, place).unwrap_or(Self::NONE);
        self.added_ids.insert((context, symbol), id);
        self.added.push(Added {
            ngram: NgramCounts {
                symbol,
                count: 0,
                continuation: 0,
            },
            previous,
        });
        id
    }

    /// Adds occurrences, and returns how many there were before.
    pub(in crate::trie) fn add_count(&mut self, id: u32, times: u32) -> u32 {
        let place = id as usize;
        if let Some(added) = place.checked_sub(self.n_written()) {
            let count = &mut self.added[added].ngram.count;
            return std::mem::replace(count, count.saturating_add(times));
        }
        let (before, continuation) = self.written_counts_of(id);
        let after = before.saturating_add(times);
        match self.counts.owned().filter(|_| self.later.is_empty()) {
            Some(counts) => counts[place] = after,
            None => drop(self.changed.insert(id, (after, continuation))),
        }
        before
    }

    /// Adds a symbol to the left, and returns how many there were before.
    pub(in crate::trie) fn add_continuation(&mut self, id: u32) -> u32 {
        let place = id as usize;
        if let Some(added) = place.checked_sub(self.n_written()) {
            let continuation = &mut self.added[added].ngram.continuation;
            return std::mem::replace(continuation, continuation.saturating_add(1));
        }
        let (count, before) = self.written_counts_of(id);
        let after = before.saturating_add(1);
        match self.continuations.owned().filter(|_| self.later.is_empty()) {
            Some(continuations) => continuations[place] = after,
            None => drop(self.changed.insert(id, (count, after))),
        }
        before
    }
}
