use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::events::read_ends;
use crate::matching::matching_blocks;

/// Symbols in events, given by their numbers.
type Events = Vec<Vec<u32>>;

fn flat(events: &Events) -> (Vec<SymbolId>, Vec<usize>) {
    let symbols = events.iter().flatten().map(|&number| SymbolId(number));
    let length = |event: &Vec<u32>| u32::try_from(event.len()).unwrap();
    let lengths: Vec<u32> = events.iter().map(length).collect();
    let mut ends = Vec::new();
    read_ends(&lengths, &mut ends);
    (symbols.collect(), ends)
}

/// The rules as they are written, with sets and without bounds of what can move.
fn refined_plainly(pattern: &Events, state: &Events, pairs: &mut [(usize, usize)]) {
    let (symbols, _) = flat(pattern);
    let (observed, _) = flat(state);
    let numbers = |events: &Events| -> Vec<usize> {
        let events = events.iter().enumerate();
        events
            .flat_map(|(number, event)| vec![number; event.len()])
            .collect()
    };
    let (of_pattern, of_state) = (numbers(pattern), numbers(state));
    for _ in 0..pairs.len() * pairs.len() + 2 {
        let moved = (0..pairs.len()).find_map(|k| {
            let (q, t) = pairs[k];
            let bounds = |side: fn(&(usize, usize)) -> usize, length: usize| {
                let low = k.checked_sub(1).map_or(-1, |k| side(&pairs[k]) as i64);
                let high = pairs.get(k + 1).map_or(length as i64, |p| side(p) as i64);
                move |at: usize| low < at as i64 && (at as i64) < high
            };
            let q_fits = bounds(|pair| pair.0, symbols.len());
            let t_fits = bounds(|pair| pair.1, observed.len());
            let others = || {
                (0..pairs.len())
                    .filter(|&other| other != k)
                    .map(|other| pairs[other])
            };
            let winner = |events: Vec<usize>, own: usize, n_events: usize| {
                let count = |event: usize| events.iter().filter(|&&e| e == event).count();
                (0..n_events).find(|&event| {
                    let rivals = (0..n_events).filter(|&rival| rival != event).chain([own]);
                    event != own && rivals.into_iter().all(|rival| count(event) > count(rival))
                })
            };
            let on_state: Vec<usize> = others()
                .filter(|pair| of_state[pair.1] == of_state[t])
                .map(|pair| of_pattern[pair.0])
                .collect();
            let is_free =
                |at: usize| symbols[at] == symbols[q] && others().all(|p| p.0 != at) && at != q;
            let places = || (0..symbols.len()).filter(|&at| is_free(at) && q_fits(at));
            if on_state.is_empty() {
                let cost = |at: usize| {
                    let used = || {
                        others()
                            .map(|pair| of_pattern[pair.0])
                            .chain([of_pattern[at]])
                    };
                    let range = used().min().unwrap()..=used().max().unwrap();
                    range.map(|event| pattern[event].len()).sum::<usize>()
                };
                let elsewhere = places().filter(|&at| of_pattern[at] != of_pattern[q]);
                if let Some(at) = elsewhere
                    .min_by_key(|&at| cost(at))
                    .filter(|&at| cost(at) < cost(q))
                {
                    return Some((k, (at, t)));
                }
            } else if let Some(best) = winner(on_state, of_pattern[q], pattern.len())
                && let Some(at) = places().find(|&at| of_pattern[at] == best)
            {
                return Some((k, (at, t)));
            }
            let on_pattern: Vec<usize> = others()
                .filter(|pair| of_pattern[pair.0] == of_pattern[q])
                .map(|pair| of_state[pair.1])
                .collect();
            let best = winner(on_pattern, of_state[t], state.len())?;
            let is_free =
                |at: usize| observed[at] == symbols[q] && others().all(|p| p.1 != at) && at != t;
            let mut positions = (0..observed.len()).filter(|&at| is_free(at) && t_fits(at));
            let at = positions.find(|&at| of_state[at] == best)?;
            Some((k, (q, at)))
        });
        match moved {
            Some((k, pair)) => pairs[k] = pair,
            None => break,
        }
    }
}

proptest! {
    #[test]
    fn matches_move_as_the_rules_say(
        pattern in vec(vec(0..4_u32, 1..4), 1..7),
        state in vec(vec(0..4_u32, 1..4), 1..6),
    ) {
        let ((symbols, ends), (observed, observed_ends)) = (flat(&pattern), flat(&state));
        let blocks = matching_blocks(&symbols, &observed);
        let mut pairs: Vec<Pair> = pairs_of(&blocks).collect();
        let mut plain: Vec<(usize, usize)> =
            pairs.iter().map(|pair| (pair.place, pair.position)).collect();
        let side = |symbols, ends| EventSymbols { symbols, events: EventBounds::new(Some(ends)) };
        let (pattern_side, state_side) = (side(&symbols, &ends), side(&observed, &observed_ends));
        refine(pattern_side, state_side, &mut pairs, &Cancel::never()).unwrap();
        refined_plainly(&pattern, &state, &mut plain);
        let found: Vec<(usize, usize)> =
            pairs.iter().map(|pair| (pair.place, pair.position)).collect();
        prop_assert_eq!(&found, &plain);
        prop_assert!(found.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 < pair[1].1));
    }
}
