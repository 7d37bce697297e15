//! Joins trees into one of sorted columns.

use super::level::Level;
use super::{NgramCounts, ROOT, Trie};

/// A context as the trees know it: its id in each, or [`Level::NONE`].
type Ids = Vec<u32>;

/// Returns the tree of what all trees counted together, in sorted columns and without
/// continuations. All have the same order.
pub(super) fn joined(trees: &[&Trie]) -> Trie {
    let order = trees.iter().map(|tree| tree.order()).max().unwrap_or(1);
    let n = trees.len();
    // Of every context of the order at hand, in the order of the columns: its id in each tree.
    let mut contexts: Ids = vec![ROOT; n];
    let mut levels: Vec<Level> = Vec::with_capacity(order);
    let mut followers: Vec<(u32, usize, u32, u32)> = Vec::new();
    for length in 0..order {
        let (mut symbols, mut counts, mut next) = (Vec::new(), Vec::<u32>::new(), Ids::new());
        let mut starts = Vec::with_capacity(contexts.len() / n.max(1) + 1);
        let is_longest = length + 1 == order;
        for ids in contexts.chunks(n.max(1)) {
            starts.push(symbols.len() as u32);
            followers.clear();
            for (tree_idx, (tree, &id)) in trees.iter().zip(ids).enumerate() {
                tree.every_follower(length, id, |id, ngram| {
                    followers.push((ngram.symbol, tree_idx, id, ngram.count));
                });
            }
            // Followers of one tree come sorted unless some were added, so this is mostly a check.
            followers.sort_unstable();
            for &(symbol, tree_idx, id, count) in &followers {
                let is_new = symbols.len() == starts[starts.len() - 1] as usize
                    || symbols.last() != Some(&symbol);
                if is_new {
                    symbols.push(symbol);
                    counts.push(0);
                    if !is_longest {
                        next.extend(std::iter::repeat_n(Level::NONE, n));
                    }
                }
                if let Some(sum) = counts.last_mut() {
                    *sum = sum.saturating_add(count);
                }
                if !is_longest {
                    let of_last = next.len() - n;
                    next[of_last + tree_idx] = id;
                }
            }
        }
        starts.push(symbols.len() as u32);
        // The empty context has no column that could say where its followers are.
        if let Some(before) = levels.last_mut() {
            before.set_starts(starts);
        }
        symbols.shrink_to_fit();
        counts.shrink_to_fit();
        levels.push(Level::from_columns(symbols, counts));
        contexts = next;
    }
    Trie::from_levels(levels)
}

impl Trie {
    /// Calls a function with every follower of a context, also with those without a count.
    fn every_follower(&self, length: usize, context: u32, each: impl FnMut(u32, NgramCounts)) {
        if context == Level::NONE {
            return;
        }
        let sealed = self.sealed_followers(length, context);
        self.levels[length].each(sealed, context, each);
    }
}
