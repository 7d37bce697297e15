//! Counting into a tree, and sorting what was counted.

use super::build::Batch;
use super::join;
use super::level::Level;
use super::numbers::Numbers;
use super::{ROOT, Spectrum, Trie};
use crate::HeadError;

/// N-grams added since the last sort from which sorting again is worthwhile.
const MIN_ADDED: usize = 1 << 16;

impl Trie {
    /// Counts the first `n` symbols of a window as n-grams, for every `n` above `n_known` and up
    /// to the order; those up to `n_known` were counted elsewhere.
    ///
    /// # Errors
    ///
    /// [`HeadError::TooManyNgrams`]; then nothing was counted.
    pub(crate) fn count(
        &mut self,
        window: &[u32],
        n_known: usize,
        times: u32,
    ) -> Result<(), HeadError> {
        let longest = window.len().min(self.order());
        let is_full = |level: &Level| level.len() > Level::MAX_LEN;
        if times == 0 || longest <= n_known {
            return Ok(());
        }
        if self.levels.iter().any(is_full) {
            return Err(HeadError::TooManyNgrams);
        }
        let mut context = ROOT;
        for n in 1..=longest {
            let parent = context;
            context = self.path(n, parent, window[n - 1]);
            if n <= n_known {
                continue;
            }
            let before = self.levels[n - 1].add_count(context, times);
            let ngram = self.levels[n - 1].ngram(context, window[n - 1]);
            self.counts[n - 1].replace(before, ngram.count);
            self.sums[n - 1].change(parent, |sums| {
                sums[1].replace(before, ngram.count);
                if before == 0 {
                    sums[0].replace(0, ngram.continuation);
                }
            });
            if before == 0 && n > 1 {
                self.continue_left(&window[1..n]);
            }
        }
        Ok(())
    }

    /// Counts one more symbol to the left of an n-gram, which is added if it is new.
    fn continue_left(&mut self, suffix: &[u32]) {
        let (mut parent, mut id) = (ROOT, ROOT);
        for (length, &symbol) in suffix.iter().enumerate() {
            parent = id;
            id = self.path(length + 1, parent, symbol);
        }
        let level = suffix.len() - 1;
        let before = self.levels[level].add_continuation(id);
        let ngram = self.levels[level].ngram(id, suffix[level]);
        self.continuations[level].replace(before, ngram.continuation);
        if ngram.count > 0 {
            self.sums[level].change(parent, |sums| {
                sums[0].replace(before, ngram.continuation);
            });
        }
    }

    /// Returns the id of an n-gram of `n` symbols, which is added if it is new.
    fn path(&mut self, n: usize, context: u32, symbol: u32) -> u32 {
        let sealed = self.sealed_followers(n - 1, context);
        let level = &mut self.levels[n - 1];
        if let Some(id) = level.find(sealed, context, symbol) {
            return id;
        }
        self.n_added += 1;
        level.add(context, symbol)
    }

    /// Sorts what was added into the columns, once there is so much of it that this pays.
    pub(crate) fn settle(&mut self) {
        // What lies in files stays there: all of it would come into memory.
        let is_owned = self.levels.iter_mut().all(Level::is_owned);
        if is_owned && self.n_added > MIN_ADDED.max(self.len() / 4) {
            *self = self.sorted();
        }
    }

    /// Returns the tree with everything in sorted columns.
    pub(crate) fn sorted(&self) -> Self {
        let mut sorted = join::joined(&[self]);
        sorted.count_continuations();
        sorted
    }

    /// Returns the same n-grams, without continuations, with other numbers of the symbols.
    pub(crate) fn renumbered(&self, numbers: &[u32]) -> Self {
        let mut batch = Batch::new(self.order());
        let mut symbols = Vec::new();
        self.each_path(ROOT, &mut symbols, &mut |ngram, count| {
            let ngram: Vec<u32> = ngram
                .iter()
                .map(|&symbol| numbers[symbol as usize])
                .collect();
            // Those without a count come with the longer ones that they lead to.
            batch.window(&ngram, ngram.len() - 1, count);
        });
        batch.sorted()
    }

    /// Calls a function with every n-gram that has a count, and with that.
    fn each_path(&self, context: u32, symbols: &mut Vec<u32>, each: &mut impl FnMut(&[u32], u32)) {
        let length = symbols.len();
        if length == self.order() {
            return;
        }
        let sealed = self.sealed_followers(length, context);
        let mut found = Vec::new();
        self.levels[length].each(sealed, context, |id, ngram| found.push((id, ngram)));
        for (id, ngram) in found {
            symbols.push(ngram.symbol);
            if ngram.count > 0 {
                each(symbols, ngram.count);
            }
            self.each_path(id, symbols, each);
            symbols.pop();
        }
    }

    /// Counts the symbols to the left of all n-grams, and how many have how many.
    ///
    /// For trees in sorted columns.
    pub(super) fn count_continuations(&mut self) {
        // By id of the level before, the id of the n-gram without its first symbol.
        let mut suffixes: Vec<u32> = Vec::new();
        for level in 0..self.levels.len() {
            let (shorter, longer) = self.levels.split_at_mut(level);
            let ngrams = &longer[0];
            let mut own = Vec::new();
            if let Some(contexts) = shorter.last() {
                own = vec![Level::NONE; ngrams.n_sealed()];
                let mut continuations = vec![0u32; contexts.n_sealed()];
                for context in 0..contexts.n_sealed() {
                    // Ids have 32 bits.
                    let children = contexts.sealed_children(context as u32);
                    // The n-grams of two symbols end in one, whose context is the empty one.
                    let within = match shorter.len().checked_sub(2) {
                        None => 0..contexts.n_sealed(),
                        Some(before) => match suffixes.get(context) {
                            None | Some(&Level::NONE) => 0..0,
                            Some(&suffix) => shorter[before].sealed_children(suffix),
                        },
                    };
                    let mut from = within.start;
                    for child in children {
                        let found = contexts.find_from(from..within.end, ngrams.symbol(child));
                        let Some(suffix) = found else { continue };
                        from = suffix;
                        own[child] = suffix as u32;
                        continuations[suffix] += u32::from(ngrams.sealed_count(child) > 0);
                    }
                }
                self.levels[level - 1].set_continuations(Numbers::Owned(continuations));
            }
            suffixes = own;
        }
        for (idx, level) in self.levels.iter().enumerate() {
            self.counts[idx] = Spectrum::of(level.sealed_counts());
            self.continuations[idx] = Spectrum::of(level.sealed_continuations());
        }
        self.sum_up();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::trie::TrieBuilder;
    use crate::trie::sums::{self, BothSums};

    /// Every n-gram with its counts.
    fn content(trie: &Trie) -> BTreeMap<Vec<u32>, (u32, u32)> {
        let mut content = BTreeMap::new();
        let mut contexts = vec![(Vec::new(), ROOT)];
        while let Some((symbols, id)) = contexts.pop() {
            let length = symbols.len();
            let mut found = Vec::new();
            trie.followers(length, id, |ngram| found.push(ngram));
            let mut sums = BothSums::default();
            for ngram in &found {
                sums::add(&mut sums, ngram.count, ngram.continuation);
            }
            assert_eq!(trie.sums(length, id), sums);
            for ngram in found {
                let longer: Vec<u32> = symbols.iter().copied().chain([ngram.symbol]).collect();
                let id = trie.follower(length, id, ngram.symbol).unwrap();
                assert_eq!(trie.ngram(length + 1, id, ngram.symbol), ngram);
                content.insert(longer.clone(), (ngram.count, ngram.continuation));
                if longer.len() < trie.order() {
                    contexts.push((longer, id));
                }
            }
        }
        content
    }

    fn check_equal(one: &Trie, other: &Trie) -> Result<(), TestCaseError> {
        prop_assert_eq!(content(one), content(other));
        for order in 1..=one.order() {
            prop_assert_eq!(one.counts(order), other.counts(order));
            prop_assert_eq!(one.continuations(order), other.continuations(order));
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn one_by_one_or_all_at_once_and_sorted_or_not(
            runs in prop::collection::vec((prop::collection::vec(prop_oneof![0..4u32, 0..40u32], 0..30), 1..4u32), 0..8),
            order in 1..6usize,
            n_built in 0..8usize,
        ) {
            let windows = |run: &[u32], trie: &mut Trie, times| {
                for start in 0..run.len() {
                    trie.count(&run[start..run.len().min(start + order)], 0, times).unwrap();
                }
            };
            let mut builder = TrieBuilder::new(order);
            let mut first = TrieBuilder::new(order);
            let mut one_by_one = Trie::new(order);
            for (idx, (run, times)) in runs.iter().enumerate() {
                builder.run(run, *times).unwrap();
                windows(run, &mut one_by_one, *times);
                if idx < n_built {
                    first.run(run, *times).unwrap();
                }
            }
            let built = builder.finish().unwrap();
            check_equal(&built, &one_by_one)?;
            check_equal(&built, &one_by_one.sorted())?;
            // What is counted later joins what was sorted before.
            let mut joined = first.finish().unwrap();
            for (run, times) in runs.iter().skip(n_built) {
                windows(run, &mut joined, *times);
            }
            check_equal(&built, &joined)?;
            check_equal(&built, &joined.sorted())?;
        }
    }
}
