//! Types of the life of sessions and their settings, and of the root of the API.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::observation::EmotiveValues;

/// A request to create a session (`POST /sessions`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CreateSession {
    /// Node that the session works on.
    pub node_id: String,
    /// Any JSON; comes back with the session.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Map<String, Value>>"))]
    pub metadata: Map<String, Value>,
    /// Seconds without a write after which the session ends; `None` for the server's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    // A hundred years: KATO fails for what reaches beyond its calendar.
    #[cfg_attr(feature = "schema", schemars(range(max = 3_153_600_000_u64)))]
    pub ttl_seconds: Option<u64>,
    /// Settings that differ from the defaults.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    // A server up to 5.x that refuses one of these values drops all of them and creates the session
    // all the same: the settings of its answer tell.
    pub config: Option<Map<String, Value>>,
}

/// A session (`POST /sessions`, `GET /sessions/{id}`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionInfo {
    /// Id of the session.
    pub session_id: String,
    /// Node of the session.
    pub node_id: String,
    /// Time of creation; ISO 8601, UTC.
    pub created_at: String,
    /// Time at which the session ends without a further write; ISO 8601, UTC.
    pub expires_at: String,
    /// On creation the seconds that the session lives without a write; later the whole seconds
    /// that are left.
    pub ttl_seconds: i64,
    /// Metadata that the session was created with.
    #[serde(default)]
    pub metadata: Map<String, Value>,
    /// Settings: all that are in effect (3.10.1), or those that were set (2025-10).
    #[serde(default)]
    pub session_config: Map<String, Value>,
}

/// Number of sessions (`GET /sessions/count`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionCount {
    /// Sessions that have not ended.
    pub active_session_count: u64,
}

/// The answer whether a session exists (`GET /sessions/{id}/exists`). Asking does not extend it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Exists {
    /// Whether the session exists and has not expired.
    pub exists: bool,
    /// Whether the session exists and has expired.
    pub expired: bool,
    /// The id that was asked for.
    pub session_id: String,
}

/// The answer to a session that was deleted (`DELETE /sessions/{id}`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Deleted {
    /// `deleted`.
    pub status: String,
    /// Id of the session.
    pub session_id: String,
}

/// The answer to memory that was cleared (`POST /sessions/{id}/clear-stm`, `…/clear-all`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cleared {
    /// `cleared`.
    pub status: String,
    /// Id of the session.
    pub session_id: String,
    /// `all` after clear-all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
}

/// The settings of a session (`GET /sessions/{id}/config`, 3.10.1).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ConfigAnswer {
    /// Id of the session.
    pub session_id: String,
    /// All settings in effect.
    pub config: Map<String, Value>,
}

/// The answer to settings that were changed (`POST /sessions/{id}/config`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ConfigUpdated {
    /// `okay`.
    pub status: String,
    /// A message for people.
    pub message: String,
    /// Id of the session.
    pub session_id: String,
}

/// The answer to a session that was extended (`POST /sessions/{id}/extend`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Extended {
    /// `extended`.
    pub status: String,
    /// Id of the session.
    pub session_id: String,
    /// Seconds from now until it ends.
    // What the server granted: it may have a bound of its own below what was asked for.
    pub ttl_seconds: i64,
}

/// The answer to `POST /sessions/{id}/finalize-training` (3.10.1).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FinalizedTraining {
    /// `completed`.
    pub status: String,
    /// Number of patterns whose entropies were computed.
    pub patterns_processed: u64,
    /// Duration in milliseconds.
    pub time_ms: f64,
    /// Id of the session.
    pub session_id: String,
    /// Node of the session.
    pub node_id: String,
    /// A message for people.
    pub message: String,
}

/// Name and version of a server (`GET /`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Root {
    /// `KATO API`.
    pub service: String,
    /// `1.0.0` for the 2025-10 generation, KATO's version for later ones, such as `6.3.2`.
    // Required, unlike all that follows: it decides which generation a client speaks to.
    pub version: String,
    /// A message for people.
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
    /// Whether the server has sessions. All known versions do.
    #[serde(default)]
    pub session_support: bool,
}

/// Emotives of a stored pattern: maps, oldest first. The 2025-10 generation writes `{}` for none.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct StoredEmotives(pub Vec<EmotiveValues>);

impl<'de> Deserialize<'de> for StoredEmotives {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Either {
            Maps(Vec<EmotiveValues>),
            One(EmotiveValues),
        }
        // `{}` means that there are none, which a list of one empty map would not say.
        Ok(match Either::deserialize(deserializer)? {
            Either::Maps(maps) => Self(maps),
            Either::One(map) if map.is_empty() => Self::default(),
            Either::One(map) => Self(vec![map]),
        })
    }
}
