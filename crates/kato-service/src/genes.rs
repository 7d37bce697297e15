//! Genes: settings of a node, as the 2025-10 generation of KATO has them.

use kato_engine::SessionConfig;
use serde_json::{Map, Value, json};

/// Genes that have an effect: settings of sessions that have none of their own.
const EFFECTIVE: [&str; 3] = ["max_pattern_length", "stm_mode", "recall_threshold"];

/// The part of a node's genes that has an effect, each value on its own.
fn effective(genes: &Map<String, Value>) -> impl Iterator<Item = Map<String, Value>> {
    EFFECTIVE.iter().filter_map(|&name| {
        let value = genes.get(name)?.clone();
        Some(Map::from_iter([(name.to_owned(), value)]))
    })
}

/// Applies genes to settings, but for those that are a session's own; whether anything changed. Values that a session
/// refuses have no effect.
pub(crate) fn apply(
    genes: &Map<String, Value>,
    config: &mut SessionConfig,
    is_own: impl Fn(&str) -> bool,
) -> bool {
    let before = config.clone();
    for change in effective(genes) {
        if !change.keys().any(|name| is_own(name)) {
            // A gene may be anything; KATO takes it and fails later.
            let _ = config.update(&change);
        }
    }
    *config != before
}

/// The settings among these that genes would have an effect on: those that a session has of its own must be known, and no others.
pub(crate) fn shadowed(settings: &Map<String, Value>) -> impl Iterator<Item = String> {
    let own = EFFECTIVE
        .into_iter()
        .filter(|name| settings.contains_key(*name));
    own.map(str::to_owned)
}

/// All genes of a node that can be read: what was set over the defaults.
pub(crate) fn readable(
    processor_id: &str,
    node_id: &str,
    defaults: &SessionConfig,
    set: &Map<String, Value>,
) -> Map<String, Value> {
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
