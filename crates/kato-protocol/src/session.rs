//! Sessions: their life and their configuration, and what a server says of itself.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::EmotiveMap;

/// Asks for a session (`POST /sessions`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CreateSession {
    /// The node that the session talks to.
    pub node_id: String,
    /// Anything; comes back with the session.
    #[serde(default)]
    pub metadata: Map<String, Value>,
    /// Seconds without a write after which the session ends; the server's default if `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_seconds: Option<u64>,
    /// Settings that differ from the defaults.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<Map<String, Value>>,
}

/// A session (`POST /sessions`, `GET /sessions/{id}`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionInfo {
    /// Its id.
    pub session_id: String,
    /// Its node.
    pub node_id: String,
    /// When it was made; ISO 8601, UTC.
    pub created_at: String,
    /// When it ends without a further write; ISO 8601, UTC.
    pub expires_at: String,
    /// When it was made: seconds it lives without a write. Later: whole seconds left.
    pub ttl_seconds: i64,
    /// What its maker gave.
    #[serde(default)]
    pub metadata: Map<String, Value>,
    /// Settings: all that are in effect (3.10.1), or those that were set (2025-10).
    #[serde(default)]
    pub session_config: Map<String, Value>,
}

/// Number of sessions (`GET /sessions/count`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionCount {
    /// Sessions that have not ended.
    pub active_session_count: u64,
}

/// Whether a session exists (`GET /sessions/{id}/exists`). Asking does not extend it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exists {
    /// It exists and has not expired.
    pub exists: bool,
    /// It exists and has expired.
    pub expired: bool,
    /// The id that was asked for.
    pub session_id: String,
}

/// A session was deleted (`DELETE /sessions/{id}`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deleted {
    /// `deleted`.
    pub status: String,
    /// The session.
    pub session_id: String,
}

/// Memory was cleared (`POST /sessions/{id}/clear-stm`, `…/clear-all`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cleared {
    /// `cleared`.
    pub status: String,
    /// The session.
    pub session_id: String,
    /// `all` after clear-all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
}

/// A session's settings (`GET /sessions/{id}/config`, 3.10.1).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConfigAnswer {
    /// The session.
    pub session_id: String,
    /// All settings in effect.
    pub config: Map<String, Value>,
}

/// Settings were changed (`POST /sessions/{id}/config`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigUpdated {
    /// `okay`.
    pub status: String,
    /// For people.
    pub message: String,
    /// The session.
    pub session_id: String,
}

/// A session lives longer (`POST /sessions/{id}/extend`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extended {
    /// `extended`.
    pub status: String,
    /// The session.
    pub session_id: String,
    /// Seconds from now until it ends.
    pub ttl_seconds: i64,
}

/// `POST /sessions/{id}/finalize-training` (3.10.1).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FinalizedTraining {
    /// `completed`.
    pub status: String,
    /// Patterns whose entropies were computed.
    pub patterns_processed: u64,
    /// Milliseconds it took.
    pub time_ms: f64,
    /// The session.
    pub session_id: String,
    /// The session's node.
    pub node_id: String,
    /// For people.
    pub message: String,
}

/// What a server says of itself (`GET /`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Root {
    /// `KATO API`.
    pub service: String,
    /// `1.0.0` for the 2025-10 generation, `3.…` for the newer one.
    pub version: String,
    /// For people.
    #[serde(default)]
    pub description: String,
    /// Path of the documentation.
    #[serde(default)]
    pub docs: String,
    /// Path of the health check.
    #[serde(default)]
    pub health: String,
    /// `running`.
    #[serde(default)]
    pub status: String,
    /// Seconds since the start.
    #[serde(default)]
    pub uptime_seconds: f64,
    /// `modular`.
    #[serde(default)]
    pub architecture: String,
    /// Does it have sessions? All known versions do.
    #[serde(default)]
    pub session_support: bool,
}

/// Emotives of a stored pattern: maps, oldest first. The 2025-10 generation writes `{}` for none.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct StoredEmotives(pub Vec<EmotiveMap>);

impl<'de> Deserialize<'de> for StoredEmotives {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Either {
            Maps(Vec<EmotiveMap>),
            One(EmotiveMap),
        }
        Ok(match Either::deserialize(deserializer)? {
            Either::Maps(maps) => Self(maps),
            Either::One(map) if map.is_empty() => Self::default(),
            Either::One(map) => Self(vec![map]),
        })
    }
}
