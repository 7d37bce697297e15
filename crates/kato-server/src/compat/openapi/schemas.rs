//! The schemas of bodies and answers. They are those of the types of kato-protocol, but for bodies
//! that KATO takes wrapped or not.

use std::borrow::Cow;

use kato_engine::config::VectorEventMode;
use kato_model::KatoGeneration;
use kato_prediction::config::RankMetric;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

/// A function that returns the schema of a type, and tells the generator about it.
pub(super) type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// Returns the schema of a type.
pub(super) fn of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// The generators of a document. What must be there differs between what is read and what is
/// written.
#[derive(Debug)]
pub(super) struct Generators {
    pub(super) bodies: SchemaGenerator,
    pub(super) answers: SchemaGenerator,
}

impl Generators {
    /// Creates generators that know no type yet.
    pub(super) fn new() -> Self {
        let mut settings = SchemaSettings::draft2020_12();
        settings.definitions_path = "/components/schemas".into();
        // The defaults of types are for those who read answers; a server writes every field.
        let without_defaults = |schema: &mut Schema| drop(schema.remove("default"));
        let answers = settings.clone().for_serialize();
        Self {
            bodies: settings.for_deserialize().into_generator(),
            answers: answers
                .with_transform(RecursiveTransform(without_defaults))
                .into_generator(),
        }
    }

    /// Returns all schemas that were referred to, by name, for a generation.
    pub(super) fn into_schemas(mut self, generation: KatoGeneration) -> Map<String, Value> {
        let mut schemas = self.bodies.take_definitions(true);
        schemas.extend(self.answers.take_definitions(true));
        if let Some(properties) = schemas
            .get_mut("Settings")
            .and_then(|settings| settings["properties"].as_object_mut())
        {
            set_settings(properties, generation);
        }
        if generation.refuses_at_creation()
            && let Some(session) = schemas.get_mut("CreateSession")
        {
            let settings = json!({"$ref": "#/components/schemas/Settings"});
            session["properties"]["config"] = json!({"anyOf": [settings, {"type": "null"}]});
        }
        schemas
    }
}

/// Makes the settings those of a generation.
fn set_settings(properties: &mut Map<String, Value>, generation: KatoGeneration) {
    properties.retain(|name, _| match name.as_str() {
        "length_min_ratio" | "length_max_ratio" => !generation.has_no_length_filter(),
        "vector_event_mode" | "vector_search_limit" | "return_vector_search_results" => {
            generation.has_vector_settings()
        }
        _ => true,
    });
    if generation.needs_common_symbols() {
        let threshold = json!({"type": "number", "exclusiveMinimum": 0, "maximum": 1});
        properties["recall_threshold"] = threshold;
    }
    if generation.has_no_length_filter() {
        let filters = json!({"enum": ["minhash", "jaccard", "bloom", "rapidfuzz"]});
        properties["filter_pipeline"] = json!({"type": "array", "items": filters});
    }
    if generation.checks_all_settings() {
        let number = |min: f64, max: f64| json!({"type": ["number", "null"], "minimum": min, "maximum": max});
        for (name, range) in [
            ("fuzzy_token_threshold", number(0.0, 1.0)),
            ("length_min_ratio", number(0.0, 1.0)),
            ("length_max_ratio", number(1.0, f64::MAX)),
            ("jaccard_threshold", number(0.0, 1.0)),
            ("jaccard_min_overlap", number(1.0, f64::MAX)),
            ("minhash_threshold", number(0.0, 1.0)),
            ("minhash_bands", number(1.0, 100.0)),
            ("minhash_rows", number(1.0, 20.0)),
            ("minhash_num_hashes", number(10.0, 256.0)),
            ("bloom_false_positive_rate", number(0.0001, 0.1)),
            ("max_candidates_per_stage", number(100.0, f64::MAX)),
        ] {
            if let Some(setting) = properties.get_mut(name) {
                *setting = range;
            }
        }
    }
}

/// A change of a session's settings.
pub(super) struct ConfigChange;

impl JsonSchema for ConfigChange {
    fn schema_name() -> Cow<'static, str> {
        "ConfigChange".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        wrapped(
            "The settings, or the settings under the key config. Those that there are not are ignored.",
            "config",
            &generator.subschema_for::<Settings>(),
        )
    }
}

/// A change of a node's genes.
pub(super) struct GenesUpdate;

impl JsonSchema for GenesUpdate {
    fn schema_name() -> Cow<'static, str> {
        "GenesUpdate".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let any = json_schema!({"type": "object"});
        wrapped(
            "The genes, or the genes under the key genes.",
            "genes",
            &any,
        )
    }
}

/// Returns the schema of entries that may stand under a key instead, as KATO takes them.
fn wrapped(description: &str, key: &str, entries: &Schema) -> Schema {
    json_schema!({
        "description": description,
        "type": "object",
        // What stands beside the key is not looked at.
        "if": {"required": [key]},
        "then": {"properties": {key: entries}},
        "else": entries,
    })
}

/// A session's settings.
struct Settings;

impl JsonSchema for Settings {
    fn schema_name() -> Cow<'static, str> {
        "Settings".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        // The ranges are those that are checked when a session is changed.
        let range = |min: u64, max: u64| json!({"type": "integer", "minimum": min, "maximum": max});
        // `null` stands for the default of what KATO does not name when it refuses it.
        let number = || json!({"type": ["number", "null"]});
        // Half a thing counts, too.
        let count = || json!({"type": ["number", "null"], "minimum": 0});
        // What KATO does not look at.
        let anything = || json!({});
        let share = json!({"type": "number", "minimum": 0, "maximum": 1});
        let of_type = |name: &str| json!({"type": name});
        let names = json!({"type": "array", "items": {"type": "string"}});
        json_schema!({
            "type": "object",
            "properties": {
                "max_pattern_length": {"type": "integer", "minimum": 0},
                "persistence": range(1, 100),
                "recall_threshold": share,
                "indexer_type": {"enum": ["VI", "LSH", "ANNOY", "FAISS"]},
                "max_predictions": range(1, 10_000),
                "sort_symbols": anything(),
                "process_predictions": of_type("boolean"),
                "use_token_matching": of_type("boolean"),
                "fuzzy_token_threshold": number(),
                "stm_mode": of_type("string"),
                "vector_event_mode": {"enum": VectorEventMode::ALL},
                "vector_search_limit": range(1, 100),
                "return_vector_search_results": of_type("boolean"),
                "rank_sort_algo": {"enum": RankMetric::ALL},
                "affinity_emotive": anything(),
                "filter_pipeline": names,
                "length_min_ratio": number(),
                "length_max_ratio": number(),
                "jaccard_threshold": number(),
                "jaccard_min_overlap": count(),
                "minhash_threshold": number(),
                "minhash_bands": count(),
                "minhash_rows": count(),
                "minhash_num_hashes": count(),
                "bloom_false_positive_rate": number(),
                "max_candidates_per_stage": count(),
                "enable_filter_metrics": anything(),
            },
        })
    }
}
