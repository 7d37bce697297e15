//! Words find what tables find.

use kato_model::Event;
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::matching::matching_blocks;
use crate::symbols::Symbols;

/// Lengths about those at which another way is taken, and short ones.
fn length() -> impl Strategy<Value = usize> {
    prop_oneof![6 => 1..9_usize, 2 => 60..=68_usize, 1 => 120..140_usize]
}

fn symbols(n_symbols: u32) -> impl Strategy<Value = Vec<u32>> {
    length().prop_flat_map(move |length| vec(0..n_symbols, length))
}

/// Whether one of the matches, which are in order, has an equal symbol between those beside it.
fn may_move(side: &[SymbolId], matches: &[usize]) -> bool {
    (0..matches.len()).any(|k| {
        let from = k.checked_sub(1).map_or(0, |before| matches[before] + 1);
        let end = matches.get(k + 1).copied().unwrap_or(side.len());
        let own = matches[k];
        (from..end).any(|free| free != own && side[free] == side[own])
    })
}

/// The textbook table.
fn lcs_by_table(a: &[SymbolId], b: &[SymbolId]) -> usize {
    let mut row = vec![0; b.len() + 1];
    for x in a {
        let mut diagonal = 0;
        for (j, y) in b.iter().enumerate() {
            let above = row[j + 1];
            row[j + 1] = if x == y {
                diagonal + 1
            } else {
                above.max(row[j])
            };
            diagonal = above;
        }
    }
    row[b.len()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_summary_is_that_of_the_blocks_whatever_was_matched_before(
        (patterns, state) in (2..12_u32).prop_flat_map(|n| (vec(symbols(n), 1..4), symbols(n + 1)))
    ) {
        let text = |symbol: &u32| format!("s{symbol}");
        let mut table = Symbols::default();
        let patterns: Vec<Vec<SymbolId>> = patterns
            .iter()
            .map(|pattern| pattern.iter().map(|symbol| table.intern(&text(symbol)).unwrap()).collect())
            .collect();
        // Some symbols of the state are known to no pattern.
        let events: Vec<Event> = state.iter().map(|symbol| Event::new([text(symbol)])).collect();
        let state = State::new(&events, &table);
        let mut matcher = Matcher::new(&state);
        let never = Cancel::never();
        for pattern in &patterns {
            matcher.set_pattern(pattern);
            prop_assert_eq!(matcher.lcs(&never).unwrap(), lcs_by_table(pattern, &state.ids));
            if pattern.iter().any(|&symbol| state.holds(symbol)) {
                let blocks = matching_blocks(pattern, &state.ids);
                let found = matcher.summarize_blocks(&never).unwrap();
                prop_assert_eq!(found, BlockSummary::from_blocks(&blocks), "{:?}", blocks);
                prop_assert_eq!(found.n_matched, blocks.iter().map(|block| block.len).sum::<usize>());
                prop_assert_eq!(found.n_blocks, blocks.len());
                prop_assert_eq!(Some(found.start), blocks.first().map(|block| block.pattern_start));
                prop_assert_eq!(Some(found.end), blocks.last().map(MatchingBlock::pattern_end));
                let (places, positions): (Vec<usize>, Vec<usize>) =
                    pairs_of(&blocks).map(|pair| (pair.place, pair.position)).unzip();
                let n_left = state.common(pattern.iter().copied()).symbols - found.n_matched;
                let in_pattern = may_move(pattern, &places);
                let any = in_pattern || may_move(&state.ids, &positions);
                prop_assert_eq!(matcher.has_choice_of_places(pattern, n_left), in_pattern, "{:?}", blocks);
                prop_assert_eq!(matcher.has_choice(pattern), any, "{:?}", blocks);
            }
        }
    }
}
