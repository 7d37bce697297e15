//! What a server of a generation would not take, or not as it is meant, told before it is sent.

use kato_model::KatoGeneration;
use kato_model::naming::processor_id_in;
use serde_json::{Map, Value};

use crate::ClientError;

/// Tells whether a generation looks at a setting.
type LooksAt = fn(KatoGeneration) -> bool;

/// The numbers that a setting may be, and the generations that look at it.
const RANGES: [(&str, f64, f64, LooksAt); 16] = [
    // The oldest takes whatever a running session is given, which is how settings reach it that it drops of a
    // new one.
    (
        "recall_threshold",
        0.0,
        1.0,
        KatoGeneration::keeps_sessions_apart,
    ),
    (
        "max_pattern_length",
        0.0,
        f64::INFINITY,
        KatoGeneration::keeps_sessions_apart,
    ),
    (
        "max_predictions",
        1.0,
        10_000.0,
        KatoGeneration::keeps_sessions_apart,
    ),
    (
        "persistence",
        1.0,
        100.0,
        KatoGeneration::keeps_sessions_apart,
    ),
    (
        "vector_search_limit",
        1.0,
        100.0,
        KatoGeneration::has_vector_settings,
    ),
    (
        "fuzzy_token_threshold",
        0.0,
        1.0,
        KatoGeneration::checks_all_settings,
    ),
    ("length_min_ratio", 0.0, 1.0, looks_at_lengths),
    ("length_max_ratio", 1.0, f64::INFINITY, looks_at_lengths),
    (
        "jaccard_threshold",
        0.0,
        1.0,
        KatoGeneration::checks_all_settings,
    ),
    (
        "jaccard_min_overlap",
        1.0,
        f64::INFINITY,
        KatoGeneration::checks_all_settings,
    ),
    (
        "minhash_threshold",
        0.0,
        1.0,
        KatoGeneration::checks_all_settings,
    ),
    (
        "minhash_bands",
        1.0,
        100.0,
        KatoGeneration::checks_all_settings,
    ),
    (
        "minhash_rows",
        1.0,
        20.0,
        KatoGeneration::checks_all_settings,
    ),
    (
        "minhash_num_hashes",
        10.0,
        256.0,
        KatoGeneration::checks_all_settings,
    ),
    (
        "bloom_false_positive_rate",
        0.0001,
        0.1,
        KatoGeneration::checks_all_settings,
    ),
    (
        "max_candidates_per_stage",
        100.0,
        f64::INFINITY,
        KatoGeneration::checks_all_settings,
    ),
];

const fn looks_at_lengths(generation: KatoGeneration) -> bool {
    generation.checks_all_settings() && !generation.has_no_length_filter()
}

/// Fails for settings that a server of this generation does not take, now or in a new session; where the
/// generation is not known yet, for those that no later one than 2025-10 takes.
///
/// Some servers drop all settings of a new session when one is out of range, without a word.
pub(crate) fn settings(
    config: &Map<String, Value>,
    generation: Option<KatoGeneration>,
) -> Result<(), ClientError> {
    for (field, least, most, looks_at) in RANGES {
        let is_checked = looks_at(generation.unwrap_or(KatoGeneration::V3_10));
        let value = config.get(field).filter(|_| is_checked);
        // What is no number the server refuses itself, by name.
        let number = value.and_then(Value::as_f64);
        let Some(number) = number.filter(|number| !(least..=most).contains(number)) else {
            continue;
        };
        let reason = match most {
            f64::INFINITY => format!("{number} is below {least}"),
            _ => format!("{number} is not from {least} to {most}"),
        };
        return Err(ClientError::Config { field, reason });
    }
    let Some(generation) = generation else {
        return Ok(());
    };
    let has_zero = config.get("recall_threshold").and_then(Value::as_f64) == Some(0.0);
    if has_zero && generation.needs_common_symbols() {
        let reason = format!("a KATO {generation} takes none of 0; leave it out for its default");
        let field = "recall_threshold";
        return Err(ClientError::Config { field, reason });
    }
    let filters = config.get("filter_pipeline").and_then(Value::as_array);
    let has_length = filters.is_some_and(|filters| filters.contains(&"length".into()));
    if has_length && generation.has_no_length_filter() {
        let reason = format!("a KATO {generation} has no filter \"length\"; leave it out");
        let field = "filter_pipeline";
        return Err(ClientError::Config { field, reason });
    }
    Ok(())
}

/// Fails for a node id that a server makes another one of, which several ids may share.
pub(crate) fn node_id(node_id: &str, generation: KatoGeneration) -> Result<(), ClientError> {
    // One by one, as a long id is shortened, which shares nothing.
    let kept = |c: char| processor_id_in(generation, c.encode_utf8(&mut [0; 4]), "");
    let stored: String = node_id
        .chars()
        .flat_map(|c| kept(c).chars().next())
        .collect();
    if stored == node_id {
        return Ok(());
    }
    Err(ClientError::Config {
        field: "node_id",
        reason: format!(
            "a KATO {generation} makes {stored:?} of {node_id:?}, and all ids of which it makes the same share a \
             knowledge base; use {stored:?}, or allow it with SessionOptions::with_shared_node_id"
        ),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use KatoGeneration as G;

    #[test]
    fn settings_are_those_that_the_generation_takes() {
        let all = Some(G::V3_10);
        let newest = Some(G::V6);
        for (config, generation, refused) in [
            (json!({"recall_threshold": 0.0}), None, None),
            (json!({"recall_threshold": 0.0}), all, None),
            (
                json!({"recall_threshold": 0.0}),
                newest,
                Some("recall_threshold"),
            ),
            (
                json!({"recall_threshold": 1.1}),
                None,
                Some("recall_threshold"),
            ),
            (json!({"recall_threshold": 1}), newest, None),
            (json!({"max_predictions": 0}), None, Some("max_predictions")),
            (json!({"max_predictions": 10_000}), newest, None),
            (json!({"persistence": 101}), all, Some("persistence")),
            (json!({"persistence": 101}), Some(G::October2025), None),
            (
                json!({"vector_search_limit": 101}),
                newest,
                Some("vector_search_limit"),
            ),
            (json!({"vector_search_limit": 101}), all, None),
            (json!({"filter_pipeline": ["jaccard", "length"]}), all, None),
            (
                json!({"filter_pipeline": ["jaccard", "length"]}),
                newest,
                Some("filter_pipeline"),
            ),
            (json!({"zzz": -1, "recall_threshold": null}), newest, None),
        ] {
            let found = settings(config.as_object().unwrap(), generation);
            let field = match found {
                Ok(()) => None,
                Err(ClientError::Config { field, .. }) => Some(field),
                Err(error) => panic!("{error}"),
            };
            assert_eq!(field, refused, "{config} {generation:?}");
        }
    }

    #[test]
    fn ids_that_would_meet_are_refused_by_the_generations_that_change_them() {
        let long = "x".repeat(100);
        for generation in G::ALL {
            for kept in ["node0", "A_b", "", &long] {
                assert!(node_id(kept, generation).is_ok(), "{kept}");
            }
            for changed in ["a-b", "a.b", "a b", "a/b"] {
                assert!(node_id(changed, generation).is_err(), "{changed}");
            }
            for some in ["me@et", "me#et", "ä", "a\tb"] {
                let is_changed = generation.processor_ids_are_words();
                assert_eq!(node_id(some, generation).is_err(), is_changed, "{some}");
            }
        }
        let text = node_id("me@et", G::V6).unwrap_err().to_string();
        assert!(text.contains("use \"me_et\""), "{text}");
    }
}
