//! What settings may be, what is answered to anything else, and what they weigh.

use std::collections::BTreeMap;

use kato_engine::SessionConfig;
use kato_model::KatoGeneration::{V3_10, V6};
use kato_prediction::config::RankMetric;
use serde_json::{Map, Value, json};

use super::updated;

const FLAG: &str = "Must be a boolean (true/false)";
const SHARE: &str = "Must be a number between 0.0 and 1.0";

/// Settings that refuse anything, and what is answered then; beside the metric by which predictions rank.
const RULES: [(&str, &str); 21] = [
    ("max_pattern_length", "Must be a non-negative integer"),
    ("persistence", "Must be an integer between 1 and 100"),
    ("recall_threshold", SHARE),
    ("indexer_type", "Must be one of: VI, LSH, ANNOY, FAISS"),
    ("max_predictions", "Must be an integer between 1 and 10000"),
    ("process_predictions", FLAG),
    ("use_token_matching", FLAG),
    ("sort", FLAG),
    (
        "fuzzy_token_threshold",
        "Must be a number between 0.0 and 1.0, or null",
    ),
    ("stm_mode", "Must be a string"),
    (
        "filter_pipeline",
        "Must be a list of: length, jaccard, minhash, bloom, rapidfuzz",
    ),
    ("length_min_ratio", SHARE),
    ("length_max_ratio", "Must be a number of at least 1.0"),
    ("jaccard_threshold", SHARE),
    ("jaccard_min_overlap", "Must be a number of at least 1"),
    ("minhash_threshold", SHARE),
    ("minhash_bands", "Must be a number between 1 and 100"),
    ("minhash_rows", "Must be a number between 1 and 20"),
    ("minhash_num_hashes", "Must be a number between 10 and 256"),
    (
        "bloom_false_positive_rate",
        "Must be a number between 0.0001 and 0.1",
    ),
    (
        "max_candidates_per_stage",
        "Must be a number of at least 100",
    ),
];

/// Those that came later.
const RULES_OF_VECTORS: [(&str, &str); 3] = [
    (
        "vector_search_limit",
        "Must be an integer between 1 and 100",
    ),
    (
        "vector_event_mode",
        "Must be one of: neighbors_plus_self, self_only",
    ),
    ("return_vector_search_results", FLAG),
];

#[test]
fn every_setting_says_what_it_must_be() {
    let rank = RankMetric::ALL.map(|metric| json!(metric).as_str().unwrap().to_owned());
    let rank = format!("Must be one of: {}", rank.join(", "));
    let mut rows = BTreeMap::from(RULES);
    rows.insert("rank_sort_algo", &rank);
    // These take whatever they are given, and the first generation has no vector settings.
    let takes_all = ["sort_symbols", "affinity_emotive", "enable_filter_metrics"];
    let names = rows.keys().copied().chain(takes_all);
    let names = names.chain(RULES_OF_VECTORS.map(|(name, _)| name));
    let given: Map<_, _> = names.map(|name| (name.to_owned(), json!({}))).collect();
    let answered = |generation| {
        let error = SessionConfig::default()
            .update(&given, generation)
            .unwrap_err();
        error.messages().clone()
    };
    let expected = |rows: &BTreeMap<&str, &str>| -> BTreeMap<String, String> {
        let rows = rows.iter();
        rows.map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
            .collect()
    };
    assert_eq!(answered(V3_10), expected(&rows));
    rows.extend(RULES_OF_VECTORS);
    rows.retain(|name, _| !name.starts_with("length_"));
    rows.insert("filter_pipeline", "Must be a list of filter names");
    rows.insert(
        "recall_threshold",
        "Must be a number greater than 0.0 and at most 1.0. A threshold of 0 accepts every pattern regardless of similarity and is never a useful setting.",
    );
    assert_eq!(answered(V6), expected(&rows));
}

#[test]
fn what_is_empty_or_zero_counts_as_false() {
    for (values, truth) in [
        (
            [json!(0), json!(0.0), json!(""), json!([]), json!({})],
            false,
        ),
        (
            [
                json!(2),
                json!(0.5),
                json!("0"),
                json!([0]),
                json!({"a": 0}),
            ],
            true,
        ),
    ] {
        for value in values {
            let config = updated(&json!({"sort_symbols": value, "enable_filter_metrics": value}));
            let config = config.unwrap();
            let counts_as = (config.sort_symbols, config.enable_filter_metrics);
            assert_eq!(counts_as, (truth, truth), "{value}");
        }
    }
}

#[test]
fn what_settings_hold_is_weighed() {
    let long = "x".repeat(1000);
    let least = SessionConfig::default().heap_bytes();
    let weight = |changes: Value| updated(&changes).unwrap().heap_bytes() - least;
    let parts = [
        ("affinity_emotive", json!(long)),
        ("filter_pipeline", json!([long])),
        ("sort_symbols", json!(long)),
    ];
    let weights = parts
        .clone()
        .map(|(name, value)| weight(json!({name: value})));
    assert!(
        weights.iter().all(|bytes| (1_000..20_000).contains(bytes)),
        "{weights:?}"
    );
    let all = Value::Object(
        parts
            .map(|(name, value)| (name.to_owned(), value))
            .into_iter()
            .collect(),
    );
    assert_eq!(weight(all), weights.into_iter().sum::<usize>());
}
