//! Fuzz target for the index of a node: whatever it has learned in whatever order, it answers as a
//! full scan does.

mod knowledge;

use std::collections::BTreeSet;

use kato_model::{Event, KatoGeneration, PatternName};
use kato_prediction::config::{Filter, FilterSettings, RankMetric};
use kato_prediction::{PatternIndex, Prediction, PredictionConfig, Predictions};

use self::knowledge::Knowledge;
use crate::input::Input;

const FILTERS: [Filter; 5] = [
    Filter::Length,
    Filter::Jaccard,
    Filter::Minhash,
    Filter::Bloom,
    Filter::Rapidfuzz,
];

/// Checks indexes that are taught the same in different ways, by predictions for states with
/// settings of any value.
///
/// # Panics
///
/// When a promise of `kato_prediction::PatternIndex` is broken.
pub fn prediction(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let n_frequent = 2 + input.below(9);
    let knowledge = Knowledge::of(&mut input, n_frequent);
    let index = knowledge.as_told();
    knowledge.check(&index);
    let other = knowledge.told_backwards();
    knowledge.check(&other);
    for _ in 0..=input.below(3) {
        let state = input.events(n_frequent);
        let config = config(&mut input);
        let answer = index.predict(&state, &config);
        check(&index, &state, &config, &answer);
        assert_eq!(
            answer,
            index.predict_by_full_scan(&state, &config),
            "full scan: {state:?} {config:?}"
        );
        assert_eq!(
            answer,
            other.predict(&state, &config),
            "other order: {state:?} {config:?}"
        );
    }
}

/// Makes settings, about half of them odd in something.
fn config(input: &mut Input<'_>) -> PredictionConfig {
    let mut config = PredictionConfig {
        recall_threshold: input.choose(&[0.1, 0.0, 0.05, 0.3, 0.5, 1.0]),
        max_predictions: input.choose(&[100, 1, 2, 3, 5, 10]),
        use_token_matching: !input.is_one_in(4),
        single_symbol_token_matching: !input.is_one_in(4),
        rank_sort_algo: input.choose(&RankMetric::ALL),
        generation: input.choose(&[KatoGeneration::V3_10, KatoGeneration::V6]),
        ..PredictionConfig::default()
    };
    if input.is_one_in(4) {
        config.recall_threshold = input.number();
    }
    if input.is_one_in(8) {
        config.max_predictions = input.choose(&[0, 10_000, usize::MAX]);
    }
    if input.is_one_in(4) {
        config.fuzzy_token_threshold = Some(input.number());
    }
    if input.is_one_in(4) {
        config.affinity_emotive = Some(input.choose(&["joy", "awe", ""]).to_owned());
    }
    if input.is_one_in(3) {
        config.filter_pipeline = input.list(4, |input| input.choose(&FILTERS));
        config.filters = filters(input);
    }
    config
}

/// Makes settings of filters.
fn filters(input: &mut Input<'_>) -> FilterSettings {
    let ratio = |input: &mut Input<'_>, default: f64| match input.below(3) {
        0 => default,
        1 => input.below(20) as f64 / 10.0,
        _ => input.number(),
    };
    let count = |input: &mut Input<'_>| input.choose(&[0, 1, 2, 5, 20, 100, usize::MAX]);
    let defaults = FilterSettings::default();
    FilterSettings {
        length_min_ratio: ratio(input, defaults.length_min_ratio),
        length_max_ratio: ratio(input, defaults.length_max_ratio),
        jaccard_threshold: ratio(input, defaults.jaccard_threshold),
        jaccard_min_overlap: count(input),
        minhash_threshold: ratio(input, defaults.minhash_threshold),
        minhash_bands: count(input),
        minhash_rows: count(input),
        minhash_num_hashes: count(input),
    }
}

/// Checks an answer against what predictions promise.
fn check(index: &PatternIndex, state: &[Event], config: &PredictionConfig, answer: &Predictions) {
    let n_state = n_symbols(state);
    let generation = config.generation;
    // Up to 5.x a state of one symbol has answers of its own form.
    let is_flat = n_state == 1 && !generation.single_symbols_are_ordinary();
    let predictions = &answer.predictions;
    assert!(predictions.len() <= config.max_predictions);
    let names: BTreeSet<PatternName> = predictions.iter().map(|p| p.name).collect();
    assert_eq!(names.len(), predictions.len());
    for prediction in predictions {
        check_one(index, n_state, is_flat, prediction);
        // Nothing reaches a threshold of NaN, so that none may be predicted with it. A state of one
        // symbol has no threshold.
        let reaches = prediction.similarity >= config.recall_threshold;
        assert!(n_state == 1 || reaches, "{prediction:?}");
    }
    // Such a state is ranked by potential, whatever the settings say, as in KATO.
    let metric = match is_flat {
        true => RankMetric::Potential,
        false => config.rank_sort_algo,
    };
    let value = |p: &Prediction| p.metric(metric).unwrap_or(f64::NEG_INFINITY);
    // Strictly: ties go by name, so that there is only one right order.
    let in_order = |a: &Prediction, b: &Prediction| match generation.ties_descend() {
        true => (value(a), a.name) > (value(b), b.name),
        false => (value(b), a.name) < (value(a), b.name),
    };
    assert!(predictions.is_sorted_by(in_order));
    let futures = &answer.future_potentials;
    assert!(futures.is_sorted_by(|a, b| a.aggregate_potential >= b.aggregate_potential));
    let total: f64 = futures
        .iter()
        .map(|future| future.aggregate_potential)
        .sum();
    assert!(total < 1.0 + 1e-9, "{total}");
}

/// Checks a prediction against the index.
fn check_one(index: &PatternIndex, n_state: usize, is_flat: bool, prediction: &Prediction) {
    let p = prediction;
    assert_eq!(index.events(&p.name).as_ref(), Some(&p.sequence));
    assert_eq!(PatternName::of_events(&p.sequence), p.name);
    assert_eq!(index.frequency(&p.name), p.frequency);
    assert!(p.matches.len() <= n_state);
    assert_eq!(p.ensemble.is_some(), !is_flat);
    if !is_flat {
        assert_eq!([&p.past[..], &p.present, &p.future].concat(), p.sequence);
    }
    for metric in RankMetric::ALL {
        let value = p.metric(metric).unwrap_or_default();
        assert!(value.is_finite(), "{metric:?} {value} of {p:?}");
    }
    assert!((0.0..=1.0).contains(&p.similarity), "{p:?}");
    assert!((-1.0..=1.0).contains(&p.snr), "{p:?}");
}

/// Counts the symbols of some events.
fn n_symbols(events: &[Event]) -> usize {
    events.iter().map(Event::len).sum()
}
