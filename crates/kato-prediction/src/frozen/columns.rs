//! Look-ups in columns.

#![expect(
    clippy::cast_possible_truncation,
    reason = "the share of a length is no more than the length"
)]

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
