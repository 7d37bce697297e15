//! The n-grams of one order: sorted columns, and what was added since they were sorted.

mod counting;
mod followers;

use std::ops::Range;

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use super::later::Later;
use super::numbers::Numbers;

/// What was counted of one n-gram, which is known by its last symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NgramCounts {
    /// The last symbol.
    pub(crate) symbol: u32,
    /// Occurrences.
    pub(crate) count: u32,
    /// Distinct symbols to the left; 0 for the longest n-grams, of which nothing is longer.
    pub(crate) continuation: u32,
}

/// The n-grams of one order.
///
/// An id below [`n_sealed`](Self::n_sealed) is a place in the columns, which are ordered by context
/// and symbol; then come those of the units of what was written later, and those of `added`.
#[derive(Debug, Default)]
pub(crate) struct Level {
    symbols: Numbers,
    counts: Numbers,
    /// Empty in the highest order.
    continuations: Numbers,
    /// Where the followers of each begin in the columns of the next order, and the end of all;
    /// empty in the highest order.
    starts: Numbers,
    /// What was counted after the columns were written, in the order in which that was written.
    later: Vec<Later>,
    /// Counts and continuations that are others than those of columns and units, where these lie in a file.
    changed: HashMap<u32, (u32, u32), FixedState>,
    added: Vec<Added>,
    added_ids: HashMap<(u32, u32), u32, FixedState>,
    /// The follower of each context that was added last, as a place in `added`.
    latest: HashMap<u32, u32, FixedState>,
}

/// An n-gram that was added since the columns were sorted.
#[derive(Debug, Clone, Copy)]
struct Added {
    ngram: NgramCounts,
    /// The one added before it with the same context.
    previous: u32,
}

impl Level {
    /// No id.
    pub(super) const NONE: u32 = u32::MAX;

    /// Most n-grams with which an order goes on counting: ids have 32 bits, and a window adds one
    /// n-gram and the paths of its parts.
    pub(crate) const MAX_LEN: usize = (u32::MAX - 64) as usize;

    /// Creates sorted columns, without continuations and without followers.
    pub(super) fn from_columns(symbols: Vec<u32>, counts: Vec<u32>) -> Self {
        Self::new(
            Numbers::Owned(symbols),
            Numbers::Owned(counts),
            Numbers::default(),
            Numbers::default(),
        )
    }

    /// Joins sorted columns.
    pub(crate) fn new(
        symbols: Numbers,
        counts: Numbers,
        continuations: Numbers,
        starts: Numbers,
    ) -> Self {
        Self {
            symbols,
            counts,
            continuations,
            starts,
            ..Self::default()
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.n_written() + self.added.len()
    }

    /// Returns the number of n-grams of the columns and of the units of what was written later.
    pub(super) fn n_written(&self) -> usize {
        self.symbols.len() + self.later.iter().map(Later::len).sum::<usize>()
    }

    /// Returns the n-grams that were added since, in any order: context, place and counts.
    pub(super) fn added(&self) -> impl Iterator<Item = (u32, usize, NgramCounts)> {
        let first = self.n_written();
        let added = self.added_ids.iter();
        added.map(move |(&(context, _), &id)| {
            let place = id as usize - first;
            (context, place, self.added[place].ngram)
        })
    }

    /// Returns the counts of n-grams of before that are others since, in any order.
    pub(super) fn changed(&self) -> impl Iterator<Item = (u32, (u32, u32))> {
        self.changed.iter().map(|(&id, &counts)| (id, counts))
    }

    /// Adds a unit of what was written later; returns whether it belongs to what is there.
    pub(crate) fn add_later(&mut self, later: Later) -> bool {
        if later.first as usize != self.n_written() || !later.is_whole() {
            return false;
        }
        let columns = (self.symbols.owned(), self.counts.owned());
        match (columns, self.continuations.owned()) {
            // What lies in memory is changed there.
            ((Some(symbols), Some(counts)), Some(continuations)) => {
                later.apply_to(symbols, counts, continuations);
            }
            _ => self.later.push(later),
        }
        true
    }

    pub(crate) fn n_sealed(&self) -> usize {
        self.symbols.len()
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let columns = [
            &self.symbols,
            &self.counts,
            &self.continuations,
            &self.starts,
        ];
        let columns: usize = columns.iter().map(|column| column.heap_bytes()).sum();
        columns
            + self.later.iter().map(Later::heap_bytes).sum::<usize>()
            + self.added.capacity() * size_of::<Added>()
            + self.changed.allocation_size()
            + self.added_ids.allocation_size()
            + self.latest.allocation_size()
    }

    /// Returns the level with symbols and counts in memory.
    pub(crate) fn in_memory(self) -> Self {
        Self {
            symbols: self.symbols.to_owned(),
            counts: self.counts.to_owned(),
            continuations: self.continuations.to_owned(),
            ..self
        }
    }

    /// Returns whether the columns have the lengths that belong together.
    pub(crate) fn is_whole(&self, is_longest: bool) -> bool {
        let n = self.symbols.len();
        let (continuations, starts) = if is_longest { (0, 0) } else { (n, n + 1) };
        self.counts.len() == n
            && self.continuations.len() == continuations
            && self.starts.len() == starts
    }

    /// Returns whether the columns lie in memory.
    pub(super) fn is_owned(&mut self) -> bool {
        self.symbols.owned().is_some()
    }

    pub(crate) fn symbol(&self, sealed: usize) -> u32 {
        self.symbols.get(sealed)
    }

    pub(crate) fn sealed_count(&self, sealed: usize) -> u32 {
        self.counts.get(sealed)
    }

    pub(crate) fn sealed_counts(&self) -> impl Iterator<Item = u32> {
        let counts = self.counts.read();
        (0..self.counts.len()).map(move |place| counts.get(place))
    }

    pub(super) fn sealed_continuations(&self) -> impl Iterator<Item = u32> {
        let continuations = self.continuations.read();
        (0..self.continuations.len()).map(move |place| continuations.get(place))
    }

    pub(crate) fn sealed_continuation(&self, sealed: usize) -> u32 {
        match sealed < self.continuations.len() {
            true => self.continuations.get(sealed),
            false => 0,
        }
    }

    pub(super) fn set_continuations(&mut self, continuations: Numbers) {
        self.continuations = continuations;
    }

    /// Sets where the followers of each n-gram begin in the columns of the next order, and where
    /// the last end.
    pub(super) fn set_starts(&mut self, starts: Vec<u32>) {
        self.starts = Numbers::Owned(starts);
    }

    /// Returns where the followers of an n-gram lie in the columns of the next order.
    pub(crate) fn sealed_children(&self, id: u32) -> Range<usize> {
        let place = id as usize;
        // What was added since has no sorted followers.
        if place + 1 >= self.starts.len() {
            return 0..0;
        }
        let (start, end) = self.starts.read().pair(place);
        start as usize..end as usize
    }

    /// Returns how many followers each n-gram has in the columns of the next order.
    pub(crate) fn sealed_n_children(&self) -> impl Iterator<Item = u32> {
        let starts = self.starts.read();
        (1..self.starts.len()).map(move |end| {
            let (start, end) = starts.pair(end - 1);
            end.wrapping_sub(start)
        })
    }

    /// Returns the id of a follower of a context, whose sorted followers lie in `sealed`.
    pub(super) fn find(&self, sealed: Range<usize>, context: u32, symbol: u32) -> Option<u32> {
        let symbols = self.symbols.read();
        // Symbols are numbered from 0 on, so most of the shortest n-grams lie at their number.
        let at_number = symbol as usize;
        if sealed.start == 0 && sealed.contains(&at_number) && symbols.get(at_number) == symbol {
            return Some(symbol);
        }
        let start = sealed.start;
        if let Some(at) = self.symbols.part(sealed).find(symbol) {
            // The columns are shorter than 2³².
            return Some((start + at) as u32);
        }
        let written = self
            .later
            .iter()
            .find_map(|later| later.find(context, symbol));
        match self.added.is_empty() {
            true => written,
            false => written.or_else(|| self.added_ids.get(&(context, symbol)).copied()),
        }
    }

    /// Returns what was counted of the n-gram of an id, given its last symbol.
    pub(super) fn ngram(&self, id: u32, symbol: u32) -> NgramCounts {
        let place = id as usize;
        if let Some(added) = place.checked_sub(self.n_written()) {
            return self.added[added].ngram;
        }
        let (count, continuation) = self.written_counts_of(id);
        NgramCounts {
            symbol,
            count,
            continuation,
        }
    }

    /// Returns an n-gram as the unit has it in which it is new.
    fn of_later(&self, id: u32) -> Option<NgramCounts> {
        self.later.iter().find_map(|later| later.ngram(id))
    }

    /// Returns count and continuation where they are others than when the n-gram was new.
    fn changed_counts(&self, id: u32) -> Option<(u32, u32)> {
        let learned = match self.changed.is_empty() {
            true => None,
            false => self.changed.get(&id).copied(),
        };
        // The latest unit has the last word.
        learned.or_else(|| self.later.iter().rev().find_map(|later| later.changed(id)))
    }

    /// Returns count and continuation of an n-gram of the columns or of a unit.
    fn written_counts_of(&self, id: u32) -> (u32, u32) {
        if let Some(changed) = self.changed_counts(id) {
            return changed;
        }
        let place = id as usize;
        match place < self.n_sealed() {
            true => (self.counts.get(place), self.sealed_continuation(place)),
            false => self
                .of_later(id)
                .map_or((0, 0), |ngram| (ngram.count, ngram.continuation)),
        }
    }
}
