//! Parts of the search against what a look at all of it finds.

use proptest::collection::{btree_set, vec};
use proptest::prelude::*;

use kato_model::Event;

use super::seen::Look;
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
    fn a_look_at_a_pattern_sees_what_looking_at_each_place_finds(
        pattern in vec(0..6_u32, 1..80),
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
        let Look { by_lists, common, seen } = Look::new(&state, &symbols.collect::<Vec<_>>());
        prop_assert_eq!(seen.unwrap().lcs(&state), lcs_length(&pattern, &observed));
        let is_held = |number: &&u32| observed.contains(number);
        prop_assert_eq!(common.symbols, pattern.iter().filter(is_held).count());
        let pairs = |a: &[u32], b: &[u32]| {
            let is_pair = |pair: &&[u32]| b.windows(2).any(|other| other == *pair);
            a.windows(2).filter(is_pair).count()
        };
        prop_assert_eq!(common.pairs, pairs(&pattern, &observed));
        let n_positions = observed.iter().filter(|number| pattern.contains(number)).count();
        prop_assert_eq!(by_lists.symbols, n_positions);
        prop_assert_eq!(by_lists.pairs, pairs(&observed, &pattern));
        prop_assert_eq!(by_lists.paired.count_ones() as usize, by_lists.pairs);
    }
}
