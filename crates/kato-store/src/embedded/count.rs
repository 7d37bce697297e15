//! Counting distinct names over segments: range by range, without merging or decoding records.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use kato_model::PatternName;

use super::segment::{BlockBuffer, Segment};
use crate::StoreError;

/// Number of names that are counted at a time: about 12 MB a thread, small enough to sort within
/// the processor's cache.
const RANGE_NAMES: u64 = 1 << 19;

/// A name as numbers, which sort several times faster than bytes.
type Key = (u64, u64, u32);

/// Counts the distinct names of a node on all cores.
///
/// Names are digests, so equal ranges of them are equal work.
pub(super) fn count_patterns(
    segments: &[Arc<Segment>],
    node_idx: usize,
) -> Result<u64, StoreError> {
    // Names within one segment are distinct, so nothing needs to be read.
    if let [segment] = segments {
        return Ok(segment.n_held(node_idx));
    }
    let n_names: u64 = segments
        .iter()
        .map(|segment| segment.n_held(node_idx))
        .sum();
    let n_ranges = n_names.div_ceil(RANGE_NAMES).max(1);
    let next_range = AtomicU64::new(0);
    let count = || -> Result<u64, StoreError> {
        let mut names = Vec::new();
        let mut total = 0;
        loop {
            let range = next_range.fetch_add(1, Ordering::Relaxed);
            if range >= n_ranges {
                return Ok(total);
            }
            let (first, last) = leading_range(range, n_ranges);
            total += count_range(segments, node_idx, first, last, &mut names)?;
        }
    };
    let n_threads = thread::available_parallelism()
        .map_or(1, NonZeroUsize::get)
        .min(usize::try_from(n_ranges).unwrap_or(usize::MAX));
    thread::scope(|scope| {
        let others: Vec<_> = (1..n_threads).map(|_| scope.spawn(count)).collect();
        let mut total = count()?;
        for other in others {
            total += other
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        }
        Ok(total)
    })
}

/// Returns the smallest and the largest leading bytes of names in one of `n_ranges` equal ranges.
///
/// Names are digests, so equal ranges hold about as many.
pub(super) fn leading_range(range: u64, n_ranges: u64) -> (u64, u64) {
    // The product of a range and 2^64 needs 128 bits.
    let start = |range: u64| (u128::from(range) << 64) / u128::from(n_ranges);
    let leading = |bound: u128| {
        u64::try_from(bound).expect("the last range ends before 2^64, and those before it earlier")
    };
    (leading(start(range)), leading(start(range + 1) - 1))
}

/// Counts the distinct names whose leading bytes lie between `first` and `last`.
fn count_range(
    segments: &[Arc<Segment>],
    node_idx: usize,
    first: u64,
    last: u64,
    names: &mut Vec<Key>,
) -> Result<u64, StoreError> {
    names.clear();
    let mut block = BlockBuffer::default();
    for segment in segments {
        segment.names_between(node_idx, first, last, &mut block, |row, name| {
            if !segment.deleted().holds(node_idx, row) {
                names.push(key(name));
            }
        })?;
    }
    names.sort_unstable();
    Ok(names.chunk_by(|a, b| a == b).count() as u64)
}

/// Returns a name as numbers.
fn key(name: &[u8; PatternName::BYTES]) -> Key {
    // Big-endian words, so that the numbers are ordered as the bytes are.
    let [a, b, c, d, e] = std::array::from_fn(|word| {
        let at = word * size_of::<u32>();
        u32::from_be_bytes([name[at], name[at + 1], name[at + 2], name[at + 3]])
    });
    let pair = |high: u32, low: u32| u64::from(high) << u32::BITS | u64::from(low);
    (pair(a, b), pair(c, d), e)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_follow_each_other_and_hold_every_name() {
        for n_ranges in [1, 2, 3, 1000] {
            let mut next = Some(0);
            for range in 0..n_ranges {
                let (first, last) = leading_range(range, n_ranges);
                assert_eq!(Some(first), next, "range {range} of {n_ranges}");
                assert!(first < last, "range {range} of {n_ranges}");
                next = last.checked_add(1);
            }
            assert_eq!(next, None, "nothing is left after {n_ranges}");
        }
    }
}
