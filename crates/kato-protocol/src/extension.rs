//! What kato-rs servers offer beyond KATO: batches of learns, and keys that make a repeated request harmless.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::EmotiveMap;

/// Where a server says what it offers beyond KATO; a stock server answers 404.
pub const EXTENSIONS_PATH: &str = "/extensions";

/// Request header: a text that the client makes up for one request, up to 255 visible ASCII characters. A request that is
/// repeated with its key acts once: the server answers again what it answered first, also after a restart.
pub const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// Answer header: `true` when the request had been carried out before.
pub const IDEMPOTENCY_REPLAYED: &str = "idempotency-replayed";

/// What a server offers beyond KATO (`GET /extensions`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extensions {
    /// Name of the server.
    pub server: String,
    /// Its own version.
    pub version: String,
    /// `POST /sessions/{id}/learn-batch`.
    #[serde(default)]
    pub learn_batch: Option<LearnBatchExtension>,
    /// Are idempotency keys honoured on every request that changes a session or teaches a node?
    #[serde(default)]
    pub idempotency_keys: bool,
    /// Are records of training runs kept (`GET` and `PUT /runs/{name}`)?
    #[serde(default)]
    pub run_records: bool,
    /// Anything newer.
    #[serde(flatten)]
    pub other: BTreeMap<String, Value>,
}

/// Limits of `learn-batch`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LearnBatchExtension {
    /// Sequences in a request at most.
    pub max_sequences: usize,
    /// Bytes of a request at most.
    pub max_bytes: usize,
}

/// The record of a training run (`GET /runs/{name}`; 404 where there is none): what a trainer keeps beside what it taught.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Counts its replacements, from 1.
    pub version: u64,
    /// The trainer's own.
    pub record: Value,
}

/// Replaces the record of a training run (`PUT /runs/{name}`), durably. Status 409 where its version is another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplaceRunRecord {
    /// Version of the record that is replaced; 0 where there is none.
    pub version: u64,
    /// The trainer's own.
    pub record: Value,
}

/// A record was replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunRecordReplaced {
    /// Its version now.
    pub version: u64,
}

/// Many sequences to learn, one pattern each (`POST /sessions/{id}/learn-batch`): all of them or none.
///
/// Each is learned as in a fresh session with the settings of this one; its short-term memory is neither used nor changed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LearnBatchRequest {
    /// The sequences.
    pub sequences: Vec<BatchItem>,
}

/// One sequence of a batch.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct BatchItem {
    /// Events, each a list of symbols; at least one event.
    pub events: Vec<Vec<String>>,
    /// Emotives of the pattern.
    #[serde(default, skip_serializing_if = "EmotiveMap::is_empty")]
    pub emotives: EmotiveMap,
    /// Metadata of the pattern.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

/// What became of a batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LearnBatchResult {
    /// `learned`.
    pub status: String,
    /// The session.
    pub session_id: String,
    /// The session's node id.
    pub node_id: String,
    /// One for every sequence, in order.
    pub results: Vec<BatchItemResult>,
}

/// What became of one sequence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchItemResult {
    /// Name of the pattern with its prefix `PTRN|`; empty when there were fewer than two symbols, and nothing was learned.
    pub pattern_name: String,
    /// Was the pattern new to the node?
    pub new: bool,
}
