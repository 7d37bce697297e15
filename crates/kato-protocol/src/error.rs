//! Bodies of refusals: KATO has two shapes.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The body of an answer that is no success.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ErrorBody {
    /// From the layer that looks sessions up.
    Session {
        /// What was not found.
        error: SessionError,
    },
    /// From an endpoint: a text, an object, or a list of [`ValidationDetail`].
    Detail {
        /// The reason.
        detail: Value,
    },
}

/// A session that is unknown or has expired.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionError {
    /// `SESSION_NOT_FOUND`.
    pub code: String,
    /// For people.
    pub message: String,
    /// The id that was asked for.
    pub session_id: String,
}

/// One reason why a request is not valid (status 422).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ValidationDetail {
    /// Kind of error: `missing`, `string_type`, `json_invalid`, …
    #[serde(rename = "type")]
    pub kind: String,
    /// Where: `body`, `query` or `path`, then keys and indexes.
    pub loc: Vec<Value>,
    /// For people.
    pub msg: String,
    /// What was found there.
    #[serde(default)]
    pub input: Value,
    /// More about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ctx: Option<Value>,
}
