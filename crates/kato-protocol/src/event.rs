//! Events of the WebSocket `/ws/events`.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What happened on the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event_type", content = "data")]
pub enum ServerEvent {
    /// The first message of a connection.
    #[serde(rename = "state.snapshot")]
    StateSnapshot(StateSnapshot),
    /// A session was made.
    #[serde(rename = "session.created")]
    SessionCreated(SessionCreated),
    /// A session was deleted. Expiry makes no event.
    #[serde(rename = "session.destroyed")]
    SessionDestroyed(SessionDestroyed),
    /// An event that this version does not know.
    #[serde(untagged)]
    Other(Value),
}

/// How the server is when a connection opens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateSnapshot {
    /// Sessions that have not ended.
    pub active_sessions: u64,
    /// `healthy`, …
    pub system_status: String,
}

/// A session was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionCreated {
    /// The session.
    pub session_id: String,
    /// Its node.
    pub node_id: String,
    /// When; ISO 8601, UTC.
    pub created_at: String,
}

/// A session was deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionDestroyed {
    /// The session.
    pub session_id: String,
    /// When; ISO 8601, UTC.
    pub destroyed_at: String,
    /// `explicit_delete`.
    pub reason: String,
}
