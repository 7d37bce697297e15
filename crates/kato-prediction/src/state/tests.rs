//! What a state shares with a pattern is what a look at each position finds.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// Lengths about that of a word, and short ones.
fn length() -> impl Strategy<Value = usize> {
    prop_oneof![6 => 0..9_usize, 3 => 62..=67_usize, 1 => 100..130_usize]
}

fn symbols(n_symbols: u32) -> impl Strategy<Value = Vec<u32>> {
    length().prop_flat_map(move |length| vec(0..n_symbols, length))
}

/// Returns the positions at which something is true, as bits.
fn bits(length: usize, is_there: impl Fn(usize) -> bool) -> u64 {
    let places = (0..length).filter(|&at| is_there(at));
    places.fold(0, |bits, at| bits | 1 << at)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_pattern_shares_what_is_at_the_positions_of_the_state(
        (pattern, state) in (1..12_u32).prop_flat_map(|n| (symbols(n), symbols(n + 1)))
    ) {
        let text = |symbol: &u32| format!("s{symbol}");
        let mut table = Symbols::default();
        let pattern: Vec<SymbolId> =
            pattern.iter().map(|symbol| table.intern(&text(symbol)).unwrap()).collect();
        let events: Vec<Event> = state.iter().map(|symbol| Event::new([text(symbol)])).collect();
        let state = State::new(&events, &table);
        let length = state.len();
        let is_short = length <= WORD;

        let holds = |at: usize| pattern.contains(&state.ids[at]);
        let is_pair = |a: SymbolId, b: SymbolId| {
            state.ids.windows(2).filter(|pair| *pair == [a, b]).count()
        };
        let lists = state.common_by_lists(&pattern);
        prop_assert_eq!(lists.symbols, (0..length).filter(|&at| holds(at)).count());
        prop_assert_eq!((lists.paired, lists.pairs), (0, 0));

        let common = state.common(pattern.iter().copied());
        let held = pattern.iter().filter(|symbol| state.ids.contains(symbol));
        prop_assert_eq!(common.symbols, held.clone().count());
        let pairs = pattern.windows(2).filter(|pair| is_pair(pair[0], pair[1]) > 0).count();
        prop_assert_eq!(common.pairs, if is_short { pairs } else { pattern.len() });

        for &symbol in &pattern {
            prop_assert_eq!(state.holds(symbol), state.ids.contains(&symbol));
            let mask = bits(length.min(WORD), |at| state.ids[at] == symbol);
            prop_assert_eq!(state.mask(symbol), mask);
        }
        let known = state.ids.windows(2).filter(|pair| !pair.contains(&UNKNOWN)).count();
        prop_assert_eq!(state.n_pairs(), known);
        for pair in &state.pairs {
            prop_assert_eq!(pair.count, is_pair(state.distinct[pair.first].id, pair.second));
        }
        for symbol in &state.distinct {
            let n_held = state.ids.iter().filter(|id| **id == symbol.id).count();
            prop_assert_eq!(symbol.count as usize, n_held);
            let place = state.place(symbol.id).unwrap();
            prop_assert_eq!(state.distinct[place].id, symbol.id);
        }
    }
}
