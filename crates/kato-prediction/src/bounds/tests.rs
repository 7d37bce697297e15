//! Bounds are the best score of all that they allow, found by trying all of it.

use super::*;
use crate::page_class::LengthClass;

/// Rules under which overlap bounds the score.
const RULES: BoundRules = BoundRules {
    token_threshold: Some(0.1),
    keeps_unmatched: true,
    is_fuzzy: false,
    by_position: false,
};

const BOTH_SEGMENTATIONS: [BoundRules; 2] = [
    RULES,
    BoundRules {
        by_position: true,
        ..RULES
    },
];

fn classes(length: usize) -> [PageClass; 2] {
    [false, true].map(|is_plain| PageClass {
        lengths: LengthClass::from_length(length),
        is_plain,
    })
}

/// Tries all lengths of the class and all presents that so many matches and blocks leave.
fn best_score(
    (matched, blocks): (usize, usize),
    least_span: usize,
    state_length: usize,
    class: &PageClass,
    rules: BoundRules,
) -> f64 {
    let unmatched = state_length - matched;
    // What is moved forms runs that are no longer than the longest block.
    let longest = matched + 1 - blocks;
    let is_moved = rules.by_position && !class.is_plain;
    let runs = match is_moved {
        true => (1..=blocks).find(|runs| runs * longest >= matched).unwrap(),
        false => blocks,
    };
    // What the state has no symbol for between two runs, the pattern has.
    let least = least_span.max(matched + (runs - 1).saturating_sub(unmatched));
    let mut best = f64::NEG_INFINITY;
    for length in class.lengths.lengths() {
        // One block of a plain pattern is all of its present.
        let is_present = |&present: &usize| !class.is_plain || blocks > 1 || present == matched;
        for present in (least..=length).filter(is_present) {
            best = best.max(pre_potential(
                evidence(matched, length),
                confidence(matched, present),
                snr(matched, unmatched),
                cohesion(blocks),
            ));
        }
    }
    best
}

/// Returns what is given with each of the segmentations.
fn both_with<T: Clone>(
    given: impl IntoIterator<Item = T>,
) -> impl Iterator<Item = (BoundRules, T)> {
    let both = |given: T| BOTH_SEGMENTATIONS.map(|rules| (rules, given.clone()));
    given.into_iter().flat_map(both)
}

/// Returns whether so many matches in so many blocks hold no more pairs than there are.
fn allows(n_pairs: usize, (matched, blocks): (usize, usize)) -> bool {
    n_pairs >= MOST_PAIRS || matched - blocks <= n_pairs
}

#[test]
fn an_overlap_bounds_the_score_by_the_best_that_it_allows() {
    for (rules, length) in both_with([1, 2, 3, 5, 8, 9, 11, 34]) {
        for class in classes(length) {
            for state_length in [1, 2, 3, 6, 8, 9, 10, 13, 40] {
                let bounds = Bounds::new(state_length, &class, rules);
                let most = state_length.min(*class.lengths.lengths().end());
                assert_eq!(bounds.most(), most);
                assert_eq!(bounds.most_pairs(), most.min(MOST_PAIRS));
                for n_pairs in 0..=MOST_PAIRS + 1 {
                    // Nothing that is shared has a score of 0.
                    assert_eq!(bounds.upper(0, n_pairs), 0.0);
                    let mut best = f64::NEG_INFINITY;
                    for matched in 1..=most.min(14) {
                        for blocks in
                            (1..=matched).filter(|&blocks| allows(n_pairs, (matched, blocks)))
                        {
                            let score =
                                best_score((matched, blocks), 0, state_length, &class, rules);
                            best = best.max(score);
                        }
                        let found = bounds.upper(matched, n_pairs);
                        assert_eq!(found, best, "{class:?} {state_length} {n_pairs} {matched}");
                    }
                }
                // More than all is all.
                assert_eq!(
                    bounds.upper(most + 1, MOST_PAIRS),
                    bounds.upper(most, MOST_PAIRS)
                );
            }
        }
    }
}

/// Tries all places at which the matches may be.
fn best_at(
    places: usize,
    n_pairs: usize,
    state_length: usize,
    class: &PageClass,
    rules: BoundRules,
) -> f64 {
    let mut best = f64::NEG_INFINITY;
    for chosen in (1..=places).filter(|chosen| chosen & !places == 0) {
        let matched = chosen.count_ones() as usize;
        if matched > state_length {
            continue;
        }
        let span = (usize::BITS - chosen.leading_zeros() - chosen.trailing_zeros()) as usize;
        // No one block holds places that are not neighbours.
        let fewest = if span == matched { 1 } else { 2 };
        for blocks in (fewest..=matched).filter(|&blocks| allows(n_pairs, (matched, blocks))) {
            let score = best_score((matched, blocks), span, state_length, class, rules);
            best = best.max(score);
        }
    }
    best
}

#[test]
fn places_bound_the_score_by_the_best_that_they_allow() {
    let all = |length: usize| (1..1 << length).collect::<Vec<usize>>();
    let of_lengths = [
        (1, all(1)),
        (3, all(3)),
        (5, all(5)),
        (
            LONGEST_SIGNED,
            vec![
                0b1,
                0b1_1111_1111,
                0b1_0101_0101,
                0b1_1000_0111,
                0b1_1111_1110,
            ],
        ),
    ];
    for (rules, (length, places)) in both_with(of_lengths) {
        for class in classes(length) {
            for state_length in [1, 2, 4, 9, 30] {
                let mut bounds = PlaceBounds::new(state_length, &class, rules).unwrap();
                // Twice, as what was computed is kept.
                for n_pairs in (0..=MOST_PAIRS + 1).chain([0, 1]) {
                    for &places in &places {
                        let found = bounds.upper(places, n_pairs);
                        let best = best_at(places, n_pairs, state_length, &class, rules);
                        assert_eq!(found, best, "{class:?} {state_length} {n_pairs} {places:b}");
                    }
                }
                // A damaged pattern may be longer than its class.
                assert_eq!(bounds.upper(1 << length, MOST_PAIRS), f64::INFINITY);
            }
        }
    }
}

#[test]
fn places_bound_nothing_without_signatures_or_with_fuzzy_matching() {
    let fuzzy = BoundRules {
        is_fuzzy: true,
        ..RULES
    };
    for length in [LONGEST_SIGNED, LONGEST_SIGNED + 1, 40] {
        for class in classes(length) {
            let has_bounds = |rules| PlaceBounds::new(5, &class, rules).is_some();
            assert_eq!(has_bounds(RULES), length <= LONGEST_SIGNED);
            assert!(!has_bounds(fuzzy));
            assert_eq!(Bounds::new(5, &class, fuzzy).upper(1, 0), f64::INFINITY);
        }
    }
}

#[test]
fn the_least_overlap_reaches_the_threshold_with_the_shortest_pattern() {
    let least = |length, state_length, token_threshold, keeps_unmatched| {
        let rules = BoundRules {
            token_threshold,
            keeps_unmatched,
            is_fuzzy: false,
            by_position: false,
        };
        let bounds = Bounds::new(state_length, &classes(length)[0], rules);
        bounds.least_overlap(0, |_| true)
    };
    assert_eq!(least(4, 4, Some(0.6), false), Some(3));
    assert_eq!(least(4, 4, Some(0.5), false), Some(2));
    assert_eq!(least(4, 4, Some(1.0), false), Some(4));
    // The state alone has a symbol more.
    assert_eq!(least(4, 5, Some(1.0), false), None);
    // 2 · 33 of 33 + 40 symbols: the shortest of lengths 33 to 39.
    assert_eq!(least(36, 40, Some(0.9), false), Some(33));
    // Of characters the overlap says nothing but that there is one.
    assert_eq!(least(4, 5, None, false), Some(1));
    assert_eq!(least(4, 4, Some(0.6), true), Some(0));
}

#[test]
fn the_least_overlap_is_the_first_whose_bound_reaches_far_enough() {
    for class in classes(6) {
        let bounds = Bounds::new(7, &class, RULES);
        for n_pairs in 0..=6 {
            for bar in 0..=bounds.most() {
                let bar = bounds.upper(bar, n_pairs);
                let expected = (0..=6).find(|&overlap| bounds.upper(overlap, n_pairs) > bar);
                assert_eq!(bounds.least_overlap(n_pairs, |upper| upper > bar), expected);
            }
        }
    }
}
