//! Cuts runs of tokens into chunks by the original's rule, a bounded variant of it, or plainly, and
//! the names of a level into chunks of the level above.

use std::iter::FusedIterator;
use std::num::NonZeroUsize;
use std::ops::Range;

use serde::{Deserialize, Serialize};

/// Chunks shorter than this are glued to their predecessor, or dropped when they have none, in the
/// original.
pub const ORIGINAL_MIN_CHUNK: usize = 3;

/// The rule for the short end of a run of tokens when the run is cut into chunks.
///
/// The rule decides pattern names: two training runs agree only when they use the same rule, so it
/// belongs into every run's configuration. The default is [`Joined`](Self::Joined) with the
/// original's minimum, 3 tokens: it cuts as the original does where no run is too short, and loses
/// nothing but a document of one token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "rule", rename_all = "snake_case")]
pub enum ChunkRule {
    /// The original's rule, its oddities included.
    ///
    /// A run of at most `chunk_size` tokens is one chunk, or is dropped when it is shorter than
    /// `min_chunk`. A longer run is cut consecutively; a remainder shorter than `min_chunk` is
    /// glued to the chunk before it. Lengths therefore lie in
    /// `min_chunk ..= chunk_size + min_chunk - 1`, except that a `chunk_size` below `min_chunk`
    /// gives chunks longer than asked for (4 tokens at size 2 are one chunk of 4) and also shorter
    /// ones (5 tokens at size 2 are 2 and 3).
    Original {
        /// Fewest tokens that a remainder needs to be a chunk of its own.
        min_chunk: usize,
    },
    /// As [`Original`](Self::Original), and a run shorter than `min_chunk` is not dropped: it is put
    /// in front of the next run of its document, or behind the one before where it is the last. A
    /// document that is shorter as a whole is one chunk, of which one token is no pattern.
    Joined {
        /// Fewest tokens that a remainder needs to be a chunk of its own, and a run to stand alone.
        min_chunk: usize,
    },
    /// As [`Original`](Self::Original), with the minimum never above `chunk_size`: no oddities for
    /// small chunks.
    Bounded {
        /// Fewest tokens that a remainder needs to be a chunk of its own, unless `chunk_size` is
        /// smaller.
        min_chunk: usize,
    },
    /// Consecutive chunks of `chunk_size` tokens; the last may be short, down to one token, which is no
    /// pattern.
    Plain,
}

impl Default for ChunkRule {
    fn default() -> Self {
        Self::Joined {
            min_chunk: ORIGINAL_MIN_CHUNK,
        }
    }
}

impl ChunkRule {
    /// Returns the original's rule: what is too short for a chunk is dropped.
    #[must_use]
    pub fn original() -> Self {
        Self::Original {
            min_chunk: ORIGINAL_MIN_CHUNK,
        }
    }

    /// Returns whether a run of so many tokens is too short to stand alone and is joined with the
    /// next one.
    #[must_use]
    pub fn joins(self, n_tokens: usize) -> bool {
        matches!(self, Self::Joined { min_chunk } if n_tokens < min_chunk.max(2))
    }

    /// Returns the fewest tokens of a remainder that stands alone under this rule.
    fn min_chunk(self, chunk_size: NonZeroUsize) -> usize {
        match self {
            Self::Original { min_chunk } | Self::Joined { min_chunk } => min_chunk,
            Self::Bounded { min_chunk } => min_chunk.min(chunk_size.get()),
            Self::Plain => 1,
        }
    }
}

/// Cuts `n_tokens` tokens into chunks and returns their ranges, in order.
///
/// **Shape**: the ranges are consecutive, start at 0 and never empty; together with
/// [`Chunks::n_dropped`] they account for every token. **Complexity**: O(1) per chunk, no
/// allocation.
///
/// ```
/// use std::num::NonZeroUsize;
/// use kato_learner::ChunkRule;
/// use kato_learner::chunk::chunk_lengths;
///
/// let eight = NonZeroUsize::new(8).expect("8 is not zero");
/// let lengths = |n, rule| chunk_lengths(n, eight, rule).map(|chunk| chunk.len()).collect::<Vec<_>>();
/// assert_eq!(lengths(18, ChunkRule::default()), [8, 10]);
/// assert_eq!(lengths(18, ChunkRule::Plain), [8, 8, 2]);
/// assert_eq!(chunk_lengths(2, eight, ChunkRule::original()).n_dropped(), 2);
/// assert_eq!(lengths(2, ChunkRule::default()), [2]);
/// ```
#[must_use]
pub fn chunk_lengths(n_tokens: usize, chunk_size: NonZeroUsize, rule: ChunkRule) -> Chunks {
    let min_chunk = rule.min_chunk(chunk_size);
    // Only a run that is one chunk at most can be too short: any other remainder is glued to a
    // chunk before it.
    let is_dropped = !matches!(rule, ChunkRule::Joined { .. });
    let lost = is_dropped && n_tokens <= chunk_size.get() && n_tokens < min_chunk;
    Chunks {
        start: 0,
        end: if lost { 0 } else { n_tokens },
        chunk_size: chunk_size.get(),
        min_chunk,
        n_dropped: if lost { n_tokens } else { 0 },
    }
}

/// Cuts the `n_names` names that a level has learned from a document into the chunks of the level
/// above, and returns their ranges, in order.
///
/// One name is no pattern: when the last chunk would hold a single name, that name is in no chunk,
/// and a [`TailPolicy`](crate::TailPolicy) says what becomes of it.
///
/// **Shape**: the ranges are consecutive, start at 0 and hold `chunk_size` names, the last at least
/// two; [`Chunks::n_dropped`] is 1 when a single name is left, else 0. A chunk size of 1, the
/// original's oddity, gives chunks of one name and leaves none. **Complexity**: O(1) per chunk, no
/// allocation.
///
/// ```
/// use std::num::NonZeroUsize;
/// use kato_learner::chunk::name_chunks;
///
/// let three = NonZeroUsize::new(3).expect("3 is not zero");
/// let lengths = |n| name_chunks(n, three).map(|chunk| chunk.len()).collect::<Vec<_>>();
/// assert_eq!(lengths(8), [3, 3, 2]);
/// assert_eq!(lengths(7), [3, 3]);
/// assert_eq!(name_chunks(7, three).n_dropped(), 1);
/// ```
#[must_use]
pub fn name_chunks(n_names: usize, chunk_size: NonZeroUsize) -> Chunks {
    // Never so at chunk size 1, which leaves no remainder.
    let n_single = usize::from(n_names % chunk_size == 1);
    Chunks {
        start: 0,
        end: n_names - n_single,
        chunk_size: chunk_size.get(),
        min_chunk: 1,
        n_dropped: n_single,
    }
}

/// An iterator over the ranges of the chunks of one run of tokens, or of the names of one document;
/// created by [`chunk_lengths`] and [`name_chunks`].
#[derive(Debug, Clone)]
pub struct Chunks {
    start: usize,
    end: usize,
    chunk_size: usize,
    min_chunk: usize,
    n_dropped: usize,
}

impl Chunks {
    /// Returns the number of tokens or names that are in no chunk; known before the first chunk is
    /// taken.
    #[must_use]
    pub fn n_dropped(&self) -> usize {
        self.n_dropped
    }
}

impl Iterator for Chunks {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Self::Item> {
        let left = self.end - self.start;
        if left == 0 {
            return None;
        }
        let mut len = left.min(self.chunk_size);
        // A short remainder goes with this chunk, which may exceed the chunk size. At the end of
        // the run the remainder is empty and the assignment changes nothing.
        if left - len < self.min_chunk {
            len = left;
        }
        let chunk = self.start..self.start + len;
        self.start = chunk.end;
        Some(chunk)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        // Glueing removes the chunks that the plain cut would make of the remainder, never adds
        // one.
        let left = self.end - self.start;
        (usize::from(left > 0), Some(left.div_ceil(self.chunk_size)))
    }
}

impl FusedIterator for Chunks {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn size(n: usize) -> NonZeroUsize {
        NonZeroUsize::new(n).unwrap()
    }

    #[track_caller]
    fn check(
        rule: ChunkRule,
        n_tokens: usize,
        chunk_size: usize,
        lengths: &[usize],
        n_dropped: usize,
    ) {
        let chunks = chunk_lengths(n_tokens, size(chunk_size), rule);
        assert_eq!(chunks.n_dropped(), n_dropped);
        assert_eq!(chunks.map(|chunk| chunk.len()).collect::<Vec<_>>(), lengths);
    }

    #[test]
    fn original_rule_gives_the_lengths_observed_on_the_original() {
        let original = ChunkRule::original();
        check(original, 2, 8, &[], 2);
        check(original, 3, 8, &[3], 0);
        check(original, 8, 8, &[8], 0);
        check(original, 9, 8, &[9], 0);
        check(original, 10, 8, &[10], 0);
        check(original, 11, 8, &[8, 3], 0);
        check(original, 16, 8, &[8, 8], 0);
        check(original, 17, 8, &[8, 9], 0);
        check(original, 18, 8, &[8, 10], 0);
        check(original, 19, 8, &[8, 8, 3], 0);
        check(original, 7, 3, &[3, 4], 0);
        check(original, 8, 3, &[3, 5], 0);
        check(original, 9, 3, &[3, 3, 3], 0);
        check(original, 5, 2, &[2, 3], 0);
        check(original, 4, 2, &[4], 0);
        check(original, 3, 2, &[3], 0);
        check(original, 2, 2, &[], 2);
    }

    #[test]
    fn original_rule_at_size_one_drops_one_token_and_overfills_the_last_chunk() {
        let original = ChunkRule::original();
        check(original, 0, 1, &[], 0);
        check(original, 1, 1, &[], 1);
        check(original, 2, 1, &[2], 0);
        check(original, 5, 1, &[1, 1, 3], 0);
    }

    #[test]
    fn joined_rule_differs_only_in_runs_that_are_too_short() {
        let joined = ChunkRule::default();
        for n_tokens in 3..40 {
            let lengths = |rule| -> Vec<_> {
                let chunks = chunk_lengths(n_tokens, size(8), rule);
                chunks.map(|chunk| chunk.len()).collect()
            };
            assert_eq!(lengths(joined), lengths(ChunkRule::original()));
            assert!(!joined.joins(n_tokens));
        }
        check(joined, 2, 8, &[2], 0);
        check(joined, 1, 8, &[1], 0);
        check(joined, 0, 8, &[], 0);
        assert!(joined.joins(2) && !ChunkRule::original().joins(0));
        assert!(ChunkRule::Joined { min_chunk: 0 }.joins(1));
    }

    #[test]
    fn bounded_rule_differs_only_below_the_minimum() {
        let bounded = ChunkRule::Bounded { min_chunk: 3 };
        check(bounded, 10, 8, &[10], 0);
        check(bounded, 2, 8, &[], 2);
        check(bounded, 1, 2, &[], 1);
        check(bounded, 2, 2, &[2], 0);
        check(bounded, 3, 2, &[3], 0);
        check(bounded, 4, 2, &[2, 2], 0);
        check(bounded, 5, 2, &[2, 3], 0);
        check(bounded, 3, 1, &[1, 1, 1], 0);
    }

    #[test]
    fn plain_rule_keeps_every_tail() {
        check(ChunkRule::Plain, 0, 8, &[], 0);
        check(ChunkRule::Plain, 1, 8, &[1], 0);
        check(ChunkRule::Plain, 17, 8, &[8, 8, 1], 0);
        check(ChunkRule::Plain, usize::MAX, usize::MAX, &[usize::MAX], 0);
    }

    #[test]
    fn names_are_cut_like_tokens_but_for_one_that_is_alone() {
        let check = |n_names, chunk_size, lengths: &[usize], n_single| {
            let chunks = name_chunks(n_names, size(chunk_size));
            assert_eq!(chunks.n_dropped(), n_single);
            assert_eq!(chunks.map(|chunk| chunk.len()).collect::<Vec<_>>(), lengths);
        };
        check(0, 3, &[], 0);
        check(1, 3, &[], 1);
        check(2, 3, &[2], 0);
        check(3, 3, &[3], 0);
        check(4, 3, &[3], 1);
        check(5, 3, &[3, 2], 0);
        check(4, 2, &[2, 2], 0);
        check(5, 2, &[2, 2], 1);
        check(0, 1, &[], 0);
        check(2, 1, &[1, 1], 0);
    }

    /// The rule as the specification tells it, in the order of its sentences.
    fn oracle(n: usize, chunk_size: usize, min_chunk: usize) -> Vec<usize> {
        if n <= chunk_size {
            return if n < min_chunk || n == 0 {
                vec![]
            } else {
                vec![n]
            };
        }
        let mut lengths = Vec::new();
        let mut at = 0;
        while at < n {
            let len = chunk_size.min(n - at);
            let rest = n - at - len;
            if rest > 0 && rest < min_chunk {
                lengths.push(len + rest);
                break;
            }
            lengths.push(len);
            at += len;
        }
        lengths
    }

    fn rules() -> impl Strategy<Value = ChunkRule> {
        prop_oneof![
            (0..6usize).prop_map(|min_chunk| ChunkRule::Original { min_chunk }),
            (0..6usize).prop_map(|min_chunk| ChunkRule::Joined { min_chunk }),
            (0..6usize).prop_map(|min_chunk| ChunkRule::Bounded { min_chunk }),
            Just(ChunkRule::Plain),
        ]
    }

    proptest! {
        #[test]
        fn chunks_partition_what_is_not_dropped(n in 0..500usize, chunk_size in 1..40usize, rule in rules()) {
            let chunks = chunk_lengths(n, size(chunk_size), rule);
            let (hint_low, hint_high) = chunks.size_hint();
            let n_dropped = chunks.n_dropped();
            let mut at = 0;
            let mut n_chunks = 0;
            for chunk in chunks {
                prop_assert_eq!(chunk.start, at);
                prop_assert!(!chunk.is_empty());
                at = chunk.end;
                n_chunks += 1;
            }
            prop_assert_eq!(at + n_dropped, n);
            prop_assert!(hint_low <= n_chunks && n_chunks <= hint_high.unwrap());
        }

        #[test]
        fn original_rule_equals_its_specification(n in 0..500usize, chunk_size in 1..40usize, min_chunk in 0..6usize) {
            let rule = ChunkRule::Original { min_chunk };
            let lengths: Vec<_> = chunk_lengths(n, size(chunk_size), rule).map(|chunk| chunk.len()).collect();
            prop_assert_eq!(lengths, oracle(n, chunk_size, min_chunk));
        }

        #[test]
        fn bounded_lengths_stay_in_their_bounds(n in 0..500usize, chunk_size in 1..40usize) {
            let min_chunk = chunk_size.min(3);
            for chunk in chunk_lengths(n, size(chunk_size), ChunkRule::Bounded { min_chunk: 3 }) {
                prop_assert!((min_chunk..chunk_size + min_chunk).contains(&chunk.len()));
            }
        }
    }
}
