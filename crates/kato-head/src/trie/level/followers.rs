//! What follows a context: in the sorted columns, in what was written later, and in what was added since.

use std::ops::Range;

use super::super::later::Changes;
use super::super::numbers::{Part, first_not_below};
use super::super::sums::{self, BothSums};
use super::{Level, NgramCounts};

impl Level {
    /// Returns the place of a symbol in a sorted range, looking near its beginning first.
    pub(crate) fn find_from(&self, range: Range<usize>, symbol: u32) -> Option<usize> {
        let (start, end) = (range.start, range.end);
        let symbols = self.symbols.read();
        let place = start + first_not_below(range.len(), |at| symbols.get(start + at) < symbol);
        (place < end && symbols.get(place) == symbol).then_some(place)
    }

    /// Returns counts and continuations of a range; the latter are 0 where there are none.
    fn parts(&self, sealed: Range<usize>) -> (Part<'_>, Part<'_>) {
        let continuations = match sealed.end <= self.continuations.len() {
            true => self.continuations.part(sealed.clone()),
            false => Part::Owned(&[]),
        };
        (self.counts.part(sealed), continuations)
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
    pub(in crate::trie) fn sums(&self, sealed: Range<usize>, context: u32) -> BothSums {
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
    pub(in crate::trie) fn each(
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
    pub(in crate::trie) fn each_among(
        &self,
        sealed: Range<usize>,
        context: u32,
        symbols: &[u32],
        mut each: impl FnMut(usize, NgramCounts),
    ) {
        let (mut place, mut from) = (0, 0);
        let start = sealed.start;
        let held = self.symbols.part(sealed.clone());
        // None where they are damaged.
        let len = held.len();
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
                from = held.first_from(from, symbol);
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
}
