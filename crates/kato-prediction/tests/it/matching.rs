//! Blocks, subsequences and likeness: recorded, against textbook implementations, and on hostile
//! input.

use kato_prediction::matching::{
    CharacterProfile, FuzzyMatch, LcsProfile, MatchingBlock, character_similarity, fuzzy_matches,
    lcs_length, matching_blocks, token_similarity,
};
use kato_test_needs::is_thorough;
use proptest::collection::vec;
use proptest::prelude::*;
use serde::Deserialize;

use crate::{golden, naive};

#[derive(Deserialize)]
struct Row {
    id: u32,
    pattern: Vec<String>,
    state: Vec<String>,
    /// With a last, empty one.
    blocks: Vec<(usize, usize, usize)>,
    difflib_ratio: f64,
    matches: Vec<String>,
    past: Vec<String>,
    present: Vec<String>,
    missing_flat: Vec<String>,
    extras_flat: Vec<String>,
    n_blocks: usize,
    lcs: usize,
    char_similarity: f64,
    lcs_similarity: f64,
}

#[test]
fn recorded_rows_are_reproduced() {
    for row in golden::rows::<Row>(include_str!("../data/matching.jsonl")) {
        let id = row.id;
        let (pattern, state) = (&row.pattern[..], &row.state[..]);
        let blocks = matching_blocks(pattern, state);
        let (sentinel, expected) = row.blocks.split_last().unwrap();
        assert_eq!(as_triples(&blocks), expected, "blocks of {id}");
        assert_eq!(*sentinel, (pattern.len(), state.len(), 0), "end of {id}");
        assert_eq!(blocks.len(), row.n_blocks, "number of blocks of {id}");

        let total = pattern.len() + state.len();
        let matched: usize = blocks.iter().map(|block| block.len).sum();
        let ratio = if total == 0 {
            1.0
        } else {
            2.0 * matched as f64 / total as f64
        };
        assert_eq!(ratio, row.difflib_ratio, "ratio of {id}");
        let lcs = lcs_length(pattern, state);
        assert_eq!(lcs, row.lcs, "subsequence of {id}");
        // Recorded without the detour by 100 that predictions take.
        let similarity = token_similarity(lcs, total);
        assert!(
            golden::is_close(similarity, row.lcs_similarity),
            "token similarity of {id}"
        );
        let (x, y) = (pattern.join(" "), state.join(" "));
        assert_eq!(
            character_similarity(&x, &y),
            row.char_similarity,
            "character similarity of {id}"
        );

        let matches: Vec<String> = blocks
            .iter()
            .flat_map(|block| state[block.state_start..block.state_end()].to_vec())
            .collect();
        assert_eq!(matches, row.matches, "matches of {id}");
        let (start, end) = match (blocks.first(), blocks.last()) {
            (Some(first), Some(last)) => (first.pattern_start, last.pattern_end()),
            _ => (0, pattern.len()),
        };
        assert_eq!(pattern[..start], row.past, "past of {id}");
        assert_eq!(pattern[start..end], row.present, "present of {id}");
        // What the original tells by a diff are, in number, the symbols outside of blocks.
        assert_eq!(
            state.len() - matched,
            row.extras_flat.len(),
            "extras of {id}"
        );
        assert_eq!(
            end - start - matched,
            row.missing_flat.len(),
            "missing of {id}"
        );
    }
}

fn as_triples(blocks: &[MatchingBlock]) -> Vec<(usize, usize, usize)> {
    let triple = |block: &MatchingBlock| (block.pattern_start, block.state_start, block.len);
    blocks.iter().map(triple).collect()
}

/// Two sequences over few symbols, short, or long enough for the methods of long ones, related or
/// not.
fn pairs() -> impl Strategy<Value = (Vec<u8>, Vec<u8>)> {
    let symbols = |alphabet: u8, len: usize| vec(0..alphabet, 0..len);
    let unrelated = (1..6_u8, 1..30_usize)
        .prop_flat_map(move |(alphabet, len)| (symbols(alphabet, len), symbols(alphabet, len)));
    let long =
        (1..9_u8).prop_flat_map(move |alphabet| (symbols(alphabet, 160), symbols(alphabet, 160)));
    let edited = (
        vec(0..20_u8, 1..150),
        vec((any::<prop::sample::Index>(), 0..20_u8), 0..12),
    )
        .prop_map(|(original, edits)| {
            let mut copy = original.clone();
            for (idx, symbol) in edits {
                copy[idx.index(original.len())] = symbol;
            }
            (original, copy)
        });
    let periodic = (vec(0..3_u8, 1..5), 1..200_usize, 1..200_usize).prop_map(|(period, n, m)| {
        let repeat = |n| period.iter().copied().cycle().take(n).collect();
        (repeat(n), repeat(m))
    });
    prop_oneof![3 => unrelated, 2 => long, 1 => edited, 1 => periodic]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(
        if is_thorough() { 2000 } else { 500 }
    ))]

    #[test]
    fn blocks_are_those_of_the_textbook((a, b) in pairs()) {
        prop_assert_eq!(as_triples(&matching_blocks(&a, &b)), naive::blocks(&a, &b));
    }

    #[test]
    fn subsequences_are_as_long_as_those_of_the_textbook((a, b) in pairs()) {
        let expected = naive::lcs(&a, &b);
        prop_assert_eq!(lcs_length(&a, &b), expected);
        prop_assert_eq!(LcsProfile::new(&a).length(&b), expected);
        prop_assert_eq!(lcs_length(&b, &a), expected);
    }

    #[test]
    fn each_measure_bounds_the_next((a, b) in pairs()) {
        let lcs = lcs_length(&a, &b);
        let matched: usize = matching_blocks(&a, &b).iter().map(|block| block.len).sum();
        prop_assert!(naive::overlap(&a, &b) >= lcs);
        prop_assert!(lcs >= matched);
        prop_assert_eq!(lcs == 0, matched == 0);
    }

    #[test]
    fn blocks_are_common_runs_in_order((a, b) in pairs()) {
        let blocks = matching_blocks(&a, &b);
        for block in &blocks {
            prop_assert!(block.len > 0);
            prop_assert_eq!(&a[block.pattern_start..block.pattern_end()], &b[block.state_start..block.state_end()]);
        }
        for pair in blocks.windows(2) {
            let gaps = (
                pair[1].pattern_start.checked_sub(pair[0].pattern_end()),
                pair[1].state_start.checked_sub(pair[0].state_end()),
            );
            prop_assert!(matches!(gaps, (Some(p), Some(s)) if p + s > 0), "{:?}", pair);
        }
    }

    #[test]
    fn texts_are_as_alike_as_by_the_textbook(a in "[abc é😀]{0,90}", b in "[abc é😀]{0,90}") {
        let expected = naive::character_similarity(&a, &b);
        prop_assert_eq!(character_similarity(&a, &b), expected);
        prop_assert_eq!(CharacterProfile::new(&a).similarity(&b), expected);
        prop_assert!((0.0..=1.0).contains(&expected));
    }

    #[test]
    fn fuzzy_matches_are_the_first_best(
        pattern in vec("[abé]{0,4}", 0..8),
        state in vec("[abé]{0,4}", 0..8),
        threshold in 0.0..=1.0,
    ) {
        let (pattern, state) = (as_strs(&pattern), as_strs(&state));
        let expected: Vec<Option<FuzzyMatch>> = state
            .iter()
            .map(|symbol| {
                let mut best: Option<FuzzyMatch> = None;
                for (pattern_idx, expected) in pattern.iter().enumerate() {
                    let similarity = naive::character_similarity(expected, symbol);
                    if best.is_none_or(|best| similarity > best.similarity) {
                        best = Some(FuzzyMatch { pattern_idx, similarity });
                    }
                }
                best.filter(|best| best.similarity >= threshold)
            })
            .collect();
        prop_assert_eq!(fuzzy_matches(&pattern, &state, threshold), expected);
    }
}

fn as_strs(symbols: &[String]) -> Vec<&str> {
    symbols.iter().map(String::as_str).collect()
}

#[test]
fn a_long_run_is_taken_before_a_longer_subsequence() {
    let blocks = matching_blocks(b"abcdexyzw", b"xyabcd");
    assert_eq!(as_triples(&blocks), [(0, 2, 4)]);
    assert_eq!(
        as_triples(&matching_blocks(b"bbbbbbbab", b"babaaabbb"))
            .iter()
            .map(|b| b.2)
            .sum::<usize>(),
        3
    );
    assert_eq!(
        token_similarity(lcs_length(b"bbbbbbbab", b"babaaabbb"), 18),
        0.555_555_555_555_555_6
    );
}

#[test]
fn nothing_has_no_blocks_and_its_own_similarities() {
    assert_eq!(matching_blocks::<u8>(&[], &[]), []);
    assert_eq!(matching_blocks(&[1], &[]), []);
    assert_eq!(lcs_length::<u8>(&[], &[]), 0);
    assert_eq!(token_similarity(0, 0), 0.0);
    assert_eq!(character_similarity("", ""), 1.0);
    assert_eq!(character_similarity("", "a"), 0.0);
    assert!(LcsProfile::<u8>::new([]).is_empty());
}

#[test]
fn a_threshold_sees_the_original_s_doubles() {
    // One common character of five each: mathematically 0.2, in doubles less.
    assert_eq!(
        character_similarity("abcde", "avwxy"),
        0.199_999_999_999_999_96
    );
    assert_eq!(token_similarity(2, 6), 0.666_666_666_666_666_5);
}

#[test]
fn long_repetitive_sequences_take_bounded_time() {
    const N: usize = 100_000;
    let equal = vec![0_u32; N];
    assert_eq!(as_triples(&matching_blocks(&equal, &equal)), [(0, 0, N)]);
    assert_eq!(
        as_triples(&matching_blocks(&equal, &equal[1..])),
        [(0, 0, N - 1)]
    );
    assert_eq!(lcs_length(&equal, &equal[1..]), N - 1);

    // One symbol against the same with a different symbol after each: 50,000 blocks of length 1.
    let separated: Vec<u32> = (0..N as u32)
        .map(|i| if i % 2 == 0 { 0 } else { i })
        .collect();
    let blocks = matching_blocks(&equal, &separated);
    assert_eq!(blocks.len(), N / 2);

    let alternating: Vec<u32> = (0..N as u32).map(|i| i % 2).collect();
    let shifted: Vec<u32> = (0..N as u32).map(|i| (i + 1) % 2).collect();
    assert_eq!(
        as_triples(&matching_blocks(&alternating, &shifted)),
        [(0, 1, N - 1)]
    );

    // Blocks of length 1, 2, 3 ... inside each other, each with a separator of its own on either
    // side.
    let mut growing = (Vec::new(), Vec::new());
    for k in 1..440_u32 {
        growing
            .0
            .extend(std::iter::repeat_n(0, k as usize).chain([2 * k]));
        growing
            .1
            .extend(std::iter::repeat_n(0, k as usize).chain([2 * k + 1]));
    }
    assert!(matching_blocks(&growing.0, &growing.1).len() >= 439);

    let distinct: Vec<u32> = (0..N as u32).collect();
    let reversed: Vec<u32> = distinct.iter().rev().copied().collect();
    assert_eq!(
        as_triples(&matching_blocks(&distinct, &reversed)),
        [(0, N - 1, 1)]
    );
    assert_eq!(lcs_length(&distinct, &reversed), 1);
}
