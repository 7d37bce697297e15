//! Fuzz target for matching, compared with textbook versions.

use kato_prediction::matching::{
    CharacterProfile, LcsProfile, character_similarity, fuzzy_matches, lcs_length, matching_blocks,
    token_similarity,
};

use crate::input::Input;
use crate::naive;

/// Checks blocks, common subsequences and likeness of texts.
///
/// # Panics
///
/// When a promise of `kato_prediction::matching` is broken.
pub fn matching(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    if input.is_one_in(3) {
        texts(&mut input);
    } else {
        let (pattern, state) = sequences(&mut input);
        check_sequences(&pattern, &state);
    }
}

/// Makes two sequences over few symbols: unrelated, edited, or repetitive.
fn sequences(input: &mut Input<'_>) -> (Vec<u8>, Vec<u8>) {
    let n_symbols = 1 + input.below(9);
    // From about 64 symbols on, the methods for long sequences are used.
    let most = input.choose(&[8, 20, 40, 72]);
    let symbols = |input: &mut Input<'_>| input.list(most, |input| input.below(n_symbols) as u8);
    let pattern = symbols(input);
    let state = match input.below(3) {
        0 => symbols(input),
        1 => {
            let mut state = pattern.clone();
            for _ in 0..input.below(8) {
                let at = input.below(state.len());
                match input.below(3) {
                    0 => state.insert(at, input.below(n_symbols) as u8),
                    1 => drop(state.drain(at..state.len().min(at + 1))),
                    _ => state.rotate_left(at),
                }
            }
            state
        }
        _ => {
            let n = input.below(most);
            pattern.iter().take(5).copied().cycle().take(n).collect()
        }
    };
    (pattern, state)
}

/// Checks everything about two sequences.
fn check_sequences(pattern: &[u8], state: &[u8]) {
    let blocks = matching_blocks(pattern, state);
    let triples: Vec<_> = blocks
        .iter()
        .map(|block| (block.pattern_start, block.state_start, block.len))
        .collect();
    assert_eq!(triples, naive::blocks(pattern, state));

    let lcs = naive::lcs(pattern, state);
    assert_eq!(lcs_length(pattern, state), lcs);
    assert_eq!(lcs_length(state, pattern), lcs);
    assert_eq!(LcsProfile::new(pattern).length(state), lcs);

    // The search relies on these: blocks never match more than the common subsequence, and that
    // never more than the symbols in common.
    let matched: usize = blocks.iter().map(|block| block.len).sum();
    assert!(matched <= lcs && lcs <= naive::overlap(pattern, state));
    assert_eq!(matched == 0, lcs == 0);
    let similarity = token_similarity(lcs, pattern.len() + state.len());
    assert!((0.0..=1.0).contains(&similarity), "{similarity}");
}

/// Checks the likeness of texts, and which symbol is most like another.
fn texts(input: &mut Input<'_>) {
    let (a, b) = (input.text(), input.text());
    let similarity = naive::character_similarity(&a, &b);
    assert_eq!(character_similarity(&a, &b), similarity);
    assert_eq!(character_similarity(&b, &a), similarity);
    assert_eq!(CharacterProfile::new(&a).similarity(&b), similarity);
    assert!((0.0..=1.0).contains(&similarity), "{similarity}");

    let (pattern, state) = (input.list(6, Input::text), input.list(6, Input::text));
    let pattern: Vec<&str> = pattern.iter().chain([&b]).map(String::as_str).collect();
    let state: Vec<&str> = state.iter().chain([&a]).map(String::as_str).collect();
    let threshold = input.number();
    let found = fuzzy_matches(&pattern, &state, threshold);
    assert_eq!(found.len(), state.len());
    for (symbol, found) in state.iter().zip(found) {
        let likeness = |idx: usize| naive::character_similarity(pattern[idx], symbol);
        // Of equally good ones the first, as KATO takes it.
        let best = (1..pattern.len()).fold(0, |best, idx| {
            if likeness(idx) > likeness(best) {
                idx
            } else {
                best
            }
        });
        let expected = (likeness(best) >= threshold).then(|| (best, likeness(best)));
        assert_eq!(
            found.map(|found| (found.pattern_idx, found.similarity)),
            expected
        );
    }
}
