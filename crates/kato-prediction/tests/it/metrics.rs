//! Each formula by itself: worked values, edge cases, laws, and the fields of recorded predictions.

use std::collections::BTreeMap;

use kato_prediction::metrics::*;
use proptest::collection::vec;
use proptest::prelude::*;
use serde::Deserialize;
use serde_json::Map;

use crate::golden::{self, is_close};

/// Checks `(actual, expected)` pairs.
fn check(pairs: &[(f64, f64)]) {
    for (idx, (actual, expected)) in pairs.iter().enumerate() {
        assert!(
            is_close(*actual, *expected),
            "{actual} instead of {expected} in line {idx}"
        );
    }
}

#[test]
fn evidence_and_confidence_are_shares_of_pattern_and_present() {
    check(&[
        (evidence(2, 3), 2.0 / 3.0),
        (evidence(0, 3), 0.0),
        (evidence(0, 0), 0.0),
        (confidence(2, 2), 1.0),
        (confidence(3, 2), 1.5),
        (confidence(0, 0), 0.0),
    ]);
}

#[test]
fn snr_weighs_matches_twice() {
    check(&[
        (snr(2, 0), 1.0),
        (snr(2, 1), 0.6),
        (snr(2, 4), 0.0),
        (snr(0, 4), -1.0),
        (snr(0, 0), 0.0),
        (single_symbol_snr(1, 0), 1.0),
        (single_symbol_snr(1, 3), 0.25),
        (single_symbol_snr(0, 0), 0.0),
    ]);
}

#[test]
fn cohesion_is_one_by_the_number_of_blocks() {
    check(&[
        (fragmentation(0), -1.0),
        (fragmentation(1), 0.0),
        (fragmentation(3), 2.0),
        (cohesion(0), 0.0),
        (cohesion(1), 1.0),
        (cohesion(4), 0.25),
    ]);
}

#[test]
fn entropies_of_lists() {
    let half = 0.630_929_753_571_457_4;
    check(&[
        (entropy([1, 1]), 1.0),
        (entropy([1, 1, 1]), f64::log2(3.0)),
        (entropy([4]), 0.0),
        (entropy([]), 0.0),
        (entropy([0, 2, 0, 2]), 1.0),
        (normalized_entropy([1, 1], 3), half),
        (normalized_entropy([1, 1], 1), 0.0),
        (normalized_entropy([1, 1], 0), 0.0),
        (normalized_entropy([], 3), 0.0),
        (global_normalized_entropy([0.5, 0.5], 3), half),
        (global_normalized_entropy([1.0, 1.0], 3), 0.0),
        (
            global_normalized_entropy([1.0 / 3.0, 1.0 / 3.0], 3),
            2.0 / 3.0,
        ),
        (entropy_term(0.0, 5), 0.0),
        (entropy_term(0.5, 2), 0.5),
    ]);
    let zeros = [
        entropy([3]),
        entropy([]),
        entropy_term(1.0, 5),
        normalized_entropy([], 3),
        weighted_evidence(-0.0, 1.0),
    ];
    assert!(zeros.iter().all(|zero| zero.is_sign_positive()), "no -0");
}

#[test]
fn distances_and_what_is_made_of_them() {
    check(&[
        (cosine_distance([]), 1.0),
        (cosine_distance([(0.0, 1.0), (0.0, 2.0)]), 1.0),
        (
            cosine_distance([(1.0, 1.0), (0.0, 1.0)]),
            1.0 - f64::sqrt(0.5),
        ),
        (itfdf_similarity(0.5, 1, 2), 0.75),
        (itfdf_similarity(1.0, 1, 2), 0.5),
        (itfdf_similarity(0.5, 0, 0), 0.0),
    ]);
    // The recorded value of two and of three equal components.
    assert_eq!(
        1.0 - cosine_distance([(1.0, 1.0); 2]),
        0.999_999_999_999_999_8
    );
    assert_eq!(
        1.0 - cosine_distance([(1.0, 1.0); 3]),
        1.000_000_000_000_000_2
    );
}

#[test]
fn tfidf_is_a_mean_over_distinct_symbols() {
    check(&[
        (tfidf_score([(1, Some(1.0)), (1, Some(1.0))], 1), 0.5),
        (tfidf_score([(3, Some(0.5))], 8), 2.0),
        (tfidf_score([(1, None)], 8), 4.0),
        (tfidf_score([(1, Some(0.0))], 8), 4.0),
        (tfidf_score([], 8), 0.0),
        (tfidf_score([(1, Some(1.0))], 0), 0.0),
        // 15 of 22 patterns: the product is a little below 15, and cut to 14.
        (
            tfidf_score([(1, Some(15.0 / 22.0))], 22),
            f64::log2(22.0 / 14.0) + 1.0,
        ),
    ]);
}

#[test]
fn confluence_counts_every_position() {
    check(&[
        (confluence(1, 1, [1.0, 1.0]), 0.0),
        (confluence(2, 4, [0.5, 0.5]), 0.375),
        (confluence(1, 2, [0.0]), 0.5 * (1.0 - 1e-10)),
        (confluence(3, 1, [0.5]), 1.5),
        (confluence(1, 2, []), 0.0),
        (confluence(1, 0, [0.5]), 0.0),
    ]);
}

#[test]
fn shares_of_the_ensemble() {
    check(&[
        (pattern_probability(3, 4), 0.75),
        (pattern_probability(0, 0), 0.0),
        (weighted_strength(0.8, 3, 4), 0.6),
        (weighted_strength(0.8, 0, 0), 0.0),
        (aggregate_potential(2.4, 3.2), 0.75),
        (aggregate_potential(0.0, 0.0), 0.0),
        (predictive_information(0.6, Some(0.75)), 0.8),
        (predictive_information(0.6, None), 0.0),
        (predictive_information(0.0, Some(0.0)), 0.0),
        (bayesian_prior(1, 4), 0.25),
        (bayesian_posterior(0.8, 0.25, 0.8), 0.25),
        (bayesian_posterior(0.0, 0.25, 0.0), 0.0),
    ]);
}

#[test]
fn weights_by_affinity() {
    check(&[
        (affinity_weight(3.0, 2), 1.51),
        (affinity_weight(-3.0, 2), 1.51),
        (affinity_weight(0.0, 2), 0.01),
        (affinity_weight(3.0, 0), 0.01),
        (affinity_weight(f64::NAN, 2), 0.01),
        (weighted_evidence(0.5, 2.0), 0.25),
        (weighted_evidence(0.0, 0.0), 0.0),
        (weighted_confidence(0.5, 1.0), 0.5),
        (weighted_confidence(0.0, 0.0), 0.0),
        (weighted_snr(1.0, 3.0), 0.25),
        (weighted_snr(0.0, 0.0), 0.0),
    ]);
    assert_eq!(weighted_similarity(1.0, 2.0, 2.0), Some(0.5));
    assert_eq!(weighted_similarity(0.0, 0.0, 0.0), None);
}

proptest! {
    #[test]
    fn ranges_are_kept(m in 0..50_usize, e in 0..50_usize, more in 0..50_usize, blocks in 0..50_usize) {
        prop_assert!((-1.0..=1.0).contains(&snr(m, e)));
        prop_assert!((0.0..=1.0).contains(&single_symbol_snr(m, e)));
        prop_assert!((0.0..=1.0).contains(&evidence(m, m + more)));
        prop_assert!((0.0..=1.0).contains(&cohesion(blocks)));
        let score = pre_potential(evidence(m, m + more), confidence(m, m), snr(m, e), cohesion(blocks));
        prop_assert!((-2.0..=3.0).contains(&score));
    }

    #[test]
    fn entropy_is_greatest_for_equal_shares(counts in vec(1..20_usize, 1..10)) {
        let bits = entropy(counts.iter().copied());
        prop_assert!(bits > -1e-12 && bits <= (counts.len() as f64).log2() + 1e-12);
        let normalized = normalized_entropy(counts.iter().copied(), counts.len());
        let expected = if counts.len() > 1 { bits / (counts.len() as f64).log2() } else { 0.0 };
        prop_assert!(is_close(normalized, expected));
    }

    #[test]
    fn the_order_of_symbols_does_not_matter(
        (symbols, shuffled) in vec((1..9_usize, 0.0..=1.0), 1..12)
            .prop_flat_map(|symbols| (Just(symbols.clone()), Just(symbols).prop_shuffle())),
    ) {
        let values = |symbols: &[(usize, f64)]| {
            let counts = || symbols.iter().map(|&(count, _)| count);
            let probabilities = || symbols.iter().map(|&(_, p)| p);
            [
                entropy(counts()),
                normalized_entropy(counts(), 20),
                global_normalized_entropy(probabilities(), 20),
                tfidf_score(symbols.iter().map(|&(count, p)| (count, Some(p))), 20),
                confluence(1, 20, probabilities()),
                cosine_distance(symbols.iter().map(|&(count, p)| (count as f64, p))),
            ]
        };
        prop_assert_eq!(values(&symbols), values(&shuffled));
    }

    #[test]
    fn posteriors_sum_to_one(ensemble in vec((0.01..=1.0, 1..9_u64), 1..10)) {
        let total: u64 = ensemble.iter().map(|(_, frequency)| frequency).sum();
        let products = ensemble.iter().map(|&(s, f)| s * bayesian_prior(f, total));
        let evidence: f64 = products.sum();
        let posteriors = ensemble
            .iter()
            .map(|&(s, f)| bayesian_posterior(s, bayesian_prior(f, total), evidence));
        prop_assert!(is_close(posteriors.sum(), 1.0));
    }

    #[test]
    fn distance_does_not_depend_on_scale(pairs in vec((0.01..9.0, 0.01..9.0), 1..9), scale in 0.1..10.0) {
        let distance = cosine_distance(pairs.iter().copied());
        let scaled = cosine_distance(pairs.iter().map(|(a, b)| (a * scale, *b)));
        prop_assert!((distance - scaled).abs() < 1e-12);
        prop_assert!((-1e-12..=1.0).contains(&distance));
    }
}

#[derive(Deserialize)]
struct Row {
    id: String,
    config: Map<String, serde_json::Value>,
    #[serde(default)]
    finalize_training: bool,
    stm: Vec<Vec<String>>,
    kb: Vec<Known>,
    predictions: Vec<Recorded>,
}

#[derive(Deserialize)]
struct Known {
    pattern_data: Vec<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Recorded {
    Full(Box<Full>),
    /// Of a state of one symbol.
    #[expect(dead_code, reason = "another test checks its fields")]
    Flat(serde_json::Value),
}

#[derive(Deserialize)]
struct Full {
    frequency: u64,
    matches: Vec<String>,
    present: Vec<Vec<String>>,
    sequence: Vec<Vec<String>>,
    potential: f64,
    evidence: f64,
    confidence: f64,
    similarity: f64,
    snr: f64,
    fragmentation: f64,
    entropy: f64,
    normalized_entropy: f64,
    itfdf_similarity: f64,
    pattern_probability: f64,
    weighted_strength: f64,
    bayesian_prior: f64,
    bayesian_posterior: f64,
}

#[test]
fn fields_of_recorded_predictions_follow_from_each_other() {
    // Settings that change which formula makes a field, or hide a part of the ensemble.
    let others = [
        "fuzzy_token_threshold",
        "affinity_emotive",
        "max_predictions",
    ];
    let mut n_checked = 0;
    for row in golden::rows::<Row>(include_str!("../data/predictions.jsonl")) {
        if row.finalize_training || others.iter().any(|key| row.config.contains_key(*key)) {
            continue;
        }
        let predictions: Vec<&Full> = row
            .predictions
            .iter()
            .filter_map(|prediction| match prediction {
                Recorded::Full(full) => Some(&**full),
                Recorded::Flat(_) => None,
            })
            .collect();
        for prediction in &predictions {
            check_fields(&row, prediction, &predictions);
            n_checked += 1;
        }
    }
    assert!(n_checked > 200, "{n_checked}");
}

fn check_fields(row: &Row, p: &Full, ensemble: &[&Full]) {
    let present = p.present.concat();
    let mut counts: BTreeMap<&String, usize> = BTreeMap::new();
    present
        .iter()
        .for_each(|symbol| *counts.entry(symbol).or_default() += 1);
    let symbols: Vec<&String> = row
        .kb
        .iter()
        .flat_map(|known| known.pattern_data.iter().flatten())
        .collect();
    let n_symbols = symbols
        .into_iter()
        .collect::<std::collections::BTreeSet<_>>()
        .len();
    let n_matches = p.matches.len();
    let n_extras = row.stm.concat().len() - n_matches;
    let total: u64 = ensemble.iter().map(|other| other.frequency).sum();
    let mass = ensemble
        .iter()
        .map(|other| other.similarity * other.bayesian_prior)
        .sum();
    // No block has fragmentation -1.
    let n_blocks = (p.fragmentation + 1.0) as usize;
    let fields = [
        (
            "evidence",
            evidence(n_matches, p.sequence.concat().len()),
            p.evidence,
        ),
        (
            "confidence",
            confidence(n_matches, present.len()),
            p.confidence,
        ),
        ("snr", snr(n_matches, n_extras), p.snr),
        ("fragmentation", fragmentation(n_blocks), p.fragmentation),
        ("entropy", entropy(counts.values().copied()), p.entropy),
        (
            "normalized_entropy",
            normalized_entropy(counts.values().copied(), n_symbols),
            p.normalized_entropy,
        ),
        (
            "pattern_probability",
            pattern_probability(p.frequency, total),
            p.pattern_probability,
        ),
        (
            "weighted_strength",
            weighted_strength(p.similarity, p.frequency, total),
            p.weighted_strength,
        ),
        (
            "bayesian_prior",
            bayesian_prior(p.frequency, total),
            p.bayesian_prior,
        ),
        (
            "bayesian_posterior",
            bayesian_posterior(p.similarity, p.bayesian_prior, mass),
            p.bayesian_posterior,
        ),
        (
            "potential",
            potential(
                p.evidence,
                p.confidence,
                p.snr,
                p.itfdf_similarity,
                cohesion(n_blocks),
            ),
            p.potential,
        ),
    ];
    for (name, actual, expected) in fields {
        assert!(
            is_close(actual, expected),
            "{name} of {}: {actual} instead of {expected}",
            row.id
        );
    }
}
