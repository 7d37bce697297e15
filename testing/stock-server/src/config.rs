//! Settings of sessions: their defaults, what answers show of them, and which are refused.

use serde_json::{Map, Value, json};

use crate::values::Generation;

const ALGORITHMS: [&str; 20] = [
    "potential",
    "similarity",
    "evidence",
    "confidence",
    "snr",
    "fragmentation",
    "frequency",
    "normalized_entropy",
    "global_normalized_entropy",
    "itfdf_similarity",
    "confluence",
    "predictive_information",
    "bayesian_posterior",
    "bayesian_prior",
    "bayesian_likelihood",
    "tfidf_score",
    "weighted_similarity",
    "weighted_evidence",
    "weighted_confidence",
    "weighted_snr",
];
const INDEXERS: [&str; 4] = ["VI", "LSH", "ANNOY", "FAISS"];

/// Settings without a default.
const OPTIONAL: [&str; 2] = ["fuzzy_token_threshold", "affinity_emotive"];

/// Returns the settings of a session that has none of its own.
pub(crate) fn defaults(generation: Generation) -> Map<String, Value> {
    let mut defaults = json!({
        "max_pattern_length": 0, "persistence": 5, "recall_threshold": 0.1, "indexer_type": "VI", "max_predictions": 100,
        "sort_symbols": true, "process_predictions": true, "stm_mode": "CLEAR",
    });
    if generation != Generation::October2025 {
        let more = json!({
            "use_token_matching": true, "rank_sort_algo": "potential", "filter_pipeline": [], "length_min_ratio": 0.5,
            "length_max_ratio": 2.0, "jaccard_threshold": 0.3, "jaccard_min_overlap": 2, "minhash_threshold": 0.7,
            "minhash_bands": 20, "minhash_rows": 5, "minhash_num_hashes": 100, "bloom_false_positive_rate": 0.01,
            "max_candidates_per_stage": 100_000, "enable_filter_metrics": true,
        });
        merge(&mut defaults, more);
    }
    into_map(defaults)
}

/// Returns the settings that answers show: all that are in effect (3.10), or those that were set
/// (2025-10).
pub(crate) fn shown(generation: Generation, set: &Map<String, Value>) -> Map<String, Value> {
    match generation {
        Generation::V3_10 | Generation::V6_3 => {
            let mut shown = defaults(generation);
            shown.extend(set.clone());
            shown
        }
        Generation::October2025 => {
            let mut shown = set.clone();
            // 2025-10 leaves this one out, whether set or not.
            shown.remove("stm_mode");
            shown
        }
    }
}

/// Returns the settings of a new session: all that are known, or none if one of them is out of
/// range.
pub(crate) fn at_creation(
    generation: Generation,
    wanted: Map<String, Value>,
) -> Map<String, Value> {
    let mut known = known(generation, wanted);
    // Any other mode than `ROLLING` counts as `CLEAR`, which here is no error.
    if !rolls(&known) && known.contains_key("stm_mode") {
        known.insert("stm_mode".to_owned(), json!("CLEAR"));
    }
    // KATO drops the whole configuration without a word if one value is bad, and makes the session.
    match refusals(&known).is_empty() {
        true => known,
        false => Map::new(),
    }
}

/// Returns those of the settings that the generation knows.
pub(crate) fn known(generation: Generation, wanted: Map<String, Value>) -> Map<String, Value> {
    let defaults = defaults(generation);
    let is_known = |key: &str| {
        defaults.contains_key(key)
            || generation != Generation::October2025 && OPTIONAL.contains(&key)
    };
    wanted
        .into_iter()
        .filter(|(key, _)| is_known(key))
        .collect()
}

/// Returns why 3.10 refuses settings; nothing if it takes them.
pub(crate) fn refusals(wanted: &Map<String, Value>) -> Map<String, Value> {
    let refusal =
        |(key, value): (&String, &Value)| Some((key.clone(), json!(refusal(key, value)?)));
    wanted.iter().filter_map(refusal).collect()
}

/// Returns why 3.10 refuses a setting, in its words.
fn refusal(key: &str, value: &Value) -> Option<String> {
    // A boolean passes for a number.
    let integer = value.as_i64().or(value.as_bool().map(i64::from));
    let number = value.as_f64().or(integer.map(|n| n as f64));
    let within = |from: i64, to: i64| integer.is_some_and(|n| (from..=to).contains(&n));
    let one_of = |names: &[&str]| value.as_str().is_some_and(|name| names.contains(&name));
    let (is_good, message) = match key {
        "recall_threshold" => (
            number.is_some_and(|x| (0.0..=1.0).contains(&x)),
            "Must be a number between 0.0 and 1.0".to_owned(),
        ),
        "persistence" => (
            within(1, 100),
            "Must be an integer between 1 and 100".to_owned(),
        ),
        "max_pattern_length" => (
            within(0, i64::MAX),
            "Must be a non-negative integer".to_owned(),
        ),
        "max_predictions" => (
            within(1, 10_000),
            "Must be an integer between 1 and 10000".to_owned(),
        ),
        "indexer_type" => (
            one_of(&INDEXERS),
            format!("Must be one of: {}", INDEXERS.join(", ")),
        ),
        "rank_sort_algo" => (
            one_of(&ALGORITHMS),
            format!("Must be one of: {}", ALGORITHMS.join(", ")),
        ),
        "stm_mode" => (value.is_string(), "Must be a string".to_owned()),
        "sort" | "process_predictions" | "use_token_matching" => (
            value.is_boolean(),
            "Must be a boolean (true/false)".to_owned(),
        ),
        // Filters and fuzzy matching are not checked by KATO either.
        _ => return None,
    };
    (!is_good).then_some(message)
}

/// Returns after how many events a session learns automatically, 0 for never; `None` if the setting
/// is no such number.
pub(crate) fn max_pattern_length(set: &Map<String, Value>) -> Option<usize> {
    match set.get("max_pattern_length") {
        None => Some(0),
        Some(value) => value.as_u64().and_then(|n| usize::try_from(n).ok()),
    }
}

/// Returns whether the short-term memory keeps its last events after an automatic learn.
pub(crate) fn rolls(set: &Map<String, Value>) -> bool {
    set.get("stm_mode").and_then(Value::as_str) == Some("ROLLING")
}

/// Adds the fields of one object to another.
fn merge(to: &mut Value, from: Value) {
    if let Value::Object(to) = to {
        to.extend(into_map(from));
    }
}

/// Returns the fields of an object.
fn into_map(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}
