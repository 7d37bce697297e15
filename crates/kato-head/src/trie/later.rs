//! What was counted of a level after its columns were written, in columns of its own.

use std::ops::Range;

use super::level::{Level, NgramCounts};
use super::numbers::{Numbers, Reader, first_not_below};
use super::{BothSums, Trie};

/// A unit of a level: the n-grams that are new in it, and the counts that are others since.
///
/// Ids of the new ones follow those of the columns and of the units before.
#[derive(Debug)]
pub(crate) struct Later {
    pub(super) first: u32,
    columns: LaterColumns,
    /// Whether symbols to the left count: not those of the longest n-grams.
    has_continuations: bool,
}

/// The columns of a unit of a level.
#[derive(Debug)]
pub(crate) struct LaterColumns {
    /// Ids of n-grams that were counted before and have other counts now, ascending.
    pub(crate) changed: Numbers,
    /// Of each the count and the number of symbols to the left.
    pub(crate) changed_counts: Numbers,
    /// Contexts that got followers, ascending.
    pub(crate) contexts: Numbers,
    /// Where the followers of each begin, and where the last ones end.
    pub(crate) starts: Numbers,
    /// The new n-grams, by context and symbol: the symbol.
    pub(crate) symbols: Numbers,
    /// Of each the count and the number of symbols to the left.
    pub(crate) counts: Numbers,
}

impl Later {
    /// Joins columns; `first` is the id of the first new n-gram.
    pub(crate) const fn new(first: u32, columns: LaterColumns, has_continuations: bool) -> Self {
        Self {
            first,
            columns,
            has_continuations,
        }
    }

    /// Returns how many n-grams are new.
    pub(crate) fn len(&self) -> usize {
        self.columns.symbols.len()
    }

    /// Returns whether the columns have the lengths that belong together.
    pub(crate) fn is_whole(&self) -> bool {
        let columns = &self.columns;
        columns.changed_counts.len() == 2 * columns.changed.len()
            && columns.starts.len() == columns.contexts.len() + 1
            && columns.counts.len() == 2 * columns.symbols.len()
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let LaterColumns {
            changed,
            changed_counts,
            contexts,
            starts,
            symbols,
            counts,
        } = &self.columns;
        let columns = [changed, changed_counts, contexts, starts, symbols, counts];
        columns.iter().map(|column| column.heap_bytes()).sum()
    }

    /// Returns count and symbols to the left of an n-gram of before, where they are others now.
    pub(super) fn changed(&self, id: u32) -> Option<(u32, u32)> {
        let changed = self.columns.changed.read();
        let place = changed.lower_bound(0..self.columns.changed.len(), id);
        let is_there = place < self.columns.changed.len() && changed.get(place) == id;
        is_there.then(|| self.pair(self.columns.changed_counts.read(), place))
    }

    /// Returns the n-gram of an id; `None` for one that is not new here.
    pub(super) fn ngram(&self, id: u32) -> Option<NgramCounts> {
        let place = id.checked_sub(self.first)? as usize;
        (place < self.len()).then(|| self.at(place))
    }

    fn at(&self, place: usize) -> NgramCounts {
        let (count, continuation) = self.pair(self.columns.counts.read(), place);
        NgramCounts {
            symbol: self.columns.symbols.get(place),
            count,
            continuation,
        }
    }

    /// Returns where the new followers of a context lie.
    fn followers(&self, context: u32) -> Range<usize> {
        let contexts = self.columns.contexts.read();
        let place = contexts.lower_bound(0..self.columns.contexts.len(), context);
        if place >= self.columns.contexts.len() || contexts.get(place) != context {
            return 0..0;
        }
        let starts = self.columns.starts.read();
        // What a damaged file says leads no further than the columns.
        let end = (starts.get(place + 1) as usize).min(self.len());
        (starts.get(place) as usize).min(end)..end
    }

    /// Returns the id of a new follower of a context.
    pub(super) fn find(&self, context: u32, symbol: u32) -> Option<u32> {
        let followers = self.followers(context);
        let symbols = self.columns.symbols.read();
        let place = symbols.lower_bound(followers.clone(), symbol);
        let is_there = place < followers.end && symbols.get(place) == symbol;
        // The columns are shorter than 2³².
        is_there.then(|| self.first + place as u32)
    }

    /// Calls a function with the id and the counts of every new follower of a context, by symbol.
    pub(super) fn each(&self, context: u32, mut each: impl FnMut(u32, NgramCounts)) {
        for place in self.followers(context) {
            each(self.first + place as u32, self.at(place));
        }
    }

    /// Returns a count and the number of symbols to the left.
    fn pair(&self, counts: Reader<'_>, place: usize) -> (u32, u32) {
        let continuation = match self.has_continuations {
            true => counts.get(2 * place + 1),
            false => 0,
        };
        (counts.get(2 * place), continuation)
    }

    /// Changes columns in memory; those without symbols to the left stay so. The context of all n-grams is the
    /// empty one, and new symbols have greater numbers than those before, so the order stays.
    pub(super) fn apply_to(
        &self,
        symbols: &mut Vec<u32>,
        counts: &mut Vec<u32>,
        continuations: &mut Vec<u32>,
    ) {
        let (changed, of_changed) = (&self.columns.changed, self.columns.changed_counts.read());
        for place in 0..changed.len() {
            let (id, (count, continuation)) = (changed.get(place), self.pair(of_changed, place));
            if let Some(held) = counts.get_mut(id as usize) {
                *held = count;
            }
            if let Some(held) = continuations.get_mut(id as usize) {
                *held = continuation;
            }
        }
        let has_continuations = !continuations.is_empty();
        for place in 0..self.len() {
            let ngram = self.at(place);
            symbols.push(ngram.symbol);
            counts.push(ngram.count);
            if has_continuations {
                continuations.push(ngram.continuation);
            }
        }
    }

    /// Returns the changes of a range of ids; `None` where there are none.
    pub(super) fn changes(&self, ids: &Range<usize>) -> Option<Changes<'_>> {
        let changed = self.columns.changed.read();
        let len = self.columns.changed.len();
        // Ids have 32 bits.
        let place = changed.lower_bound(0..len, ids.start as u32);
        let next = (place < len).then(|| changed.get(place))?;
        ((next as usize) < ids.end).then_some(Changes {
            of: self,
            changed,
            place,
            next,
        })
    }
}

/// The changed counts of a range of ids, to be asked for one after the other.
pub(super) struct Changes<'a> {
    of: &'a Later,
    changed: Reader<'a>,
    /// The place of the next one, and its id.
    place: usize,
    next: u32,
}

impl Changes<'_> {
    /// Returns the counts of an id, which is above those that were asked for before.
    #[inline]
    pub(super) fn of(&mut self, id: u32) -> Option<(u32, u32)> {
        if id > self.next {
            self.move_to(id);
        }
        let counts = || {
            self.of
                .pair(self.of.columns.changed_counts.read(), self.place)
        };
        (id == self.next).then(counts)
    }

    /// Moves to the first change that is not of an id below.
    fn move_to(&mut self, id: u32) {
        let (changed, place) = (self.changed, self.place);
        let len = self.of.columns.changed.len();
        // Mostly the next one, or far away.
        self.place += first_not_below(len - place, |at| changed.get(place + at) < id);
        self.next = match self.place < len {
            true => changed.get(self.place),
            // No id.
            false => u32::MAX,
        };
    }
}

/// What was counted of one length since a tree was opened, as a unit of it is written.
#[derive(Debug, Default)]
pub(crate) struct Since {
    /// N-grams of before, by id: their counts now.
    pub(crate) changed: Vec<(u32, (u32, u32))>,
    /// New n-grams by context and symbol: the context and the counts.
    pub(crate) added: Vec<(u32, NgramCounts)>,
    /// The sums of contexts that are one symbol shorter, where they are others now.
    pub(crate) sums: Vec<(u32, BothSums)>,
}

impl Trie {
    /// Returns what was counted on top of columns in files, by length of the n-grams.
    pub(crate) fn since(&self) -> Vec<Since> {
        // By place among those that were added to the length before: the ids that they will have. There is
        // one context of no symbols, and it is always there.
        let (mut ids, mut n_before) = (Vec::new(), usize::MAX);
        let levels = self.levels.iter().zip(&self.sums);
        let since = levels.map(|(level, sums)| {
            let context_of = |id: u32| match (id as usize).checked_sub(n_before) {
                Some(place) => ids.get(place).copied().unwrap_or(Level::NONE),
                None => id,
            };
            let added = level.added();
            let mut added: Vec<_> = added
                .map(|(context, place, ngram)| (context_of(context), ngram.symbol, place, ngram))
                .collect();
            added.sort_unstable_by_key(|&(context, symbol, ..)| (context, symbol));
            let mut changed: Vec<_> = level.changed().collect();
            changed.sort_unstable_by_key(|(id, _)| *id);
            let first = level.n_written();
            let mut new_ids = vec![Level::NONE; added.len()];
            for (id, &(_, _, place, _)) in (first..).zip(&added) {
                // Ids have 32 bits.
                new_ids[place] = id as u32;
            }
            (ids, n_before) = (new_ids, first);
            Since {
                changed,
                added: added
                    .into_iter()
                    .map(|(context, .., ngram)| (context, ngram))
                    .collect(),
                sums: sums.changed(),
            }
        });
        since.collect()
    }
}
