//! Parts of the search against what a look at all of it finds.

use proptest::collection::{btree_set, vec};
use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn lists_are_enough_if_those_that_hold_the_rank_count_for_enough(
        lists in vec((btree_set(0..40_u32, 0..20), 1..4_usize), 0..6),
        count in 0..4_usize,
        least in 0..10_usize,
    ) {
        let mut others: Vec<(ListCursor<'_>, usize)> = lists
            .iter()
            .map(|(ranks, count)| {
                let ranks: Vec<u32> = ranks.iter().copied().collect();
                (RankList::of_ranks(&ranks).cursor(), *count)
            })
            .collect();
        // Ranks ascend, as along the list that is walked.
        for rank in 0..40 {
            let held = lists.iter().filter(|(ranks, _)| ranks.contains(&rank));
            let in_all = count + held.map(|(_, count)| count).sum::<usize>();
            prop_assert_eq!(is_in_enough(rank, count, least, &mut others), in_all >= least);
        }
    }
}
