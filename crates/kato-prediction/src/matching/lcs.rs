//! The longest common subsequence, 64 positions of one sequence at a time.
//!
//! The rows of the usual table of lengths differ by at most 1 from column to column. Kept as bits
//! (a 0 where the length grows), a row follows from the one before by an addition and three logical
//! operations per word: Hyyrö, "Bit-parallel LCS-length computation revisited" (2004).

use std::hash::Hash;

use foldhash::quality::RandomState;
use hashbrown::HashMap;

use crate::cancel::{Cancel, Cancelled, unwrap_uncancelled};

/// Number of pairs up to which comparing them all is faster than hashing symbols.
const DIRECT_PAIRS: usize = 1024;

/// Returns the length of a longest common subsequence: symbols that both sequences have in the same
/// order, not necessarily without gaps.
///
/// Complexity: O(a · b / 64) time, O(min(a, b)) memory, and no allocation while
/// sequences are short.
///
/// ```
/// use kato_prediction::matching::lcs_length;
/// assert_eq!(lcs_length(b"xyabcd", b"abcdexyzw"), 4);
/// ```
#[must_use]
pub fn lcs_length<T: Eq + Hash>(pattern: &[T], state: &[T]) -> usize {
    unwrap_uncancelled(lcs_length_unless(pattern, state, &Cancel::never()))
}

/// Computes [`lcs_length`] unless it is cancelled.
pub(crate) fn lcs_length_unless<T: Eq + Hash>(
    pattern: &[T],
    state: &[T],
    cancel: &Cancel,
) -> Result<usize, Cancelled> {
    // A common beginning and a common end are part of some longest subsequence.
    let (prefix, pattern, state) = without_common_prefix(pattern, state);
    let (suffix, pattern, state) = without_common_suffix(pattern, state);
    // The shorter one becomes the bits of a row: memory is linear in it.
    let (short, long) = if pattern.len() <= state.len() {
        (pattern, state)
    } else {
        (state, pattern)
    };
    let middle = if short.is_empty() {
        0
    } else if short.len() <= 64 && short.len().saturating_mul(long.len()) <= DIRECT_PAIRS {
        direct(short, long)
    } else {
        LcsProfile::new(short).length_unless(long, cancel)?
    };
    Ok(prefix + middle + suffix)
}

fn without_common_prefix<'a, T: Eq>(a: &'a [T], b: &'a [T]) -> (usize, &'a [T], &'a [T]) {
    let len = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    (len, &a[len..], &b[len..])
}

fn without_common_suffix<'a, T: Eq>(a: &'a [T], b: &'a [T]) -> (usize, &'a [T], &'a [T]) {
    let pairs = a.iter().rev().zip(b.iter().rev());
    let len = pairs.take_while(|(a, b)| a == b).count();
    (len, &a[..a.len() - len], &b[..b.len() - len])
}

/// Computes the length for a `short` sequence of at most 64 symbols, without tables.
fn direct<T: Eq>(short: &[T], long: &[T]) -> usize {
    let mut row = u64::MAX;
    for symbol in long {
        let mask = short.iter().enumerate().fold(0, |mask, (bit, other)| {
            mask | u64::from(symbol == other) << bit
        });
        row = next_word(row, mask, false).0;
    }
    // Bits after the end of `short` are in no mask and stay set, so the zeros count positions.
    row.count_zeros() as usize
}

/// Computes one word of the next row, and the carry into the word after it.
fn next_word(word: u64, mask: u64, carry: bool) -> (u64, bool) {
    let (sum, carry) = word.carrying_add(word & mask, carry);
    (sum | (word & !mask), carry)
}

/// A sequence prepared to be compared with many others.
///
/// Memory: linear in the number of symbols.
///
/// ```
/// use kato_prediction::matching::LcsProfile;
/// let profile = LcsProfile::new("abcbdab".chars());
/// assert_eq!(profile.length("bdcaba".chars()), 4);
/// ```
#[derive(Debug, Clone)]
pub struct LcsProfile<T> {
    len: usize,
    /// For every distinct symbol, its range in `masks`.
    ranges: HashMap<T, (usize, usize), RandomState>,
    /// The number of a word and the symbol's positions in it; only words in which the symbol is,
    /// so that memory stays linear.
    masks: Vec<(usize, u64)>,
}

impl<T: Eq + Hash> LcsProfile<T> {
    /// Prepares a sequence.
    pub fn new(symbols: impl IntoIterator<Item = T>) -> Self {
        let mut ids = HashMap::with_hasher(RandomState::default());
        let mut positions: Vec<(usize, usize)> = Vec::new();
        for (position, symbol) in symbols.into_iter().enumerate() {
            let new = ids.len();
            positions.push((*ids.entry(symbol).or_insert(new), position));
        }
        let len = positions.len();
        // By symbol, then by position: the masks of a symbol are together, their words ascending,
        // as `next_row` expects.
        positions.sort_unstable();
        let mut masks: Vec<(usize, u64)> = Vec::new();
        let mut ends = Vec::with_capacity(ids.len());
        for of_symbol in positions.chunk_by(|a, b| a.0 == b.0) {
            for of_word in of_symbol.chunk_by(|a, b| a.1 / 64 == b.1 / 64) {
                let mask = of_word
                    .iter()
                    .fold(0, |mask, (_, at)| mask | 1 << (at % 64));
                masks.push((of_word[0].1 / 64, mask));
            }
            ends.push(masks.len());
        }
        let range = |id: usize| (id.checked_sub(1).map_or(0, |before| ends[before]), ends[id]);
        Self {
            len,
            ranges: ids
                .into_iter()
                .map(|(symbol, id)| (symbol, range(id)))
                .collect(),
            masks,
        }
    }

    /// Returns the number of symbols.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there is no symbol.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the length of a longest common subsequence with another sequence, as [`lcs_length`].
    #[must_use]
    pub fn length(&self, other: impl IntoIterator<Item = T>) -> usize {
        unwrap_uncancelled(self.length_unless(other, &Cancel::never()))
    }

    /// Computes [`length`](Self::length) unless it is cancelled.
    pub(crate) fn length_unless(
        &self,
        other: impl IntoIterator<Item = T>,
        cancel: &Cancel,
    ) -> Result<usize, Cancelled> {
        let n_words = self.len.div_ceil(64);
        // Up to 512 symbols the row is on the stack, which saves an allocation per comparison.
        let (mut few, mut many) = ([u64::MAX; 8], Vec::new());
        let row = if n_words <= few.len() {
            &mut few[..n_words]
        } else {
            many.resize(n_words, u64::MAX);
            &mut many[..]
        };
        for symbol in other {
            cancel.check()?;
            // A symbol that this sequence does not have leaves the row as it is.
            if let Some(&(start, end)) = self.ranges.get(&symbol) {
                next_row(row, &self.masks[start..end]);
            }
        }
        Ok(row.iter().map(|word| word.count_zeros() as usize).sum())
    }
}

/// Replaces a row by the one that a symbol with these masks leads to.
fn next_row(row: &mut [u64], masks: &[(usize, u64)]) {
    let (mut at, mut carry) = (0, false);
    for &(word, mask) in masks {
        // Words without the symbol change only by a carry, which the first word that is
        // not full takes up.
        while carry && at < word {
            (row[at], carry) = next_word(row[at], 0, carry);
            at += 1;
        }
        (row[word], carry) = next_word(row[word], mask, carry);
        at = word + 1;
    }
    while carry && at < row.len() {
        (row[at], carry) = next_word(row[at], 0, carry);
        at += 1;
    }
}
