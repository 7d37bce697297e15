//! Look-ups in columns.

#![expect(
    clippy::cast_possible_truncation,
    reason = "the share of a length is no more than the length"
)]

/// Finds the first index in `lo..hi` whose key is at least `wanted`; keys ascend.
///
/// Guesses by interpolation, as ranks of names and numbers of symbols are spread evenly, and
/// bisects now and then for those that are not. Every round reads one key, as each may be a wait for memory.
pub(super) fn lower_bound(lo: usize, hi: usize, wanted: u64, key: impl Fn(usize) -> u64) -> usize {
    if lo >= hi {
        return lo;
    }
    // Less than what is wanted is the key of the one, and not less that of the other.
    let (mut below, mut least) = (lo, key(lo));
    if wanted <= least {
        return lo;
    }
    let (mut above, mut most) = (hi - 1, key(hi - 1));
    if wanted > most {
        return hi;
    }
    let mut round = 0_u32;
    while above - below > 1 {
        let n = above - below;
        let step = match n > 8 && round % 3 != 2 {
            true => share(wanted - least, most - least, n).clamp(1, n - 1),
            false => n / 2,
        };
        let held = key(below + step);
        if held < wanted {
            (below, least) = (below + step, held);
        } else {
            (above, most) = (below + step, held);
        }
        round += 1;
    }
    above
}

/// Returns about the share of a length that one number is of another, which is not 0.
fn share(part: u64, whole: u64, length: usize) -> usize {
    // Of both the highest bits of 32, so that no product is too large for a word: `length` is below 2³².
    let shift = 32_u32.saturating_sub(whole.leading_zeros());
    ((part >> shift) * length as u64 / (whole >> shift)) as usize
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
