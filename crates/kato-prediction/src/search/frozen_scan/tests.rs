//! Parts of the search against what a look at all of it finds.

use proptest::collection::{btree_set, vec};
use proptest::prelude::*;

use kato_model::Event;

use super::*;
use crate::frozen::RankList;
use crate::matching::lcs_length;
use crate::symbols::Symbols;

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

    #[test]
    fn what_is_seen_has_the_longest_common_subsequence(
        pattern in vec(0..6_u32, 1..10),
        observed in vec(0..6_u32, 2..65),
    ) {
        let mut table = Symbols::default();
        for text in ["a", "b", "c", "d", "e", "f"] {
            table.intern(text).unwrap();
        }
        let text = |number: &u32| ["a", "b", "c", "d", "e", "f"][*number as usize];
        let events: Vec<Event> = observed.iter().map(|number| Event::new([text(number)])).collect();
        let state = State::new(&events, &table);
        let symbols = pattern.iter().map(|number| table.id(text(number)).unwrap());
        let seen = Seen::of_symbols(&state, &symbols.collect::<Vec<_>>());
        prop_assert_eq!(seen.lcs(&state), lcs_length(&pattern, &observed));
    }
}
