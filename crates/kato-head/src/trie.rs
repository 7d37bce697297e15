//! Exact counts of n-grams, as a tree in sorted columns that goes on counting.

mod build;
mod join;
mod later;
mod learning;
mod level;
pub(crate) mod numbers;
mod sorting;
mod spectrum;
pub(crate) mod sums;
mod windows;

use std::ops::Range;

pub(crate) use self::build::TrieBuilder;
pub(crate) use self::later::{Later, LaterColumns, Since};
pub(crate) use self::level::Level;
pub(crate) use self::level::NgramCounts;
pub(crate) use self::numbers::first_not_below;
pub(crate) use self::spectrum::Spectrum;
pub(crate) use self::sums::{BothSums, Sums};
use self::sums::{FEW, SumTable};
pub(crate) use self::windows::{Key, Packing, WINDOW_BYTES, Windows};

/// The n-grams of up to [`order`](Self::order) symbols that were counted.
///
/// # Invariants
///
/// * The n-grams of `n` symbols are those of `levels[n - 1]`; each is known there by an id, and its
///   first `n - 1` symbols are an n-gram of the level before.
/// * Every n-gram with a count has its last `n - 1` symbols in the level before, and
///   `continuation` is the number of n-grams with a count that end in it and are one symbol longer.
/// * Counts of 0 are paths to longer n-grams, and count as absent.
#[derive(Debug)]
pub(crate) struct Trie {
    levels: Vec<Level>,
    counts: Vec<Spectrum>,
    continuations: Vec<Spectrum>,
    /// By length of the context, what follows those that have many sorted followers.
    sums: Vec<SumTable>,
    /// N-grams that were added since the columns were sorted.
    n_added: usize,
}

/// The context of no symbols.
pub(crate) const ROOT: u32 = 0;

impl Trie {
    /// Creates an empty tree of n-grams of up to `order` symbols, at least 1.
    pub(crate) fn new(order: usize) -> Self {
        let order = order.max(1);
        Self::from_levels((0..order).map(|_| Level::default()).collect())
    }

    /// Creates the tree of sorted levels whose continuations are not counted yet.
    fn from_levels(levels: Vec<Level>) -> Self {
        let n_levels = levels.len();
        Self {
            levels,
            counts: vec![Spectrum::default(); n_levels],
            continuations: vec![Spectrum::default(); n_levels],
            sums: (0..n_levels).map(|_| SumTable::default()).collect(),
            n_added: 0,
        }
    }

    /// Joins levels in sorted columns with what is known of them; `sums` are by length of the context.
    pub(crate) fn from_parts(
        levels: Vec<Level>,
        counts: Vec<Spectrum>,
        continuations: Vec<Spectrum>,
        sums: Vec<SumTable>,
    ) -> Self {
        Self {
            levels,
            counts,
            continuations,
            sums,
            n_added: 0,
        }
    }

    /// Returns the n-grams of each length.
    pub(crate) fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// Returns the number of symbols of the longest n-grams.
    pub(crate) fn order(&self) -> usize {
        self.levels.len()
    }

    /// Returns the number of n-grams of all orders, paths included.
    pub(crate) fn len(&self) -> usize {
        self.levels.iter().map(Level::len).sum()
    }

    /// Returns the bytes that the columns take.
    pub(crate) fn heap_bytes(&self) -> usize {
        let columns: usize = self.levels.iter().map(Level::heap_bytes).sum();
        columns + self.sums.iter().map(SumTable::heap_bytes).sum::<usize>()
    }

    /// Returns how many n-grams of `order` symbols have each small count.
    pub(crate) fn counts(&self, order: usize) -> Spectrum {
        self.counts[order - 1]
    }

    /// Returns how many n-grams of `order` symbols have each small number of symbols to their left.
    pub(crate) fn continuations(&self, order: usize) -> Spectrum {
        self.continuations[order - 1]
    }

    /// Returns the id of an n-gram of fewer than [`order`](Self::order) symbols, as a context;
    /// `None` if it is none.
    pub(crate) fn context(&self, symbols: &[u32]) -> Option<u32> {
        let mut context = ROOT;
        for (length, &symbol) in symbols.iter().enumerate() {
            context = self.follower(length, context, symbol)?;
        }
        Some(context)
    }

    /// Returns the id of a context of `length` symbols and one more; `None` if that is no n-gram.
    pub(crate) fn follower(&self, length: usize, context: u32, symbol: u32) -> Option<u32> {
        let sealed = self.sealed_followers(length, context);
        self.follower_among(length, sealed, context, symbol)
    }

    /// Returns the same, given where the followers of the context lie in the sorted columns.
    #[inline]
    pub(crate) fn follower_among(
        &self,
        length: usize,
        sealed: Range<usize>,
        context: u32,
        symbol: u32,
    ) -> Option<u32> {
        self.levels[length].find(sealed, context, symbol)
    }

    /// Returns the symbol in the middle of followers in the sorted columns, at which a search begins; any of none.
    #[inline]
    pub(crate) fn middle(&self, length: usize, sealed: &Range<usize>) -> u32 {
        match sealed.is_empty() {
            true => 0,
            false => self.levels[length].symbol(sealed.start.midpoint(sealed.end)),
        }
    }

    /// Returns what was counted of an n-gram of `order` symbols, by its id and its last symbol.
    pub(crate) fn ngram(&self, order: usize, id: u32, symbol: u32) -> NgramCounts {
        self.levels[order - 1].ngram(id, symbol)
    }

    /// Calls a function with what was counted of every symbol after a context of `length` symbols.
    pub(crate) fn followers(&self, length: usize, context: u32, mut each: impl FnMut(NgramCounts)) {
        let Some(level) = self.levels.get(length) else {
            return;
        };
        let sealed = self.sealed_followers(length, context);
        level.each(sealed, context, |_, ngram| {
            if ngram.count > 0 {
                each(ngram);
            }
        });
    }

    /// Calls a function with what was counted after a context of those of some symbols that follow it,
    /// and with their place. The symbols ascend.
    pub(crate) fn followers_among(
        &self,
        length: usize,
        context: u32,
        symbols: &[u32],
        mut each: impl FnMut(usize, NgramCounts),
    ) {
        let Some(level) = self.levels.get(length) else {
            return;
        };
        let sealed = self.sealed_followers(length, context);
        level.each_among(sealed, context, symbols, |place, ngram| {
            if ngram.count > 0 {
                each(place, ngram);
            }
        });
    }

    /// Returns the sums over everything that follows a context of `length` symbols.
    pub(crate) fn sums(&self, length: usize, context: u32) -> BothSums {
        self.sums_among(length, self.sealed_followers(length, context), context)
    }

    /// Returns the same, given where the followers of the context lie in the sorted columns.
    pub(crate) fn sums_among(&self, length: usize, sealed: Range<usize>, context: u32) -> BothSums {
        let Some(level) = self.levels.get(length) else {
            return BothSums::default();
        };
        if sealed.len() > FEW
            && let Some(sums) = self.sums[length].get(context)
        {
            return sums;
        }
        level.sums(sealed, context)
    }

    /// Sums up what follows the contexts that have many followers. For trees in sorted columns.
    fn sum_up(&mut self) {
        for length in 0..self.levels.len() {
            let n_followers: &mut dyn Iterator<Item = u32> = match length.checked_sub(1) {
                // There are fewer n-grams than ids.
                None => &mut std::iter::once(self.levels[0].n_sealed() as u32),
                Some(contexts) => &mut self.levels[contexts].sealed_n_children(),
            };
            let contexts = (ROOT..).zip(n_followers);
            let summed = contexts.filter(|(_, n_followers)| *n_followers as usize > FEW);
            let table = summed.map(|(context, _)| (context, self.sums_of(length, context)));
            self.sums[length] = SumTable::Owned(table.collect());
        }
    }

    /// Sums up what follows a context of `length` symbols. For trees in sorted columns.
    pub(crate) fn sums_of(&self, length: usize, context: u32) -> BothSums {
        self.levels[length].sums(self.sealed_followers(length, context), context)
    }

    /// Returns where the followers of a context lie in the sorted columns.
    #[inline]
    pub(crate) fn sealed_followers(&self, length: usize, context: u32) -> Range<usize> {
        match length.checked_sub(1) {
            None => 0..self.levels[0].n_sealed(),
            Some(parent) => {
                let children = self.levels[parent].sealed_children(context);
                // What a damaged file says leads no further than the columns.
                let end = children.end.min(self.levels[length].n_sealed());
                children.start.min(end)..end
            }
        }
    }
}
