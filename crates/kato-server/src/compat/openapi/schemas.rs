//! The schemas of bodies and answers.

use serde_json::{Map, Value, json};

/// Returns all schemas by name.
pub(super) fn all() -> Value {
    let mut all = Map::new();
    for group in [errors(), lifecycle(), work(), nodes(), other()] {
        if let Value::Object(group) = group {
            all.extend(group);
        }
    }
    Value::Object(all)
}

/// Returns the schema of an object; fields whose names begin with `~` are optional.
fn object(fields: &[(&str, Value)]) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for (name, schema) in fields {
        let (bare, is_required) = match name.strip_prefix('~') {
            Some(bare) => (bare, false),
            None => (*name, true),
        };
        if is_required {
            required.push(bare);
        }
        properties.insert(bare.to_owned(), schema.clone());
    }
    json!({"type": "object", "properties": properties, "required": required})
}

/// Returns the schema of a type of JSON.
fn of_type(name: &str) -> Value {
    json!({"type": name})
}

fn text() -> Value {
    of_type("string")
}

fn integer() -> Value {
    of_type("integer")
}

fn number() -> Value {
    of_type("number")
}

fn flag() -> Value {
    of_type("boolean")
}

/// Returns the schema of an object with any keys and values.
fn any_map() -> Value {
    json!({"type": "object", "additionalProperties": true})
}

/// Returns the schema of an object whose values have one schema.
fn map_of(value: &Value) -> Value {
    json!({"type": "object", "additionalProperties": value})
}

/// Returns the schema of a list.
fn list_of(items: &Value) -> Value {
    json!({"type": "array", "items": items})
}

/// Returns the schema of a value that may be null.
fn nullable(schema: &Value) -> Value {
    json!({"anyOf": [schema, {"type": "null"}]})
}

/// Adds a default to a schema.
fn defaulting(mut schema: Value, default: Value) -> Value {
    schema["default"] = default;
    schema
}

/// Returns a reference to a schema by its name.
fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

fn events() -> Value {
    list_of(&list_of(&text()))
}

fn emotives() -> Value {
    map_of(&number())
}

fn errors() -> Value {
    let place = json!({"anyOf": [{"type": "string"}, {"type": "integer"}]});
    json!({
        "ErrorBody": {"anyOf": [
            object(&[("detail", json!({"anyOf": [{"type": "string"}, {"type": "object"}]}))]),
            object(&[("error", object(&[("code", text()), ("message", text()), ("session_id", text())]))]),
        ]},
        "HTTPValidationError": object(&[("detail", list_of(&reference("ValidationError")))]),
        "ValidationError": object(&[
            ("loc", list_of(&place)), ("msg", text()), ("type", text()), ("~input", json!({})), ("~ctx", any_map()),
        ]),
    })
}

fn lifecycle() -> Value {
    json!({
        "CreateSession": object(&[
            ("node_id", text()),
            ("~metadata", nullable(&any_map())),
            ("~ttl_seconds", nullable(&integer())),
            ("~config", nullable(&any_map())),
        ]),
        "Session": object(&[
            ("session_id", text()), ("node_id", text()), ("created_at", text()), ("expires_at", text()),
            ("ttl_seconds", integer()), ("metadata", any_map()), ("session_config", any_map()),
        ]),
        "SessionCount": object(&[("active_session_count", integer())]),
        "Exists": object(&[("exists", flag()), ("expired", flag()), ("session_id", text())]),
        "Deleted": object(&[("status", text()), ("session_id", text())]),
        "Config": object(&[("session_id", text()), ("config", any_map())]),
        "ConfigChange": {
            "description": "The settings, or the settings under the key config.",
            "type": "object",
            "additionalProperties": true,
        },
        "ConfigUpdated": object(&[("status", text()), ("message", text()), ("session_id", text())]),
        "Extended": object(&[("status", text()), ("session_id", text()), ("ttl_seconds", integer())]),
        "Cleared": object(&[("status", text()), ("session_id", text()), ("~scope", text())]),
    })
}

fn work() -> Value {
    let observation = [
        ("~strings", defaulting(list_of(&text()), json!([]))),
        (
            "~vectors",
            defaulting(list_of(&list_of(&number())), json!([])),
        ),
        ("~emotives", defaulting(emotives(), json!({}))),
        ("~metadata", defaulting(any_map(), json!({}))),
    ];
    let mut item = observation.to_vec();
    item.push(("~unique_id", nullable(&text())));
    let off = || defaulting(flag(), json!(false));
    json!({
        "Observation": object(&observation),
        "SequenceItem": object(&item),
        "Sequence": object(&[
            ("observations", list_of(&reference("SequenceItem"))),
            ("~learn_after_each", off()), ("~learn_at_end", off()), ("~clear_stm_between", off()),
        ]),
        "ObservationResult": object(&[
            ("status", text()), ("session_id", text()), ("processor_id", text()), ("stm_length", integer()),
            ("time", integer()), ("unique_id", text()), ("auto_learned_pattern", nullable(&text())),
        ]),
        "SequenceItemResult": object(&[
            ("status", text()), ("sequence_position", integer()), ("stm_length", integer()), ("time", integer()),
            ("unique_id", text()), ("auto_learned_pattern", nullable(&text())),
        ]),
        "SequenceResult": object(&[
            ("status", text()), ("processor_id", text()), ("observations_processed", integer()),
            ("initial_stm_length", integer()), ("final_stm_length", integer()),
            ("results", list_of(&reference("SequenceItemResult"))), ("auto_learned_patterns", list_of(&text())),
            ("final_learned_pattern", nullable(&text())), ("isolated", flag()),
        ]),
        "Stm": object(&[("stm", events()), ("session_id", text()), ("length", integer())]),
        "LearnResult": object(&[
            ("status", text()), ("pattern_name", text()), ("session_id", text()), ("processor_id", nullable(&text())),
            ("message", text()),
        ]),
        "FuturePotential": object(&[
            ("future", events()), ("aggregate_potential", number()), ("supporting_patterns", integer()),
            ("total_weighted_frequency", number()),
        ]),
        "Predictions": object(&[
            ("predictions", list_of(&any_map())), ("future_potentials", nullable(&list_of(&reference("FuturePotential")))),
            ("session_id", text()), ("processor_id", nullable(&text())), ("count", integer()),
            ("time", nullable(&integer())), ("unique_id", nullable(&text())),
        ]),
        "FinalizedTraining": object(&[
            ("status", text()), ("patterns_processed", integer()), ("time_ms", number()), ("session_id", text()),
            ("node_id", text()), ("message", text()),
        ]),
        "PerceptData": object(&[("percept_data", any_map()), ("session_id", text()), ("node_id", text())]),
        "CognitionData": object(&[("cognition_data", any_map()), ("session_id", text()), ("node_id", text())]),
    })
}

fn nodes() -> Value {
    json!({
        "Pattern": object(&[
            ("name", text()), ("pattern_data", events()), ("length", integer()), ("frequency", integer()),
            ("emotives", list_of(&emotives())), ("metadata", map_of(&list_of(&text()))),
        ]),
        "PatternAnswer": object(&[
            ("pattern", object(&[("status", text()), ("~pattern", reference("Pattern")), ("~message", text())])),
            ("node_id", text()),
        ]),
        "NodeAffinities": object(&[("affinities", map_of(&emotives())), ("node_id", text())]),
        "SymbolStats": object(&[("name", text()), ("frequency", integer()), ("pattern_member_frequency", integer())]),
        "NodeSymbols": object(&[("symbols", map_of(&reference("SymbolStats"))), ("node_id", text())]),
        "SymbolAffinity": object(&[("symbol", text()), ("affinity", emotives()), ("node_id", text())]),
        "GenesUpdate": {
            "description": "The genes, or the genes under the key genes.",
            "type": "object",
            "additionalProperties": true,
        },
        "GenesUpdated": object(&[("status", text()), ("node_id", text()), ("genes", any_map())]),
        "Gene": object(&[("gene", text()), ("value", json!({})), ("node_id", text())]),
    })
}

fn other() -> Value {
    let limits = object(&[("max_sequences", integer()), ("max_bytes", integer())]);
    json!({
        "Root": object(&[
            ("service", text()), ("version", text()), ("description", text()), ("docs", text()), ("health", text()),
            ("status", text()), ("uptime_seconds", number()), ("architecture", text()), ("session_support", flag()),
        ]),
        "Monitoring": any_map(),
        "BatchItem": object(&[("events", events()), ("~emotives", emotives()), ("~metadata", any_map())]),
        "LearnBatch": object(&[("sequences", list_of(&reference("BatchItem")))]),
        "BatchItemResult": object(&[("pattern_name", text()), ("new", flag())]),
        "LearnBatchResult": object(&[
            ("status", text()), ("session_id", text()), ("node_id", text()),
            ("results", list_of(&reference("BatchItemResult"))),
        ]),
        "Extensions": object(&[
            ("server", text()), ("version", text()), ("learn_batch", nullable(&limits)), ("idempotency_keys", flag()),
            ("prometheus", text()), ("run_records", flag()), ("sessions", text()), ("next", text()), ("backups", text()),
        ]),
        "NextSymbol": object(&[("symbol", text()), ("probability", number())]),
        "NextAsked": object(&[("symbol", text()), ("known", flag()), ("probability", number())]),
        "NextLevel": object(&[("node_id", text()), ("patterns", integer())]),
        "Next": object(&[
            ("session_id", text()), ("levels", list_of(&reference("NextLevel"))), ("history", integer()),
            ("outcomes", integer()), ("next", list_of(&reference("NextSymbol"))), ("other", number()),
            ("asked", list_of(&reference("NextAsked"))), ("explanations", list_of(&any_map())),
        ]),
        "ListedSession": object(&[
            ("session_id", text()), ("node_id", text()), ("created_at", text()), ("last_used_at", text()),
            ("expires_at", text()), ("ttl_seconds", integer()),
        ]),
        "Sessions": object(&[
            ("sessions", list_of(&reference("ListedSession"))), ("active_session_count", integer()),
            ("next", nullable(&text())),
        ]),
        "Backup": object(&[("backup", text()), ("created_at", text())]),
        "RunRecord": object(&[("version", integer()), ("record", any_map())]),
        "RunRecordReplaced": object(&[("version", integer())]),
    })
}
