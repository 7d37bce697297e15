//! Offsets and look-ups in columns.

#![expect(
    clippy::cast_possible_truncation,
    reason = "the share of a length is no more than the length"
)]

use super::layout::{LayoutError, OFFSET_BASE};
use kato_columns::{CheckedBytes, View};

/// Two columns of offsets: 32 bits for each, and a base of 64 for every 65,536 of them.
#[derive(Debug, Clone)]
pub(super) struct Offsets {
    pub(super) starts: CheckedBytes,
    pub(super) bases: CheckedBytes,
}

impl Offsets {
    /// Joins the columns of the offsets of so many things; one more offset ends the last.
    pub(super) fn new(
        starts: CheckedBytes,
        bases: CheckedBytes,
        n_things: usize,
    ) -> Result<Self, LayoutError> {
        let n_offsets = n_things + 1;
        if starts.len() != n_offsets * 4 || bases.len() != n_offsets.div_ceil(OFFSET_BASE) * 8 {
            return Err(LayoutError(
                "offsets have another size than what they are of",
            ));
        }
        Ok(Self { starts, bases })
    }

    /// Returns the bytes of memory beside those of the columns.
    pub(super) fn heap_bytes(&self) -> usize {
        self.starts.heap_bytes() + self.bases.heap_bytes()
    }

    pub(super) fn view(&self) -> OffsetView<'_> {
        OffsetView {
            starts: self.starts.view(),
            bases: self.bases.view(),
        }
    }
}

/// Offsets to read.
#[derive(Debug, Clone, Copy)]
pub(super) struct OffsetView<'a> {
    starts: View<'a>,
    bases: View<'a>,
}

impl OffsetView<'_> {
    #[inline]
    fn get(self, idx: usize) -> usize {
        let offset = self
            .bases
            .u64(idx / OFFSET_BASE)
            .wrapping_add(u64::from(self.starts.u32(idx)));
        // What does not fit is beyond any column, which reading it finds out.
        usize::try_from(offset).unwrap_or(usize::MAX)
    }

    /// Says that the ranges of things will soon be read.
    #[inline]
    pub(super) fn will_read(self, idxs: impl Iterator<Item = usize>) {
        let parts = idxs.map(|idx| (idx.saturating_mul(4), 8));
        self.starts.will_read(parts);
    }

    /// Says that the ranges of some things in a row will soon be read.
    pub(super) fn will_read_row(self, [first, end]: [usize; 2]) {
        // One offset more ends the last.
        let n_offsets = end.saturating_sub(first).saturating_add(1);
        let part = (first.saturating_mul(4), n_offsets.saturating_mul(4));
        self.starts.will_read([part]);
    }

    /// Returns where a thing begins and how long it is; length 0 where the offsets contradict each
    /// other.
    #[inline]
    pub(super) fn range(self, idx: usize) -> (usize, usize) {
        let (start, end) = (self.get(idx), self.get(idx + 1));
        match end.checked_sub(start) {
            Some(length) => (start, length),
            None => {
                self.starts.raise_damage();
                (start, 0)
            }
        }
    }
}

/// Finds the first index in `lo..hi` whose key is at least `wanted`; keys ascend.
///
/// Guesses by interpolation, as ranks of names and numbers of symbols are spread evenly, and
/// bisects now and then for those that are not.
pub(super) fn lower_bound(
    mut lo: usize,
    mut hi: usize,
    wanted: u64,
    key: impl Fn(usize) -> u64,
) -> usize {
    let mut round = 0_u32;
    while lo < hi {
        let middle = if hi - lo > 8 && round % 3 != 2 {
            let (first, last) = (key(lo), key(hi - 1));
            if wanted <= first {
                return lo;
            }
            if wanted > last {
                return hi;
            }
            let share = u128::from(wanted - first) * (hi - 1 - lo) as u128;
            // Between two keys of which the second is larger, so the divisor is not 0 and the
            // quotient no more than the distance.
            lo + (share / u128::from(last - first)) as usize
        } else {
            lo + (hi - lo) / 2
        };
        if key(middle) < wanted {
            lo = middle + 1;
        } else {
            hi = middle;
        }
        round += 1;
    }
    lo
}

/// Finds what [`lower_bound`] finds in `0..len`, for keys that are spread evenly over all numbers, from a
/// place on that is near it.
///
/// Reads few keys that are far from each other: how far a key is from what is wanted tells where to look
/// next, and that is nearly right.
pub(super) fn lower_bound_near(
    near: usize,
    len: usize,
    wanted: u64,
    key: impl Fn(usize) -> u64,
) -> usize {
    /// Guesses before it is searched as if nothing were known of the keys.
    const GUESSES: usize = 32;
    let steps = |distance: u64| ((u128::from(distance) * len as u128) >> u64::BITS) as usize;
    // All before `lo` are less than what is wanted, and none from `hi` on.
    let (mut lo, mut hi) = (0, len);
    let mut at = near;
    for _ in 0..GUESSES {
        at = at.min(hi.saturating_sub(1)).max(lo);
        if lo == hi {
            return lo;
        }
        let held = key(at);
        if held < wanted {
            lo = at + 1;
            at = lo.saturating_add(steps(wanted - held));
        } else {
            hi = at;
            at = hi.saturating_sub(1 + steps(held - wanted));
        }
    }
    lower_bound(lo, hi, wanted, key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_bisection_finds() {
        let lists: [Vec<u64>; 5] = [
            Vec::new(),
            (0..1000).map(|n| n * n * n).collect(),
            vec![5; 100],
            (0..500).map(|n| n / 7 * 3).collect(),
            // As names are.
            (0..500).map(|n| n * (u64::MAX / 500)).collect(),
        ];
        for list in &lists {
            for wanted in (0..2000).chain([u64::MAX, u64::MAX / 3, 999 * 999 * 999]) {
                let found = lower_bound(0, list.len(), wanted, |idx| list[idx]);
                assert_eq!(found, list.partition_point(|&key| key < wanted), "{wanted}");
                for near in [0, list.len() / 2, list.len(), list.len() + 7] {
                    let again = lower_bound_near(near, list.len(), wanted, |idx| list[idx]);
                    assert_eq!(again, found, "{wanted} from {near}");
                }
            }
        }
    }
}
