//! The bits of the head are those that the head itself gives, asked token by token.

use kato_evaluation::EvaluationOptions;
use kato_head::{Expert, Head, HeadOptions, Weights};

use crate::support::{Lab, WORDS};

const TRAINING: [&str; 4] = ["a b c a b d", "a b c a b d", "a b c e", "b d e a b c"];
const HELD_OUT: [&str; 2] = ["a b c a b d a b c", "a b e x y z x y z"];

/// Returns the bits of all tokens of the held-out documents.
fn bits(head: &Head, experts: &[Expert]) -> f64 {
    let (mut weights, mut bits) = (Weights::new(), 0.0);
    for document in HELD_OUT {
        let mut history = head.history();
        for word in document.split(' ') {
            let next = head.next_by_experts(experts, &history, &weights, None);
            let probability = next
                .update_weights(&mut weights, head.symbol(word))
                .unwrap();
            bits -= probability.log2();
            head.read(&mut history, word);
        }
    }
    bits
}

#[test]
fn bits_are_those_of_the_head() {
    let lab = Lab::new(&TRAINING, &HELD_OUT, &[3, 2]);
    let report = lab.evaluate(&EvaluationOptions::default()).unwrap();
    let evaluated = report.head.unwrap();
    let engine = lab.engine();
    let store = engine.store().unwrap();
    let head =
        |options: HeadOptions| Head::from_store_with_vocabulary(&**store, WORDS, options).unwrap();
    let defaults = HeadOptions::default();
    let (node0, all) = (
        head(defaults.clone().with_levels(1)),
        head(defaults.clone()),
    );
    assert_eq!(evaluated.ngrams, all.n_ngrams() as u64);
    assert!(evaluated.ngrams > evaluated.ngrams_of_node0);
    let n_tokens = report.code_length.tokens as f64;
    assert_eq!(n_tokens, 18.0);
    for (found, expected) in [
        (evaluated.node0, bits(&node0, &[Expert::Ngrams])),
        (evaluated.all_levels, bits(&all, &[Expert::Ngrams])),
        (evaluated.with_cache, bits(&all, &defaults.experts)),
    ] {
        let found = found.bits_per_token.unwrap();
        assert!(
            (found - expected / n_tokens).abs() < 1e-12,
            "{found} {expected}"
        );
    }
    // What KATO expects is right more often than not, and what it is asked for is another matter
    // than the other three.
    assert_ne!(evaluated.with_kato, evaluated.with_cache);
    // Every position is an answer of the diagram.
    let answers: u64 = evaluated
        .calibration
        .bins
        .iter()
        .map(|bin| bin.right.of)
        .sum();
    let right: u64 = evaluated
        .calibration
        .bins
        .iter()
        .map(|bin| bin.right.count)
        .sum();
    assert_eq!((answers, right), (18, evaluated.top_1.count));
    assert!(evaluated.top_1.count <= evaluated.top_5.count);
    assert!((0.0..=1.0).contains(&evaluated.calibration.expected_error.unwrap()));
}

#[test]
fn without_a_head_nothing_else_changes() {
    let lab = Lab::new(&TRAINING, &HELD_OUT, &[3, 2]);
    let mut with = lab.evaluate(&EvaluationOptions::default()).unwrap();
    let mut options = EvaluationOptions::default();
    options.head = None;
    let without = lab.evaluate(&options).unwrap();
    assert!(without.head.is_none());
    with.head = None;
    assert_eq!(with, without);
}
