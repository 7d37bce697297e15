//! The variables of the environment by which a KATO is configured: what they mean here, and which mean
//! nothing.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use anyhow::Result;
use kato_engine::SessionConfig;
use kato_engine::config::SessionConfigChange;
use kato_model::KatoGeneration;
use kato_service::ServiceOptions;
use serde_json::{Map, Number, Value};

use crate::exit::bail_as;

/// Variables that set what sessions begin with, and the names of those settings.
const SETTINGS: [(&str, &str); 10] = [
    ("MAX_PATTERN_LENGTH", "max_pattern_length"),
    ("PERSISTENCE", "persistence"),
    ("RECALL_THRESHOLD", "recall_threshold"),
    ("STM_MODE", "stm_mode"),
    ("INDEXER_TYPE", "indexer_type"),
    ("MAX_PREDICTIONS", "max_predictions"),
    ("SORT_SYMBOLS", "sort_symbols"),
    ("PROCESS_PREDICTIONS", "process_predictions"),
    ("USE_TOKEN_MATCHING", "use_token_matching"),
    ("RANK_SORT_ALGO", "rank_sort_algo"),
];

/// Those that later generations read by a name with a prefix.
const PREFIXED: [(&str, &str); 2] = [
    ("KATO_USE_TOKEN_MATCHING", "use_token_matching"),
    ("KATO_FUZZY_TOKEN_THRESHOLD", "fuzzy_token_threshold"),
];

/// Variables of KATO that mean nothing here, and the option that does what they are for, if there is one.
const WITHOUT_MEANING: [(&str, &str); 22] = [
    ("KATO_WORKERS", "--workers"),
    ("KATO_LIMIT_CONCURRENCY", "--max-requests"),
    ("MAX_REQUEST_SIZE", "--max-body"),
    ("CORS_ORIGINS", "--allow-origin"),
    ("KATO_CONFIG_FILE", "--settings"),
    ("KATO_ENV_FILE", "--settings"),
    ("REDIS_URL", "--data"),
    ("CLICKHOUSE_HOST", "--data"),
    ("QDRANT_HOST", "--data"),
    ("KATO_USE_FAST_MATCHING", ""),
    ("KATO_USE_INDEXING", ""),
    ("KATO_USE_BLOOM_FILTER", ""),
    ("KATO_USE_REDIS_CACHE", ""),
    ("KATO_RECALL_BOUND_ENABLED", ""),
    ("KATO_RECALL_BOUND_AUDIT", ""),
    ("KATO_RECALL_BOUND_MAX_TOKEN_BYTES", ""),
    ("KATO_RECALL_BOUND_MAX_TOKENS", ""),
    ("KATO_DISTRIBUTED_STM_ENABLED", ""),
    ("KATO_WS_EVENTS_CHANNEL", ""),
    ("SESSION_COUNT_CACHE_TTL_SECONDS", ""),
    ("METRICS_CACHE_TTL_SECONDS", ""),
    ("MINHASH_HASH_FUNC", ""),
];

/// Sets what variables of the environment say of sessions and nodes. One that means nothing is logged.
///
/// `variable` returns the value of a variable that is set.
///
/// # Errors
///
/// When a value is none that KATO of the generation starts with; the error names the variable.
pub(super) fn configured(
    mut options: ServiceOptions,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<ServiceOptions> {
    let generation = options.generation();
    let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
    for (name, instead) in WITHOUT_MEANING {
        match instead {
            _ if variable(name).is_none() => {}
            "" => tracing::warn!("{name} has no effect on this server"),
            instead => tracing::warn!("{name} has no effect on this server: use {instead}"),
        }
    }
    let change = defaults(generation, variable)?;
    let engine = &mut options.engine;
    // Of the process, whatever a session sets.
    engine.sort_symbols = change.sort_symbols.unwrap_or(engine.sort_symbols);
    engine.rank_sort_algo = change.rank_sort_algo.unwrap_or(engine.rank_sort_algo);
    engine.use_token_matching = change
        .use_token_matching
        .unwrap_or(engine.use_token_matching);
    let window = change
        .persistence
        .and_then(|window| usize::try_from(window).ok());
    if let Some(window) = window.and_then(NonZeroUsize::new) {
        engine.attribute_limits.persistence = window;
    }
    options.defaults.apply(change);
    if let Some(value) = variable("SESSION_AUTO_EXTEND") {
        let Some(extends) = flag(&value) else {
            bail_as!(Usage, "SESSION_AUTO_EXTEND={value}: set true or false");
        };
        options.auto_extend = extends;
    }
    if let Some(name) = variable("SERVICE_NAME") {
        options = options.with_service_name(name);
    }
    Ok(options)
}

/// Reads the settings that sessions begin with.
fn defaults(
    generation: KatoGeneration,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<SessionConfigChange> {
    let mut prefixed = PREFIXED.iter();
    if !generation.reads_prefixed_variables() {
        prefixed = [].iter();
    }
    // What has a prefix comes last, and counts.
    let named = SETTINGS.iter().chain(prefixed);
    let given: Vec<_> = named
        .filter_map(|&(name, setting)| Some((name, setting, variable(name)?)))
        .collect();
    let types = SessionConfig::default().settings(KatoGeneration::V6);
    let value = |setting: &str, text: &str| read(types.get(setting), text);
    let values = given.iter();
    let values: Map<String, Value> = values
        .map(|(_, setting, text)| ((*setting).to_owned(), value(setting, text)))
        .collect();
    let refused_here = values.iter().filter_map(|(setting, value)| {
        let message = refused_by_a_process(setting, value)?;
        Some((setting.clone(), message.to_owned()))
    });
    let refused_here: BTreeMap<_, _> = refused_here.collect();
    let refused = match SessionConfigChange::at_creation(&values, generation) {
        Ok(mut change) if refused_here.is_empty() => {
            // In a session one of them sets the other.
            change.sort_symbols = change
                .sort_symbols
                .filter(|_| values.contains_key("sort_symbols"));
            return Ok(change);
        }
        Ok(_) => refused_here,
        Err(error) => error.messages().clone(),
    };
    let faults = given.iter().filter_map(|(name, setting, text)| {
        let message = refused.get(*setting)?;
        Some(format!("{name}={text}: {message}"))
    });
    bail_as!(Usage, "{}", faults.collect::<Vec<_>>().join("\n"))
}

/// Returns what a value must be that a session may have and with which no process starts.
fn refused_by_a_process(setting: &str, value: &Value) -> Option<&'static str> {
    match setting {
        "stm_mode" if *value != "CLEAR" && *value != "ROLLING" => Some("Must be CLEAR or ROLLING"),
        "sort_symbols" if !value.is_boolean() => Some("Must be a boolean (true/false)"),
        _ => None,
    }
}

/// Reads a value as one of a type, of which another value is given; what cannot be read is a text.
fn read(like: Option<&Value>, text: &str) -> Value {
    let as_text = || Value::from(text);
    match like {
        Some(Value::Bool(_)) => flag(text).map_or_else(as_text, Value::from),
        Some(Value::Number(_)) => {
            serde_json::from_str::<Number>(text).map_or_else(|_| as_text(), Value::from)
        }
        _ => as_text(),
    }
}

/// Reads what KATO takes for true and false.
fn flag(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "y" | "on" | "t" => Some(true),
        "false" | "0" | "no" | "n" | "off" | "f" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use KatoGeneration::{V3_10, V6};

    use super::*;

    fn options(
        generation: KatoGeneration,
        variables: &[(&str, &str)],
    ) -> Result<ServiceOptions, String> {
        let options = ServiceOptions::default().with_generation(generation);
        let value = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        configured(options, value).map_err(|error| error.to_string())
    }

    #[test]
    fn sessions_begin_with_what_is_set() {
        let set = [
            ("RECALL_THRESHOLD", "0.5"),
            ("MAX_PREDICTIONS", "7"),
            ("STM_MODE", "ROLLING"),
            ("SORT_SYMBOLS", "off"),
            ("RANK_SORT_ALGO", "similarity"),
            ("PERSISTENCE", "9"),
            ("SERVICE_NAME", "mine"),
            ("SESSION_AUTO_EXTEND", "0"),
            ("INDEXER_TYPE", ""),
        ];
        let options = options(V6, &set).unwrap();
        let settings = options.defaults.settings(V6);
        let expected = SessionConfig::default().settings(V6);
        for (name, value) in &settings {
            let changed = match name.as_str() {
                "recall_threshold" => Value::from(0.5),
                "max_predictions" => Value::from(7),
                "stm_mode" => Value::from("ROLLING"),
                "sort_symbols" => Value::from(false),
                "rank_sort_algo" => Value::from("similarity"),
                "persistence" => Value::from(9),
                name => expected[name].clone(),
            };
            assert_eq!(*value, changed, "{name}");
        }
        assert!(!options.engine.sort_symbols && !options.auto_extend);
        assert_eq!(options.engine.attribute_limits.persistence.get(), 9);
        assert_eq!(options.service_name, "mine");
    }

    #[test]
    fn similarity_by_characters_leaves_the_order_of_symbols() {
        for (generation, name, is_read) in [
            (V3_10, "USE_TOKEN_MATCHING", true),
            (V3_10, "KATO_USE_TOKEN_MATCHING", false),
            (V6, "KATO_USE_TOKEN_MATCHING", true),
        ] {
            let options = options(generation, &[(name, "false")]).unwrap();
            assert_eq!(options.engine.use_token_matching, !is_read, "{name}");
            assert_eq!(options.defaults.use_token_matching, !is_read, "{name}");
            assert!(options.engine.sort_symbols && options.defaults.sort_symbols);
        }
    }

    #[test]
    fn what_kato_does_not_start_with_is_refused_by_name() {
        let threshold = [("RECALL_THRESHOLD", "0")];
        assert!(options(V3_10, &threshold).is_ok());
        let error = options(V6, &threshold).unwrap_err();
        assert!(error.starts_with("RECALL_THRESHOLD=0: Must be a number greater than 0.0"));
        for (name, value, expected) in [
            ("STM_MODE", "rolling", "Must be CLEAR or ROLLING"),
            (
                "MAX_PREDICTIONS",
                "many",
                "Must be an integer between 1 and 10000",
            ),
            ("SORT_SYMBOLS", "2", "Must be a boolean (true/false)"),
            ("SESSION_AUTO_EXTEND", "x", "set true or false"),
        ] {
            let error = options(V6, &[(name, value)]).unwrap_err();
            assert_eq!(error, format!("{name}={value}: {expected}"));
        }
    }
}
