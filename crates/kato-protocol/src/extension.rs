//! Types of what kato-rs servers offer beyond KATO: batches of learns and of questions, idempotency
//! keys that make a repeated request harmless, records of training runs, and what comes next with
//! which probability.

mod asking;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use self::asking::{
    AskBatchRequest, Asked, BatchAnswer, BatchError, BatchNext, BatchPredictions, BatchQuestion,
    BatchScore,
};
use crate::observation::EmotiveValues;

/// The path under which a server lists its extensions; a stock server answers 404.
pub const EXTENSIONS_PATH: &str = "/extensions";

/// Request header with a text that the client makes up for one request: up to 255 visible ASCII
/// characters. A request that is repeated with its key acts once, as long as the server knows the key: it
/// sends its first answer again. A server with a data directory knows keys after a restart as well.
// Both names are lower case because `HeaderName::from_static` panics on anything else.
pub const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// Answer header: `true` when the request had been carried out before.
pub const IDEMPOTENCY_REPLAYED: &str = "idempotency-replayed";

/// The extensions of a server (`GET /extensions`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Extensions {
    /// Name of the server.
    pub server: String,
    /// Version of the server itself, not of the API.
    pub version: String,
    /// Limits of `POST /sessions/{id}/learn-batch`; `None` if there is no such endpoint.
    #[serde(default)]
    // Every extension has a default, so that a server may lack or drop any of them.
    pub learn_batch: Option<LearnBatchExtension>,
    /// Whether idempotency keys are honoured on requests that observe, learn, clear, or take patterns
    /// back.
    #[serde(default)]
    pub idempotency_keys: bool,
    /// Whether records of training runs are kept (`GET` and `PUT /runs/{name}`).
    #[serde(default)]
    pub run_records: bool,
    /// All further extensions, by name.
    #[serde(flatten)]
    // Extensions of later servers must neither fail the decoding nor be lost to the caller.
    pub other: BTreeMap<String, Value>,
}

/// Limits of `learn-batch`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LearnBatchExtension {
    /// Maximum number of sequences in one request.
    pub max_sequences: usize,
    /// Maximum number of bytes in one request.
    pub max_bytes: usize,
}

/// The record of a training run (`GET /runs/{name}`; 404 if there is none): what a trainer keeps
/// beside the nodes that it taught.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunRecord {
    /// Number of times the record was written; 1 for a new one.
    pub version: u64,
    /// The trainer's data: any JSON.
    pub record: Value,
}

/// Replaces the record of a training run (`PUT /runs/{name}`), durably. The server answers status
/// 409 if its version is another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReplaceRunRecord {
    /// Version of the record to replace; 0 if there is none yet.
    #[cfg_attr(feature = "schema", schemars(range(max = u64::MAX)))]
    // Compare and swap: of two trainers that resume the same run only one succeeds.
    pub version: u64,
    /// The trainer's data: any JSON.
    pub record: Value,
}

/// The answer to a record that was replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunRecordReplaced {
    /// Version of the record after the request.
    pub version: u64,
}

/// Sequences to learn, one pattern each (`POST /sessions/{id}/learn-batch`): all of them or none.
///
/// Each is learned as in a fresh session that is told to learn in the end; the short-term memory of
/// this one is neither used nor changed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LearnBatchRequest {
    /// The sequences.
    pub sequences: Vec<BatchItem>,
}

/// One sequence of a batch.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BatchItem {
    /// Events, each a list of symbols; at least one event.
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    pub events: Vec<Vec<String>>,
    /// Emotives of the pattern, of a magnitude up to 1e100.
    // Left out when empty: training sends mostly items without them, and the bytes of a batch are
    // limited.
    #[serde(default, skip_serializing_if = "EmotiveValues::is_empty")]
    #[cfg_attr(
        feature = "schema",
        schemars(extend("additionalProperties" = {"type": "number", "minimum": -1e100, "maximum": 1e100}))
    )]
    pub emotives: EmotiveValues,
    /// Metadata of the pattern.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

/// The result of a batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LearnBatchResult {
    /// `learned`.
    pub status: String,
    /// Id of the session.
    pub session_id: String,
    /// Node id of the session.
    pub node_id: String,
    /// One result for every sequence, in order.
    pub results: Vec<BatchItemResult>,
}

/// The result of one sequence of a batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BatchItemResult {
    /// Name of the pattern with its prefix `PTRN|`; empty if there were fewer than two symbols, so
    /// that nothing was learned.
    pub pattern_name: String,
    /// Whether the pattern was new to the node.
    pub new: bool,
}

/// What comes next in a session (`GET /sessions/{id}/next`), by the counts of its node's patterns and
/// those of the nodes above it that were named.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "NextAnswer"))]
pub struct NextAnswer<E = Value> {
    /// Id of the session.
    pub session_id: String,
    /// The nodes whose patterns were counted, from the lowest up; the first is the session's.
    pub levels: Vec<NextLevel>,
    /// Number of events of the session's history that were read.
    pub history: usize,
    /// Number of things that can come next: the known symbols, and one for all others.
    pub outcomes: usize,
    /// The most probable symbols, the most probable first.
    pub next: Vec<NextSymbol>,
    /// Probability that an unknown symbol comes: one that no pattern of the lowest level that counts holds alone in
    /// an event.
    pub other: f64,
    /// The symbols that were asked for by name.
    pub asked: Vec<NextAsked>,
    /// Explanations, if they were asked for: of the known ones of those symbols, or of the most
    /// probable symbol. Each is a `kato_head::Explanation` as JSON; it names patterns if they were asked
    /// for.
    pub explanations: Vec<E>,
}

/// A symbol that may come next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NextSymbol {
    /// The symbol.
    pub symbol: String,
    /// Its probability.
    pub probability: f64,
}

/// A symbol that was asked for by name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NextAsked {
    /// The symbol.
    pub symbol: String,
    /// Whether a pattern of the lowest level that counts holds it alone in an event.
    pub known: bool,
    /// Its probability; that of all unknown symbols together, if it is one.
    pub probability: f64,
}

/// A node whose patterns were counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NextLevel {
    /// Its id.
    pub node_id: String,
    /// Number of its patterns, retired ones included.
    pub patterns: u64,
}

/// A question what comes next in a session: the query of `GET /sessions/{id}/next`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NextQuery {
    /// Number of the most probable symbols that are listed; 1,000 at most. Default 10.
    pub top: usize,
    /// Symbols whose probability is asked for, listed or not; 100 at most.
    pub symbols: Vec<String>,
    /// Ids of the nodes above the session's, from the bottom up; 15 at most.
    pub above: Vec<String>,
    /// Whether those symbols are explained, or the most probable one if there are none.
    pub explain: bool,
    /// Number of patterns that explanations name for each count, those with the most occurrences;
    /// 100 at most, and at most ten symbols explained. Default 0. Naming looks at every pattern.
    pub patterns: usize,
    /// Whether the history teaches first how far to trust the experts. What the session itself has
    /// taught its node is known by heart there, and trusted too far.
    pub fit: bool,
}

impl Default for NextQuery {
    fn default() -> Self {
        Self {
            top: 10,
            symbols: Vec::new(),
            above: Vec::new(),
            explain: false,
            patterns: 0,
            fit: false,
        }
    }
}

impl NextQuery {
    /// Returns the names and values of the query, not encoded.
    #[must_use]
    pub fn pairs(&self) -> Vec<(&'static str, String)> {
        let mut pairs = vec![("top", self.top.to_string())];
        pairs.extend(self.symbols.iter().map(|symbol| ("symbol", symbol.clone())));
        pairs.extend(self.above.iter().map(|node| ("above", node.clone())));
        pairs.extend(self.explain.then(|| ("explain", "true".to_owned())));
        pairs.extend((self.patterns > 0).then(|| ("patterns", self.patterns.to_string())));
        pairs.extend(self.fit.then(|| ("fit", "true".to_owned())));
        pairs
    }
}

/// A page of the sessions of a server (`GET /admin/sessions`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionList {
    /// The sessions, by their ids.
    pub sessions: Vec<ListedSession>,
    /// Number of all sessions that have not ended.
    pub active_session_count: u64,
    /// What the next page is asked for with (`after`); `None` behind the last one.
    pub next: Option<String>,
}

/// A session in a list. Times are ISO 8601, UTC.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ListedSession {
    /// Id of the session.
    pub session_id: String,
    /// Node of the session.
    pub node_id: String,
    /// Time of creation.
    pub created_at: String,
    /// Time of the last use, reads included; after a restart of the server, of the last write.
    pub last_used_at: String,
    /// Time at which it ends without a further write.
    pub expires_at: String,
    /// Seconds that it lives without a write.
    pub ttl_seconds: u64,
}

/// A copy that a server made of itself (`POST /admin/backups`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BackupMade {
    /// Name of the new directory.
    pub backup: String,
    /// Time of the copy; ISO 8601, UTC.
    pub created_at: String,
    /// Bytes of the copy.
    pub bytes: u64,
    /// Number of knowledge bases that were copied.
    pub knowledge_bases: usize,
    /// What could not be copied, and why.
    pub losses: Vec<String>,
    /// Names of what is no knowledge base, and was passed over.
    pub passed_over: Vec<String>,
    /// Number of copies that there are now.
    pub backups: usize,
    /// Most copies that there may be.
    pub max_backups: usize,
}
