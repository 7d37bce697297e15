//! The index answers as the oracle does, for random knowledge, states and settings.

use kato_model::emotives::mean_emotives;
use kato_model::{EmotiveMap, Event, KatoGeneration};
use kato_prediction::config::{Filter, FilterSettings, RankMetric};
use kato_prediction::{PatternIndex, Prediction, PredictionConfig, Predictions};
use kato_test_needs::is_thorough;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::golden;
use crate::oracle::{Answer, Answers, Future, Oracle, to_symbols};

/// Symbols that are alike only if equal, and symbols that are alike in all degrees.
const ALPHABETS: [[&str; 10]; 2] = [
    ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"],
    [
        "ab", "abc", "abd", "a b", "", "éb", "abcde", "b", "ba", "cde",
    ],
];

/// A symbol that no pattern has.
const UNKNOWN: &str = "abx";

const EMOTIVES: [&str; 2] = ["joy", "fear"];

#[derive(Debug)]
struct Lesson {
    events: Vec<Event>,
    times: usize,
    emotives: Vec<EmotiveMap>,
    /// What becomes of the index afterwards.
    seal: bool,
    finalize: bool,
    retire: bool,
}

#[derive(Debug)]
struct Case {
    lessons: Vec<Lesson>,
    states: Vec<Vec<Event>>,
    config: PredictionConfig,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(n_cases()))]

    #[test]
    fn the_index_answers_as_the_oracle(case in cases()) {
        let (index, oracle) = learn(&case.lessons);
        for state in &case.states {
            let actual = index.predict(state, &case.config);
            let expected = oracle.predict(state, &case.config);
            let metric = serde_json::to_value(case.config.rank_sort_algo).unwrap();
            check(&actual, &expected, metric.as_str().unwrap());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(n_cases()))]

    #[test]
    fn a_search_finds_what_a_scan_finds_in_every_generation(case in cases()) {
        let (index, _) = learn(&case.lessons);
        for generation in KatoGeneration::ALL {
            let config = PredictionConfig { generation, ..case.config.clone() };
            for state in &case.states {
                let found = index.predict(state, &config);
                prop_assert_eq!(found, index.predict_by_full_scan(state, &config));
            }
        }
    }
}

fn n_cases() -> u32 {
    if is_thorough() { 10_000 } else { 500 }
}

fn learn(lessons: &[Lesson]) -> (PatternIndex, Oracle) {
    let (mut index, mut oracle) = (PatternIndex::new(), Oracle::default());
    let (mut names, mut retired) = (Vec::new(), Vec::new());
    for lesson in lessons {
        for _ in 0..lesson.times {
            let name = index.learn(&lesson.events).unwrap();
            assert_eq!(oracle.learn(&lesson.events, &lesson.emotives), name);
            assert!(index.add_affinity(&name, &mean_emotives(&lesson.emotives)));
            names.push(name);
        }
        retired.extend(names.last().filter(|_| lesson.retire));
        if lesson.seal {
            index.seal();
        }
        if lesson.finalize {
            index.finalize();
            oracle.finalize();
        }
    }
    for name in names {
        assert!(index.set_emotives(&name, oracle.emotives(&name)));
    }
    index.set_retired(retired.iter().copied());
    retired.into_iter().for_each(|name| oracle.retire(name));
    (index, oracle)
}

fn cases() -> impl Strategy<Value = Case> {
    // How many symbols there are, from few to many: how much patterns have in common.
    (select(ALPHABETS.to_vec()), 2..=10_usize).prop_flat_map(|(alphabet, n_symbols)| {
        let symbols = move || {
            let draw = (0..n_symbols, 0..n_symbols);
            // The lesser of two: early symbols are frequent, as in text.
            draw.prop_map(move |(a, b)| alphabet[a.min(b)])
        };
        // Rarely longer than a machine word has bits.
        let learned = prop_oneof![
            99 => vec(event(symbols()), 1..7),
            1 => vec(event(symbols()), 40..90),
        ];
        let observed = prop_oneof![14 => symbols().boxed(), 1 => Just(UNKNOWN).boxed()];
        let state = prop_oneof![
            49 => vec(event(observed.clone()), 0..5),
            1 => vec(event(observed), 40..90),
        ];
        let lessons = vec(lesson(learned), 0..24);
        (lessons, vec(state, 1..4), config()).prop_map(|(lessons, states, config)| Case {
            lessons,
            states,
            config,
        })
    })
}

fn event(symbols: impl Strategy<Value = &'static str>) -> impl Strategy<Value = Event> {
    // Events of many decide how matches move.
    let n_symbols = prop_oneof![2 => Just(1_usize), 1 => 2..4_usize];
    (vec(symbols, 3), n_symbols).prop_map(|(symbols, n)| Event::new(symbols[..n].iter().copied()))
}

fn lesson(events: impl Strategy<Value = Vec<Event>>) -> impl Strategy<Value = Lesson> {
    let value = select(vec![-1.0, 0.0, 0.5, 2.0]);
    let map = vec((select(EMOTIVES.to_vec()), value), 0..3).prop_map(|pairs| {
        let pairs = pairs.into_iter();
        pairs.map(|(key, value)| (key.to_owned(), value)).collect()
    });
    let emotives = prop_oneof![2 => Just(Vec::new()).boxed(), 1 => vec(map, 0..3).boxed()];
    let rarely = || prop::bool::weighted(0.03);
    let times = prop_oneof![3 => Just(1_usize), 1 => 2..5_usize];
    (events, times, emotives, rarely(), rarely(), rarely()).prop_map(
        |(events, times, emotives, seal, finalize, retire)| Lesson {
            events,
            times,
            emotives,
            seal,
            finalize,
            retire,
        },
    )
}

prop_compose! {
    fn config()(
        generation in select(vec![KatoGeneration::V3_10, KatoGeneration::V6]),
        recall_threshold in prop_oneof![
            select(vec![0.0, 0.1, 0.2, 0.4, 0.5, 0.8, 1.0]).boxed(),
            (0.0..=1.0).boxed(),
        ],
        max_predictions in prop_oneof![5 => (1..=10_usize).boxed(), 1 => Just(100_usize).boxed()],
        use_token_matching in prop::bool::weighted(0.7),
        single_symbol_token_matching in prop::bool::weighted(0.7),
        fuzzy_token_threshold in option::weighted(0.3, select(vec![0.0, 0.3, 0.5, 0.7, 0.9, 1.0])),
        rank in any::<Index>(),
        affinity_emotive in option::weighted(0.3, select(vec!["joy", "fear", "awe"])),
        filter_pipeline in prop_oneof![
            3 => Just(Vec::new()).boxed(),
            1 => vec(select(vec![
                Filter::Length, Filter::Jaccard, Filter::Minhash, Filter::Bloom, Filter::Rapidfuzz,
            ]), 1..4).boxed(),
        ],
        filters in filters(),
    ) -> PredictionConfig {
        // What 6.3 refuses.
        let is_there = |filter: &Filter| {
            !generation.has_no_length_filter() || *filter != Filter::Length
        };
        let recall_threshold = match generation.needs_common_symbols() && recall_threshold == 0.0 {
            true => 0.01,
            false => recall_threshold,
        };
        let filter_pipeline = filter_pipeline.into_iter().filter(is_there).collect();
        PredictionConfig {
            generation,
            recall_threshold,
            max_predictions,
            use_token_matching,
            single_symbol_token_matching,
            fuzzy_token_threshold,
            rank_sort_algo: *rank.get(&RankMetric::ALL),
            affinity_emotive: affinity_emotive.map(str::to_owned),
            filter_pipeline,
            filters,
        }
    }
}

prop_compose! {
    fn filters()(
        length_min_ratio in select(vec![0.0, 0.25, 0.5, 1.0]),
        length_max_ratio in select(vec![0.0, 1.0, 1.5, 3.0]),
        jaccard_threshold in select(vec![0.0, 0.1, 0.5]),
        jaccard_min_overlap in 0..3_usize,
        minhash_threshold in select(vec![0.0, 0.1, 0.4]),
        minhash_bands in select(vec![0, 5, 20, 50]),
        minhash_rows in select(vec![0, 1, 2, 7]),
        minhash_num_hashes in select(vec![0, 10, 64, 100]),
    ) -> FilterSettings {
        FilterSettings {
            length_min_ratio,
            length_max_ratio,
            jaccard_threshold,
            jaccard_min_overlap,
            minhash_threshold,
            minhash_bands,
            minhash_rows,
            minhash_num_hashes,
        }
    }
}

fn check(actual: &Predictions, expected: &Answers, metric: &str) {
    let predictions: Vec<Answer> = actual.predictions.iter().map(answer).collect();
    let of = |answer: &Answer| (answer.name, answer.number(metric));
    same_order(&predictions, &expected.predictions, of);
    for actual in &predictions {
        let expected = expected.predictions.iter().find(|e| e.name == actual.name);
        same_fields(actual, expected.unwrap());
    }
    let futures: Vec<Future> = actual.future_potentials.iter().map(Future::of).collect();
    let of = |future: &Future| (future.events.clone(), Some(future.aggregate_potential));
    same_order(&futures, &expected.futures, of);
    for actual in &futures {
        let expected = expected.futures.iter().find(|e| e.events == actual.events);
        let expected = expected.unwrap();
        assert_eq!(actual.supporting_patterns, expected.supporting_patterns);
        let weights = |f: &Future| (f.aggregate_potential, f.total_weighted_frequency);
        let (a, b) = (weights(actual), weights(expected));
        assert!(is_near(a.0, b.0) && is_near(a.1, b.1), "{a:?} {b:?}");
    }
}

/// Checks that both lists have the same keys in the same order.
fn same_order<T, K: PartialEq + std::fmt::Debug>(
    actual: &[T],
    expected: &[T],
    key: impl Fn(&T) -> (K, Option<f64>),
) {
    let keys = |items: &[T]| items.iter().map(&key).collect::<Vec<_>>();
    let (actual, expected) = (keys(actual), keys(expected));
    let names = |keys: &[(K, Option<f64>)]| {
        keys.iter()
            .map(|(k, _)| format!("{k:?}"))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        names(&actual),
        names(&expected),
        "{actual:?} instead of {expected:?}"
    );
}

fn same_fields(actual: &Answer, expected: &Answer) {
    let lists = |answer: &Answer| {
        let Answer {
            frequency,
            emotives,
            matches,
            past,
            present,
            future,
            missing,
            extras,
            anomalies,
            sequence,
            ..
        } = answer.clone();
        let events = [past, present, future, missing, extras, sequence];
        (frequency, emotives, matches, events, anomalies)
    };
    assert_eq!(lists(actual), lists(expected));
    let keys = |answer: &Answer| answer.numbers.keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(actual), keys(expected));
    for (key, expected) in &expected.numbers {
        let is_same = match (actual.numbers[key], expected) {
            (Some(a), Some(b)) => is_near(a, *b),
            (a, b) => a == *b,
        };
        assert!(
            is_same,
            "{key}: {:?} instead of {expected:?}",
            actual.numbers[key]
        );
    }
}

fn is_near(a: f64, b: f64) -> bool {
    golden::is_within(1e-12, a, b)
}

fn answer(prediction: &Prediction) -> Answer {
    let p = prediction;
    let mut numbers = vec![
        ("similarity", Some(p.similarity)),
        ("evidence", Some(p.evidence)),
        ("confidence", Some(p.confidence)),
        ("snr", Some(p.snr)),
        ("fragmentation", Some(p.fragmentation)),
        ("potential", Some(p.potential)),
        ("weighted_similarity", p.weighted.similarity),
        ("weighted_evidence", p.weighted.evidence),
        ("weighted_confidence", p.weighted.confidence),
        ("weighted_snr", p.weighted.snr),
    ];
    if let Some(m) = &p.ensemble {
        numbers.extend([
            ("entropy", Some(m.entropy)),
            ("normalized_entropy", Some(m.normalized_entropy)),
            (
                "global_normalized_entropy",
                Some(m.global_normalized_entropy),
            ),
            ("itfdf_similarity", Some(m.itfdf_similarity)),
            ("tfidf_score", Some(m.tfidf_score)),
            ("confluence", Some(m.confluence)),
            ("predictive_information", Some(m.predictive_information)),
            ("pattern_probability", Some(m.pattern_probability)),
            ("weighted_strength", Some(m.weighted_strength)),
            ("bayesian_prior", Some(m.bayesian_prior)),
            ("bayesian_likelihood", Some(m.bayesian_likelihood)),
            ("bayesian_posterior", Some(m.bayesian_posterior)),
        ]);
    }
    if p.pre_potential.is_some() {
        numbers.push(("_pre_potential", p.pre_potential));
    }
    Answer {
        name: p.name,
        frequency: p.frequency,
        emotives: p.emotives.clone(),
        matches: p.matches.clone(),
        past: to_symbols(&p.past),
        present: to_symbols(&p.present),
        future: to_symbols(&p.future),
        missing: p.missing.clone(),
        extras: p.extras.clone(),
        anomalies: p
            .anomalies
            .iter()
            .map(|a| (a.observed.clone(), a.expected.clone(), a.similarity))
            .collect(),
        sequence: to_symbols(&p.sequence),
        numbers: numbers
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value))
            .collect(),
    }
}
