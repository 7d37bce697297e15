//! Types of the endpoints that show the last observation and the present state of a session, or of
//! a node of the 2025-10 generation.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::observation::EmotiveValues;

/// The answer about the last observation (`GET /sessions/{id}/percept-data` in 3.10.1, `GET
/// /percept-data` in the 2025-10 generation).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PerceptAnswer {
    /// The observation; empty before the first one.
    #[cfg_attr(feature = "schema", schemars(with = "Map<String, Value>"))]
    pub percept_data: PerceptData,
    /// Id of the session; absent when the node was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The node id, or the processor id when the node was asked.
    pub node_id: String,
    /// The notice of 3.10.1 that the endpoint of the node is deprecated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

/// An observation as the server keeps it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
// Before the first observation servers answer `{}`, which defaults read as an empty observation.
#[serde(default)]
pub struct PerceptData {
    /// Symbols: in the order of the event (3.10.1), or as sent.
    pub strings: Vec<String>,
    /// Vectors as sent.
    pub vectors: Vec<Vec<f64>>,
    /// Means of the emotives that have accumulated.
    pub emotives: EmotiveValues,
    /// Empty in all known versions.
    pub path: Vec<Value>,
    /// Metadata of the observation.
    pub metadata: Map<String, Value>,
}

/// The answer about the present state (`GET /sessions/{id}/cognition-data` in 3.10.1, `GET
/// /cognition-data` in the 2025-10 generation).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionCognition {
    /// The state.
    pub cognition_data: CognitionData,
    /// Id of the session; absent when the node was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The node id, or the processor id when the node was asked.
    pub node_id: String,
    /// The notice of 3.10.1 that the endpoint of the node is deprecated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

/// The state of a session or node.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct CognitionData {
    /// Predictions that were made while observing; a kato-rs server makes them anew.
    // Untyped: they come in as many shapes as those of the predictions endpoint, of which
    // `Prediction` is the typed form.
    pub predictions: Vec<Value>,
    /// Emotives that were observed last.
    pub emotives: EmotiveValues,
    /// The short-term memory as one list of symbols.
    pub symbols: Vec<String>,
    /// Empty in all known versions.
    pub command: String,
    /// Empty in all known versions.
    pub metadata: Map<String, Value>,
    /// Empty in all known versions.
    pub path: Vec<Value>,
    /// Empty in all known versions.
    pub strings: Vec<String>,
    /// Empty in all known versions.
    pub vectors: Vec<Vec<f64>>,
    /// The short-term memory.
    pub short_term_memory: Vec<Vec<String>>,
    /// Number of observations of the session so far; absent when the node was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    // A client that got no answer to an observation tells by this count whether it acted.
    pub time: Option<u64>,
}

/// The answer to a change of a node's settings (`POST /genes/update`, 2025-10).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GenesUpdated {
    /// `okay`.
    pub status: String,
    /// Processor id of the node.
    pub node_id: String,
    /// Body of the request.
    pub genes: Value,
}

/// A setting of a node (`GET /gene/{name}`, 2025-10).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Gene {
    /// Name of the setting, as it was asked for.
    pub gene: String,
    /// Value of the setting.
    pub value: Value,
    /// Processor id of the node.
    pub node_id: String,
}
