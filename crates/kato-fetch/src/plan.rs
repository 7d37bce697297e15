//! Planning of requests: which of them serve a set of ranges best.

use std::ops::Range;

use bytes::{Bytes, BytesMut};

use crate::read::length;

/// Longest gap between ranges that is read over: that is quicker than another request.
const MAX_GAP: u64 = 64 << 10;
/// Longest request. A longer range is split into several at a time, so that the speed of one
/// connection does not bound it.
const MAX_PART: u64 = 8 << 20;

/// Returns disjoint, ascending requests that cover `ranges`.
pub(crate) fn requests(ranges: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut sorted: Vec<Range<u64>> = ranges
        .iter()
        .filter(|range| !range.is_empty())
        .cloned()
        .collect();
    sorted.sort_unstable_by_key(|range| range.start);
    let mut merged: Vec<Range<u64>> = Vec::with_capacity(sorted.len());
    for range in sorted {
        // Sorted by their starts, so that a range can only touch the last one; it may also lie
        // within it.
        match merged.last_mut() {
            Some(last) if range.start <= last.end.saturating_add(MAX_GAP) => {
                last.end = last.end.max(range.end)
            }
            _ => merged.push(range),
        }
    }
    merged.into_iter().flat_map(split).collect()
}

/// Splits a range into parts of equal length, except that the last one may be shorter.
fn split(range: Range<u64>) -> impl Iterator<Item = Range<u64>> {
    let size = range.end - range.start;
    // At least 1, because empty ranges are left out before.
    let parts = size.div_ceil(MAX_PART);
    let part = size.div_ceil(parts);
    (0..parts).map(move |i| {
        let start = range.start + i * part;
        start..range.end.min(start + part)
    })
}

/// Returns disjoint, ascending segments of a file of `size` bytes that cover `ranges`.
pub(crate) fn segments(ranges: &[Range<u64>], segment: u64, size: u64) -> Vec<Range<u64>> {
    let mut indices: Vec<u64> = ranges
        .iter()
        .filter(|range| !range.is_empty())
        .flat_map(|range| range.start / segment..=(range.end - 1) / segment)
        .collect();
    indices.sort_unstable();
    indices.dedup();
    indices
        .into_iter()
        .map(|index| index * segment..size.min((index + 1) * segment))
        .collect()
}

/// Returns the bytes of `range` out of what was read, without copying where one request has them
/// all.
pub(crate) fn gather(read: &[(Range<u64>, Bytes)], range: &Range<u64>) -> Bytes {
    if range.is_empty() {
        return Bytes::new();
    }
    // What was read is ascending and covers the range, so its bytes are in consecutive parts from
    // here.
    let first = read.partition_point(|(part, _)| part.end <= range.start);
    let mut whole = BytesMut::new();
    for (part, bytes) in &read[first..] {
        if part.start >= range.end {
            break;
        }
        let from = length(&(part.start..range.start.max(part.start)));
        let to = length(&(part.start..range.end.min(part.end)));
        let piece = bytes.slice(from..to);
        if piece.len() == length(range) {
            return piece;
        }
        whole.reserve(length(range) - whole.len());
        whole.extend_from_slice(&piece);
    }
    whole.freeze()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn slice(bytes: &Bytes, range: &Range<u64>) -> Bytes {
        bytes.slice(usize::try_from(range.start).unwrap()..usize::try_from(range.end).unwrap())
    }

    #[test]
    fn near_ranges_are_read_together_and_long_ones_in_parts() {
        assert_eq!(
            requests(&[10..20, 0..5, 5..5]),
            vec![Range { start: 0, end: 20 }]
        );
        assert_eq!(
            requests(&[0..10, 1_000_000..1_000_010]),
            [0..10, 1_000_000..1_000_010]
        );
        let long = 20 << 20;
        let parts = requests(std::slice::from_ref(&(7..7 + long)));
        assert_eq!(parts.len(), 3);
        assert!(parts.windows(2).all(|pair| pair[0].end == pair[1].start));
        assert_eq!((parts[0].start, parts[2].end), (7, 7 + long));
    }

    proptest! {
        #[test]
        fn every_plan_gives_the_very_bytes(
            ends in proptest::collection::vec((0..300_000_u64, 0..200_000_u64), 0..12),
            by_segment in any::<bool>(),
        ) {
            let file: Bytes = (0..600_000_u32).map(|i| ((i * 31) >> 5) as u8).collect::<Vec<_>>().into();
            let ranges: Vec<_> = ends.iter().map(|(start, len)| *start..start + len).collect();
            let plan = if by_segment { segments(&ranges, 4096, 600_000) } else { requests(&ranges) };
            prop_assert!(plan.windows(2).all(|pair| pair[0].end <= pair[1].start));
            let read: Vec<_> = plan.into_iter().map(|range| (range.clone(), slice(&file, &range))).collect();
            for range in &ranges {
                prop_assert_eq!(gather(&read, range), slice(&file, range));
            }
        }
    }
}
