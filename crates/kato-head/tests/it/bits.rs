//! Probabilities keep their bits, whichever way they are asked for.

use kato_head::{Expert, Head, HeadOptions, Weights};
use proptest::prelude::*;

use crate::support::{WORDS, documents, head_of, learner, memory_store};

/// Words that follow each other with some regularity, the same for ever.
fn text(n: usize, mut state: u32) -> Vec<&'static str> {
    let mut words = Vec::with_capacity(n);
    for _ in 0..n {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let drawn = state >> 24;
        let word = match drawn {
            0..160 => words.len() * 7 % 4,
            _ => drawn as usize % WORDS.len(),
        };
        words.push(WORDS[word]);
    }
    words
}

/// Scores words by asking at every position.
fn one_by_one(head: &Head, words: &[&str], weights: &mut Weights) -> Vec<f64> {
    let mut history = head.history();
    let mut scored = Vec::new();
    for word in words {
        let symbol = head.symbol(word);
        let probability = head.learn_weights(weights, &history, None, symbol);
        scored.push(probability.unwrap_or(-1.0));
        head.read_id(&mut history, symbol);
    }
    scored
}

/// Returns a number that is another one when any bit is.
fn digest(numbers: &[f64]) -> u64 {
    let mix = |hash: u64, number: &f64| {
        let hash = (hash ^ number.to_bits()).wrapping_mul(0x0000_0100_0000_01B3);
        hash ^ hash >> 29
    };
    numbers.iter().fold(0xCBF2_9CE4_8422_2325, mix)
}

#[test]
fn the_bits_are_those_that_they_always_were() {
    let learner = learner(&[3, 2, 2]);
    let documents: Vec<String> = (1..9).map(|seed| text(200, seed).join(" ")).collect();
    let store = memory_store(&learner, &documents);
    let plain = HeadOptions::default();
    let mut found = Vec::new();
    for options in [
        plain.clone(),
        plain.clone().with_cache_window(50),
        plain.clone().with_levels(1).with_order(3),
        plain.with_experts([Expert::Ngrams]),
    ] {
        let head = head_of(&store, &options);
        let scored = one_by_one(&head, &text(1500, 77), &mut Weights::new());
        assert!(scored.iter().all(|&probability| probability > 0.0));
        found.push(digest(&scored));
    }
    // Written down on the 28th of November 2026, before single tokens were scored without vectors.
    assert_eq!(found, GOLDEN);
}

const GOLDEN: [u64; 4] = [
    11_711_253_109_816_816_093,
    8_289_262_271_421_100_444,
    12_545_830_028_879_383_601,
    12_653_913_053_898_439_473,
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_scorer_gives_what_every_position_gives(
        documents in documents(),
        words in prop::collection::vec(prop::sample::select(&["a", "b", "c", "d", "e", "unknown"][..]), 0..120),
        window in 1..60usize,
        experts in prop::sample::subsequence(&[
            Expert::Ngrams, Expert::CachedSymbols, Expert::RecentSymbols,
            Expert::FittingSymbols, Expert::CachedPairs, Expert::CachedTriples,
        ][..], 0..=6),
        order in 1..6usize,
        is_open in any::<bool>(),
    ) {
        let learner = learner(&[3, 2, 2]);
        let store = memory_store(&learner, &documents);
        let options = HeadOptions::default().with_order(order).with_cache_window(window).with_experts(experts);
        let head = match is_open {
            true => Head::from_store(&store, options).unwrap(),
            false => head_of(&store, &options),
        };
        let symbols: Vec<_> = words.iter().map(|word| head.symbol(word)).collect();
        let mut weights = Weights::new();
        let expected = one_by_one(&head, &words, &mut weights);
        let mut scorer = head.scorer(Weights::new());
        let mut scored = Vec::new();
        scorer.score_all(&symbols, |probability| scored.push(probability.unwrap_or(-1.0)));
        prop_assert_eq!(digest(&scored), digest(&expected));
        prop_assert_eq!(scorer.weights(), &weights);
        let mut one_by_one = head.scorer(Weights::new());
        let scored: Vec<f64> = symbols.iter().map(|&symbol| one_by_one.score(symbol, None).unwrap_or(-1.0)).collect();
        prop_assert_eq!(digest(&scored), digest(&expected));
    }

    #[test]
    fn one_symbol_has_the_bits_that_it_has_among_all(
        documents in documents(),
        words in prop::collection::vec(prop::sample::select(&WORDS[..5]), 0..60),
        order in 1..6usize,
    ) {
        let learner = learner(&[3, 2]);
        let store = memory_store(&learner, &documents);
        let head = Head::from_store(&store, HeadOptions::default().with_order(order)).unwrap();
        let mut history = head.history();
        let mut weights = Weights::new();
        for word in &words {
            head.learn_weights(&mut weights, &history, None, head.symbol(word));
            head.read(&mut history, word);
        }
        let next = head.next(&history, &weights, None);
        let all = next.distribution();
        for symbol in WORDS.iter().filter_map(|word| head.symbol(word)) {
            prop_assert_eq!(next.probability(symbol).to_bits(), all.probability(symbol).to_bits());
        }
        prop_assert_eq!(next.of_unknown().to_bits(), all.of_unknown().to_bits());
    }
}
