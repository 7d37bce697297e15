//! The n-grams of one order: sorted columns, and what was added since they were sorted.

use std::collections::HashMap;
use std::ops::Range;

use foldhash::fast::FixedState;

use super::later::{Changes, Later};
use super::numbers::{Numbers, Part, first_not_below};
use super::sums::{self, BothSums};

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
        // The tables keep one control byte beside each entry.
        columns
            + self.later.iter().map(Later::heap_bytes).sum::<usize>()
            + self.added.capacity() * size_of::<Added>()
            + self.changed.capacity() * (size_of::<(u32, (u32, u32))>() + 1)
            + self.added_ids.capacity() * (size_of::<(u32, u32, u32)>() + 1)
            + self.latest.capacity() * (size_of::<(u32, u32)>() + 1)
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
        let starts = self.starts.read();
        starts.get(place) as usize..starts.get(place + 1) as usize
    }

    /// Returns how many followers each n-gram has in the columns of the next order.
    pub(crate) fn sealed_n_children(&self) -> impl Iterator<Item = u32> {
        let starts = self.starts.read();
        let mut start = starts.get(0);
        (1..self.starts.len()).map(move |place| {
            let end = starts.get(place);
            let n_children = end.wrapping_sub(start);
            start = end;
            n_children
        })
    }

    /// Returns the place of a symbol in a sorted range, looking near its beginning first.
    pub(crate) fn find_from(&self, range: Range<usize>, symbol: u32) -> Option<usize> {
        let (start, end) = (range.start, range.end);
        let symbols = self.symbols.read();
        let place = start + first_not_below(range.len(), |at| symbols.get(start + at) < symbol);
        (place < end && symbols.get(place) == symbol).then_some(place)
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

    /// Returns counts and continuations of a range; the latter are 0 where there are none.
    fn parts(&self, sealed: Range<usize>) -> (Part<'_>, Part<'_>) {
        let continuations = match sealed.end <= self.continuations.len() {
            true => self.continuations.part(sealed.clone()),
            false => Part::Owned(&[]),
        };
        (self.counts.part(sealed), continuations)
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

    /// Returns what tells the changed counts of a range of the columns, whose ids are asked for in order;
    /// `None` where nothing is changed.
    fn changes(
        &self,
        sealed: Range<usize>,
    ) -> Option<impl FnMut(u32) -> Option<(u32, u32)> + use<'_>> {
        let units = self.later.iter().rev();
        let mut units: Vec<Changes<'_>> =
            units.filter_map(|later| later.changes(&sealed)).collect();
        let is_changed = !self.changed.is_empty() || !units.is_empty();
        let of = move |id: u32| {
            let learned = self.changed.get(&id).copied();
            learned.or_else(|| units.iter_mut().find_map(|changes| changes.of(id)))
        };
        is_changed.then_some(of)
    }

    /// Adds up the followers of a context, whose sorted followers lie in `sealed`.
    pub(super) fn sums(&self, sealed: Range<usize>, context: u32) -> BothSums {
        let mut sums = BothSums::default();
        let is_all = self.later.is_empty() && self.added.is_empty() && self.changed.is_empty();
        if is_all {
            let len = sealed.len();
            let (counts, continuations) = self.parts(sealed);
            for at in 0..len {
                sums::add(&mut sums, counts.get(at), continuations.get(at));
            }
        } else {
            self.each(sealed, context, |_, ngram| {
                sums::add(&mut sums, ngram.count, ngram.continuation);
            });
        }
        sums
    }

    /// Calls a function with the id and the counts of every follower of a context: the sorted
    /// ones, then the others from the latest to the earliest.
    pub(super) fn each(
        &self,
        sealed: Range<usize>,
        context: u32,
        mut each: impl FnMut(u32, NgramCounts),
    ) {
        let (start, len) = (sealed.start, sealed.len());
        let symbols = self.symbols.part(sealed.clone());
        let mut changed_counts = self.changes(sealed.clone());
        let (counts, continuations) = self.parts(sealed);
        for at in 0..len {
            let id = (start + at) as u32;
            let (count, continuation) = match changed_counts.as_mut().and_then(|of| of(id)) {
                Some(changed) => changed,
                None => (counts.get(at), continuations.get(at)),
            };
            let ngram = NgramCounts {
                symbol: symbols.get(at),
                count,
                continuation,
            };
            each(id, ngram);
        }
        self.each_later(context, &mut each);
        if self.added.is_empty() {
            return;
        }
        let first = self.n_written() as u32;
        let mut next = self.latest.get(&context).copied();
        while let Some(place) = next {
            let added = &self.added[place as usize];
            each(first + place, added.ngram);
            next = Some(added.previous).filter(|&previous| previous != Self::NONE);
        }
    }

    /// Calls a function with the id and the counts of the followers of a context that are new in a unit.
    fn each_later(&self, context: u32, each: &mut impl FnMut(u32, NgramCounts)) {
        for later in &self.later {
            later.each(context, |id, ngram| {
                let (count, continuation) = self
                    .changed_counts(id)
                    .unwrap_or((ngram.count, ngram.continuation));
                let ngram = NgramCounts {
                    count,
                    continuation,
                    ..ngram
                };
                each(id, ngram);
            });
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
        let (mut place, mut from) = (0, 0);
        let (start, len) = (sealed.start, sealed.len());
        let held = self.symbols.part(sealed.clone());
        let mut changed_counts = self.changes(sealed.clone());
        let (counts, continuations) = self.parts(sealed);
        // From whichever of the two is behind, past all that the other lacks.
        while place < symbols.len() && from < len {
            let symbol = symbols[place];
            let at_number = symbol as usize;
            if start == 0 && (from..len).contains(&at_number) && held.get(at_number) == symbol {
                // As most of the shortest n-grams.
                from = at_number;
            } else {
                from += first_not_below(len - from, |at| held.get(from + at) < symbol);
            }
            if from == len {
                break;
            }
            let found = held.get(from);
            if found == symbol {
                let id = (start + from) as u32;
                let changed = changed_counts.as_mut().and_then(|of| of(id));
                let (count, continuation) =
                    changed.unwrap_or_else(|| (counts.get(from), continuations.get(from)));
                let ngram = NgramCounts {
                    symbol,
                    count,
                    continuation,
                };
                each(place, ngram);
                (place, from) = (place + 1, from + 1);
            } else {
                place += first_not_below(symbols.len() - place, |at| symbols[place + at] < found);
            }
        }
        self.each_later(context, &mut |_, ngram| {
            if let Ok(place) = symbols.binary_search(&ngram.symbol) {
                each(place, ngram);
            }
        });
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
    pub(super) fn add_continuation(&mut self, id: u32) -> u32 {
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
