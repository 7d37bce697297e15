//! The settings of a run that are not the defaults.

use kato_learner::LearnerConfig;
use serde_json::{Map, Value};

/// Returns the settings that differ from the defaults for the same levels, by path.
pub(super) fn changed(config: &LearnerConfig) -> Map<String, Value> {
    let mut changed = Map::new();
    let default = LearnerConfig::new(config.nodes.clone());
    // Compared as JSON, so that every setting takes part without being named here.
    if let (Ok(default), Ok(config)) = (serde_json::to_value(default), serde_json::to_value(config))
    {
        collect("", &default, config, &mut changed);
    }
    changed
}

/// Collects the values that differ, with the path to each.
fn collect(path: &str, default: &Value, value: Value, changed: &mut Map<String, Value>) {
    match (default, value) {
        // Objects with other keys are other variants of an enum, which have no settings in common:
        // they are listed as a whole.
        (Value::Object(default), Value::Object(value)) if default.keys().eq(value.keys()) => {
            for (key, value) in value {
                let path = if path.is_empty() {
                    key.clone()
                } else {
                    format!("{path}.{key}")
                };
                collect(&path, &default[&key], value, changed);
            }
        }
        (default, value) if *default == value => {}
        (_, value) => drop(changed.insert(path.to_owned(), value)),
    }
}

/// Describes a setting's value.
pub(super) fn in_words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(parts) => {
            let parts: Vec<String> = parts
                .iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(key, value)| match key.as_str() {
                    "mode" => in_words(value),
                    _ => format!("{key} {}", in_words(value)),
                })
                .collect();
            parts.join(", ")
        }
        value => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use kato_learner::HierarchicalNode;
    use kato_learner::config::{Recording, TextMode};
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_differs_is_listed() {
        let mut config = LearnerConfig::new(vec![HierarchicalNode::new("node0", 3)]);
        assert_eq!(changed(&config), Map::new());
        config.min_paragraph_chars = 7;
        config.recording = Recording {
            provenance: true,
            metadata: false,
        };
        config.text_mode = TextMode::sentences();
        let changed = Value::Object(changed(&config));
        assert_eq!(changed["min_paragraph_chars"], json!(7));
        assert_eq!(changed["recording.provenance"], json!(true));
        assert_eq!(changed.as_object().map(Map::len), Some(3));
        assert_eq!(in_words(&changed["text_mode"]), "min_tokens 3, sentences");
    }
}
