//! Byte-level BPE of single words, exact: no hash stands in for a word or a token.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::HashMap;

use foldhash::fast::RandomState;
use thiserror::Error;

/// Merges by the ids of the two parts: the rank, lower first, and the id that they become.
pub(crate) type Merges = HashMap<(u32, u32), (u32, u32), RandomState>;

/// Most bytes of a word that is merged by looking through all its pairs each time. That is quicker
/// than a queue for short words, and nearly all words are short.
const SHORT: usize = 32;

/// What stands for the rule of a pair that has none: no rank is as high.
const NO_RULE: (u32, u32) = (u32::MAX, 0);

/// What stands for the part before the first one.
const NO_PART: u32 = u32::MAX;

/// The merge rules of a byte-level model.
pub(crate) struct Bpe {
    /// The id of each single byte.
    pub(crate) bytes: [Option<u32>; 256],
    pub(crate) merges: Merges,
    /// Words that are taken whole although no merges lead to them, in models that ask for it.
    pub(crate) whole: HashMap<Vec<u8>, u32, RandomState>,
}

/// The error of a word with a byte that has no id.
#[derive(Debug, Error)]
#[error("a byte of the text has no token")]
pub(crate) struct NoToken;

impl Bpe {
    /// Appends the ids of one word: the lowest rank is merged first, the leftmost of equals.
    ///
    /// After an error some ids may have been appended. Complexity: O(n log n).
    pub(crate) fn word(&self, word: &[u8], ids: &mut Vec<u32>) -> Result<(), NoToken> {
        if let Some(&id) = self.whole.get(word) {
            ids.push(id);
            return Ok(());
        }
        let before = ids.len();
        for &byte in word {
            ids.push(self.bytes[usize::from(byte)].ok_or(NoToken)?);
        }
        self.merge(ids, before);
        Ok(())
    }

    /// Merges the ids from `before` on, which are those of the parts of one word.
    #[inline]
    pub(crate) fn merge(&self, ids: &mut Vec<u32>, before: usize) {
        let merged = if ids.len() - before <= SHORT {
            self.merge_short(&mut ids[before..])
        } else {
            self.merge_long(&mut ids[before..])
        };
        ids.truncate(before + merged);
    }

    /// Merges the parts of a word of at most [`SHORT`] in place; returns how many are left.
    fn merge_short(&self, parts: &mut [u32]) -> usize {
        let mut n = parts.len();
        // The rule of each part and the one after it.
        let mut rules = [NO_RULE; SHORT];
        for (rule, pair) in rules.iter_mut().zip(parts.windows(2)) {
            *rule = self.rule(pair[0], pair[1]);
        }
        loop {
            // A plain loop: the adapters of iterators made it many times slower.
            let mut at = 0;
            for other in 1..n {
                if rules[other].0 < rules[at].0 {
                    at = other;
                }
            }
            let (rank, merged) = rules[at];
            if rank == NO_RULE.0 {
                return n;
            }
            parts[at] = merged;
            parts.copy_within(at + 2..n, at + 1);
            rules.copy_within(at + 1..n, at);
            n -= 1;
            // The new part has new pairs with both of its neighbours.
            if at + 1 < n {
                rules[at] = self.rule(merged, parts[at + 1]);
            }
            if at > 0 {
                rules[at - 1] = self.rule(parts[at - 1], merged);
            }
        }
    }

    /// Merges the parts of a word of any length in place; returns how many are left.
    fn merge_long(&self, ids: &mut [u32]) -> usize {
        let mut parts: Vec<Part> = (0u32..)
            .zip(&*ids)
            .map(|(at, &id)| Part {
                id,
                rule: NO_RULE,
                before: at.checked_sub(1).unwrap_or(NO_PART),
                after: at + 1,
            })
            .collect();
        // By rank, then by position. Entries are never removed when a merge makes them stale; they
        // are recognised when they are taken.
        let mut queue = BinaryHeap::with_capacity(parts.len());
        for left in 0..parts.len() as u32 {
            self.consider(&mut parts, left, &mut queue);
        }
        while let Some(Reverse((rank, left))) = queue.pop() {
            let Part {
                rule, after: right, ..
            } = parts[left as usize];
            if rule.0 != rank {
                continue; // one of the two was merged with another neighbour meanwhile
            }
            let after = parts[right as usize].after;
            parts[right as usize].rule = NO_RULE;
            parts[left as usize].id = rule.1;
            parts[left as usize].after = after;
            if let Some(next) = parts.get_mut(after as usize) {
                next.before = left;
            }
            // The new part has new pairs with both of its neighbours.
            self.consider(&mut parts, left, &mut queue);
            let before = parts[left as usize].before;
            if before != NO_PART {
                self.consider(&mut parts, before, &mut queue);
            }
        }
        let mut n = 0;
        let mut next = parts.first();
        while let Some(part) = next {
            ids[n] = part.id;
            n += 1;
            next = parts.get(part.after as usize);
        }
        n
    }

    /// Looks for the rule of the part at `left` and the one after it, and queues it if there is
    /// one.
    fn consider(&self, parts: &mut [Part], left: u32, queue: &mut Queue) {
        let Part { id, after, .. } = parts[left as usize];
        let rule = match parts.get(after as usize) {
            Some(right) => self.rule(id, right.id),
            None => NO_RULE,
        };
        parts[left as usize].rule = rule;
        if rule != NO_RULE {
            queue.push(Reverse((rule.0, left)));
        }
    }

    /// Returns the rank of the pair and what it becomes.
    fn rule(&self, left: u32, right: u32) -> (u32, u32) {
        self.merges.get(&(left, right)).copied().unwrap_or(NO_RULE)
    }
}

/// Possible merges: rank and position of the left part.
type Queue = BinaryHeap<Reverse<(u32, u32)>>;

/// A run of bytes with an id, in a list linked by position.
#[derive(Clone, Copy)]
struct Part {
    id: u32,
    /// That of this part and the one after it; none once the part is merged into another.
    rule: (u32, u32),
    before: u32,
    after: u32,
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::{Bpe, Merges, SHORT};

    /// Rules over the bytes `a` to `d`, ids 0 to 3. A rule makes an id that later rules may use.
    fn bpe(rules: &[(u32, u32)]) -> Bpe {
        let mut bytes = [None; 256];
        for (id, byte) in (b'a'..=b'd').enumerate() {
            bytes[usize::from(byte)] = u32::try_from(id).ok();
        }
        let mut merges = Merges::default();
        for (rank, &(left, right)) in (0..).zip(rules) {
            let made = 4 + rank;
            merges
                .entry((left % made, right % made))
                .or_insert((rank, made));
        }
        Bpe {
            bytes,
            merges,
            whole: HashMap::default(),
        }
    }

    #[test]
    fn the_lowest_rank_is_merged_first_and_the_leftmost_of_equals() {
        let check = |rules: &[(u32, u32)], word: &[u8], expected: &[u32]| {
            let mut ids = vec![9];
            bpe(rules).word(word, &mut ids).unwrap();
            assert_eq!(ids[1..], *expected, "{rules:?} {word:?}");
        };
        check(&[], b"", &[]);
        check(&[], b"ab", &[0, 1]);
        check(&[(0, 0)], b"aaaaa", &[4, 4, 0]);
        check(&[(1, 2), (0, 1)], b"abc", &[0, 4]);
        check(&[(0, 1), (1, 2)], b"abc", &[4, 2]);
        check(&[(0, 1), (4, 4), (5, 2)], b"ababcab", &[6, 4]);
    }

    #[test]
    fn a_byte_without_an_id_is_an_error() {
        assert!(bpe(&[]).word(b"ax", &mut Vec::new()).is_err());
    }

    proptest! {
        #[test]
        fn both_ways_to_merge_agree(
            rules in prop::collection::vec((0u32..60, 0u32..60), 0..50),
            word in prop::collection::vec(0u32..4, 0..=SHORT),
        ) {
            let bpe = bpe(&rules);
            let (mut short, mut long) = (word.clone(), word);
            let n = bpe.merge_short(&mut short);
            short.truncate(n);
            let n = bpe.merge_long(&mut long);
            long.truncate(n);
            prop_assert_eq!(short, long);
        }
    }
}
