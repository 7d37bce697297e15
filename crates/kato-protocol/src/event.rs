//! Messages of the WebSocket `/ws/events`.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An event on the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
// A message also has a `timestamp` beside these two keys. Serde ignores it here; a reader that
// wants it takes it from the message itself.
#[serde(tag = "event_type", content = "data")]
pub enum ServerEvent {
    /// The first message of a connection.
    #[serde(rename = "state.snapshot")]
    StateSnapshot(StateSnapshot),
    /// A session was created.
    #[serde(rename = "session.created")]
    SessionCreated(SessionCreated),
    /// A session was deleted. A session that expires sends no event.
    #[serde(rename = "session.destroyed")]
    SessionDestroyed(SessionDestroyed),
    /// An event of a kind that this version does not have.
    #[serde(untagged)]
    // Last, because serde demands that of untagged variants: it is tried when no tag fits.
    Other(Value),
}

/// The state of the server when a connection opens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateSnapshot {
    /// Sessions that have not ended.
    pub active_sessions: u64,
    /// `healthy`, …
    pub system_status: String,
    /// Number of the process that answers (5.x and later).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker_pid: Option<u32>,
}

/// The data of an event for a session that was created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionCreated {
    /// Id of the session.
    pub session_id: String,
    /// Node id of the session.
    pub node_id: String,
    /// Time of creation; ISO 8601, UTC.
    pub created_at: String,
}

/// The data of an event for a session that was deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionDestroyed {
    /// Id of the session.
    pub session_id: String,
    /// Time of deletion; ISO 8601, UTC.
    pub destroyed_at: String,
    /// `explicit_delete`.
    pub reason: String,
}
