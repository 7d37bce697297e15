//! What a session, or a node of the 2025-10 generation, last perceived and thinks of it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::EmotiveMap;

/// The last observation (`GET /sessions/{id}/percept-data` in 3.10.1, `GET /percept-data` in the 2025-10 generation).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PerceptAnswer {
    /// The observation; nothing in it before the first one.
    pub percept_data: PerceptData,
    /// The session; absent when the node was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The node id, or the processor id when the node was asked.
    pub node_id: String,
    /// Says that the node has nothing to tell in 3.10.1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

/// An observation as the server keeps it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PerceptData {
    /// Symbols: in the event's order (3.10.1), or as sent.
    pub strings: Vec<String>,
    /// Vectors as sent.
    pub vectors: Vec<Vec<f64>>,
    /// Means of all emotives that have gathered.
    pub emotives: EmotiveMap,
    /// Empty in all known versions.
    pub path: Vec<Value>,
    /// Metadata of the observation.
    pub metadata: Map<String, Value>,
}

/// What a session holds (`GET /sessions/{id}/cognition-data` in 3.10.1, `GET /cognition-data` in the 2025-10 generation).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionCognition {
    /// The state.
    pub cognition_data: CognitionData,
    /// The session; absent when the node was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The node id, or the processor id when the node was asked.
    pub node_id: String,
    /// Says that the node has nothing to tell in 3.10.1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

/// The state of a session or node.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CognitionData {
    /// Predictions made while observing.
    pub predictions: Vec<Value>,
    /// The emotives observed last.
    pub emotives: EmotiveMap,
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
    /// Observations of the session so far; absent when the node was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<u64>,
}

/// A node's settings were changed (`POST /genes/update`, 2025-10).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GenesUpdated {
    /// `okay`.
    pub status: String,
    /// The processor id.
    pub node_id: String,
    /// The body of the request.
    pub genes: Value,
}

/// A node's setting (`GET /gene/{name}`, 2025-10).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Gene {
    /// The name as it was asked for.
    pub gene: String,
    /// Its value.
    pub value: Value,
    /// The processor id.
    pub node_id: String,
}
