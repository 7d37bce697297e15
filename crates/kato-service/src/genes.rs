//! Genes: settings of a node, as the 2025-10 generation of KATO has them.

use kato_engine::SessionConfig;
use kato_engine::config::SessionConfigChange;
use kato_model::KatoGeneration;
use serde_json::{Map, Value, json};

/// Genes that have an effect: settings of sessions that have none of their own.
const EFFECTIVE: [&str; 3] = ["max_pattern_length", "stm_mode", "recall_threshold"];

/// Returns the genes that have an effect, each as a change of settings of its own.
fn effective(genes: &Map<String, Value>) -> impl Iterator<Item = Map<String, Value>> {
    // One change a gene, because a change is taken as a whole: a value that is refused must not
    // take the others with it.
    EFFECTIVE.iter().filter_map(|&name| {
        let value = genes.get(name)?.clone();
        Some(Map::from_iter([(name.to_owned(), value)]))
    })
}

/// Applies genes to settings, except those that are a session's own; returns whether anything
/// changed. Values that a session refuses have no effect.
pub(crate) fn apply(
    genes: &Map<String, Value>,
    config: &mut SessionConfig,
    generation: KatoGeneration,
    is_own: impl Fn(&str) -> bool,
) -> bool {
    let before = config.clone();
    for change in effective(genes) {
        if !change.keys().any(|name| is_own(name)) {
            // A gene may be anything: KATO of October 2025 takes it, and fails when it is used.
            let _ = config.update(&change, generation);
        }
    }
    *config != before
}

/// Returns those of the settings of a change that genes would have an effect on: a session has to
/// know which of them are its own, and no others.
pub(crate) fn shadowed(change: &SessionConfigChange) -> impl Iterator<Item = String> + use<> {
    let settings = [
        ("max_pattern_length", change.max_pattern_length.is_some()),
        ("stm_mode", change.stm_mode.is_some()),
        ("recall_threshold", change.recall_threshold.is_some()),
    ];
    debug_assert_eq!(settings.map(|(name, _)| name), EFFECTIVE);
    let own = settings.into_iter().filter(|(_, is_set)| *is_set);
    own.map(|(name, _)| name.to_owned())
}

/// Returns all genes of a node that can be read: what was set over the defaults.
pub(crate) fn readable(
    processor_id: &str,
    node_id: &str,
    defaults: &SessionConfig,
    set: &Map<String, Value>,
) -> Map<String, Value> {
    // The names that `GET /gene/{name}` of KATO knows; `sort` is what sessions call `sort_symbols`.
    let defaults = json!({
        "name": node_id,
        "kb_id": processor_id,
        "indexer_type": defaults.indexer_type,
        "max_pattern_length": defaults.max_pattern_length,
        "persistence": defaults.persistence,
        "recall_threshold": defaults.recall_threshold,
        "stm_mode": defaults.stm_mode,
        "max_predictions": defaults.max_predictions,
        "sort": defaults.sort_symbols,
        "process_predictions": defaults.process_predictions,
    });
    let mut genes = match defaults {
        Value::Object(genes) => genes,
        _ => Map::new(),
    };
    genes.extend(set.clone());
    genes
}
