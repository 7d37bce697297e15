//! The n-grams of one order: sorted columns, and what was added since they were sorted.

use std::collections::HashMap;
use std::ops::Range;

use foldhash::fast::FixedState;

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
/// and symbol; later ids are places in `added`.
#[derive(Debug, Default)]
pub(crate) struct Level {
    symbols: Vec<u32>,
    counts: Vec<u32>,
    /// Empty in the highest order.
    continuations: Vec<u32>,
    /// Where the followers of each begin in the columns of the next order, and the end of all;
    /// empty in the highest order.
    starts: Vec<u32>,
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
    pub(super) const MAX_LEN: usize = (u32::MAX - 64) as usize;

    /// Creates sorted columns, without continuations and without followers.
    pub(super) fn from_columns(symbols: Vec<u32>, counts: Vec<u32>) -> Self {
        Self {
            symbols,
            counts,
            ..Self::default()
        }
    }

    pub(super) fn len(&self) -> usize {
        self.symbols.len() + self.added.len()
    }

    pub(super) fn n_sealed(&self) -> usize {
        self.symbols.len()
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let columns = [
            &self.symbols,
            &self.counts,
            &self.continuations,
            &self.starts,
        ];
        let words: usize = columns.iter().map(|column| column.capacity()).sum();
        // The tables keep one control byte beside each entry.
        words * 4
            + self.added.capacity() * size_of::<Added>()
            + self.added_ids.capacity() * (size_of::<(u32, u32, u32)>() + 1)
            + self.latest.capacity() * (size_of::<(u32, u32)>() + 1)
    }

    pub(super) fn symbol(&self, sealed: usize) -> u32 {
        self.symbols[sealed]
    }

    pub(super) fn sealed_count(&self, sealed: usize) -> u32 {
        self.counts[sealed]
    }

    pub(super) fn sealed_counts(&self) -> impl Iterator<Item = u32> {
        self.counts.iter().copied()
    }

    pub(super) fn sealed_continuations(&self) -> impl Iterator<Item = u32> {
        self.continuations.iter().copied()
    }

    pub(super) fn set_continuations(&mut self, continuations: Vec<u32>) {
        self.continuations = continuations;
    }

    /// Sets where the followers of each n-gram begin in the columns of the next order, and where
    /// the last end.
    pub(super) fn set_starts(&mut self, starts: Vec<u32>) {
        self.starts = starts;
    }

    /// Returns where the followers of an n-gram lie in the columns of the next order.
    pub(super) fn sealed_children(&self, id: u32) -> Range<usize> {
        let place = id as usize;
        match (self.starts.get(place), self.starts.get(place + 1)) {
            (Some(&start), Some(&end)) => start as usize..end as usize,
            // What was added since has no sorted followers.
            _ => 0..0,
        }
    }

    /// Returns the place of a symbol in a sorted range, looking near its beginning first.
    pub(super) fn find_from(&self, range: Range<usize>, symbol: u32) -> Option<usize> {
        let end = range.end;
        let place = self.first_from(range, symbol);
        (place < end && self.symbols[place] == symbol).then_some(place)
    }

    /// Returns the place of the first symbol of a sorted range that is not below another one, looking
    /// near its beginning first; the end of the range if there is none.
    fn first_from(&self, range: Range<usize>, symbol: u32) -> usize {
        let start = range.start;
        start + first_not_below(range.len(), |at| self.symbols[start + at] < symbol)
    }

    /// Returns the id of a follower of a context, whose sorted followers lie in `sealed`.
    pub(super) fn find(&self, sealed: Range<usize>, context: u32, symbol: u32) -> Option<u32> {
        let first = sealed.start;
        // Symbols are numbered from 0 on, so most of the shortest n-grams lie at their number.
        if first == 0
            && self.symbols.get(symbol as usize) == Some(&symbol)
            && sealed.contains(&(symbol as usize))
        {
            return Some(symbol);
        }
        let place = self.symbols.get(sealed)?.binary_search(&symbol);
        match place {
            // The columns are shorter than 2³².
            Ok(place) => Some((first + place) as u32),
            Err(_) if self.added.is_empty() => None,
            Err(_) => self.added_ids.get(&(context, symbol)).copied(),
        }
    }

    pub(super) fn ngram(&self, id: u32) -> NgramCounts {
        let place = id as usize;
        match place.checked_sub(self.symbols.len()) {
            Some(added) => self.added[added].ngram,
            None => NgramCounts {
                symbol: self.symbols[place],
                count: self.counts[place],
                continuation: self.continuations.get(place).copied().unwrap_or(0),
            },
        }
    }

    /// Calls a function with the id and the counts of every follower of a context: the sorted
    /// ones, then the others from the latest to the earliest.
    pub(super) fn each(
        &self,
        sealed: Range<usize>,
        context: u32,
        mut each: impl FnMut(u32, NgramCounts),
    ) {
        for place in sealed {
            let id = place as u32;
            each(id, self.ngram(id));
        }
        if self.added.is_empty() {
            return;
        }
        let mut next = self.latest.get(&context).copied();
        while let Some(place) = next {
            let added = &self.added[place as usize];
            each(self.symbols.len() as u32 + place, added.ngram);
            next = Some(added.previous).filter(|&previous| previous != Self::NONE);
        }
    }

    /// Calls a function with the place and the counts of those of some symbols that follow a context.
    /// The symbols ascend.
    pub(super) fn each_among(
        &self,
        sealed: Range<usize>,
        context: u32,
        symbols: &[u32],
        mut each: impl FnMut(usize, NgramCounts),
    ) {
        let (mut place, mut from) = (0, sealed.start);
        // From whichever of the two is behind, past all that the other lacks.
        while place < symbols.len() && from < sealed.end {
            let symbol = symbols[place];
            from = self.first_from(from..sealed.end, symbol);
            if from == sealed.end {
                break;
            }
            let found = self.symbols[from];
            if found == symbol {
                each(place, self.ngram(from as u32));
                (place, from) = (place + 1, from + 1);
            } else {
                place += first_not_below(symbols.len() - place, |at| symbols[place + at] < found);
            }
        }
        if self.added.is_empty() {
            return;
        }
        let mut next = self.latest.get(&context).copied();
        while let Some(at) = next {
            let added = &self.added[at as usize];
            if let Ok(place) = symbols.binary_search(&added.ngram.symbol) {
                each(place, added.ngram);
            }
            next = Some(added.previous).filter(|&previous| previous != Self::NONE);
        }
    }

    /// Adds an n-gram that is not there, without a count, and returns its id.
    pub(super) fn add(&mut self, context: u32, symbol: u32) -> u32 {
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
    pub(super) fn add_count(&mut self, id: u32, times: u32) -> u32 {
        let place = id as usize;
        let count = match place.checked_sub(self.symbols.len()) {
            Some(added) => &mut self.added[added].ngram.count,
            None => &mut self.counts[place],
        };
        let before = *count;
        *count = before.saturating_add(times);
        before
    }

    /// Adds a symbol to the left, and returns how many there were before.
    pub(super) fn add_continuation(&mut self, id: u32) -> u32 {
        let place = id as usize;
        let continuation = match place.checked_sub(self.symbols.len()) {
            Some(added) => &mut self.added[added].ngram.continuation,
            None => &mut self.continuations[place],
        };
        let before = *continuation;
        *continuation = before.saturating_add(1);
        before
    }
}

/// Returns how many of `len` things are below something, which are the first ones; takes longer the
/// more they are.
fn first_not_below(len: usize, is_below: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high, mut step) = (0, 0, 1);
    while high < len && is_below(high) {
        low = high + 1;
        high += step;
        step *= 2;
    }
    let mut high = high.min(len);
    // All before `low` are below it, and what `high` is at is not.
    while low < high {
        let middle = low.midpoint(high);
        match is_below(middle) {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    low
}
