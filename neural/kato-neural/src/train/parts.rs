//! Cuts a batch that does not fit into parts that do.

use std::ops::Range;

/// Returns consecutive parts of rows of the given sizes, each of at most `max` tokens: as many as its
/// rows with the size of its longest, as padding takes memory too. A row of more than that is alone.
pub(super) fn parts(sizes: &[usize], max: usize) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let (mut first, mut longest) = (0, 0);
    for (row, &size) in sizes.iter().enumerate() {
        let wanted = longest.max(size);
        // Rows keep their order, as the draws of a row go by its number in the step.
        if row > first && (row + 1 - first).saturating_mul(wanted) > max {
            parts.push(first..row);
            (first, longest) = (row, size);
        } else {
            longest = wanted;
        }
    }
    parts.push(first..sizes.len());
    parts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn padding_counts_and_a_long_row_is_alone() {
        assert_eq!(parts(&[3, 3, 3, 3], 6), [0..2, 2..4]);
        // Two rows, one of them long, would be ten tokens.
        assert_eq!(parts(&[1, 1, 5, 1], 6), [0..2, 2..3, 3..4]);
        assert_eq!(parts(&[9, 9], 6), [0..1, 1..2]);
        assert_eq!(parts(&[2, 2], usize::MAX).len(), 1);
        assert!(parts(&[], 6)[0].is_empty());
    }

    proptest! {
        #[test]
        fn every_row_is_in_one_part_within_the_budget(
            sizes in prop::collection::vec(1..20_usize, 1..40),
            max in 1..60_usize,
        ) {
            let parts = parts(&sizes, max);
            let rows: Vec<usize> = parts.iter().cloned().flatten().collect();
            prop_assert_eq!(rows, (0..sizes.len()).collect::<Vec<_>>());
            for part in parts {
                let longest = sizes[part.clone()].iter().max().unwrap();
                prop_assert!(part.len() == 1 || part.len() * longest <= max);
            }
        }
    }
}
