//! Bodies of refused requests, in both shapes that KATO has.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The body of an answer whose status is not a success.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum ErrorBody {
    /// A session that was not found, reported by the layer that looks sessions up.
    // The two shapes have no key in common, so their order here decides nothing.
    Session {
        /// The session that was not found.
        error: SessionError,
    },
    /// A refusal by an endpoint: a text, an object, or a list of [`ValidationDetail`].
    Detail {
        /// The reason.
        detail: Value,
    },
}

/// A session that is unknown or has expired.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionError {
    /// `SESSION_NOT_FOUND`.
    pub code: String,
    /// A message for people.
    pub message: String,
    /// The id that was asked for.
    pub session_id: String,
}

/// The body of a refusal of an invalid request (status 422).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InvalidRequest {
    /// The reasons, one at least.
    pub detail: Vec<ValidationDetail>,
}

/// One reason why a request is invalid (status 422).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ValidationDetail {
    /// Kind of error: `missing`, `string_type`, `json_invalid`, …
    #[serde(rename = "type")]
    pub kind: String,
    /// Where the fault is: `body`, `query` or `path`, then keys and indexes.
    // Untyped JSON: keys are strings, positions in lists are numbers.
    pub loc: Vec<Value>,
    /// A message for people.
    pub msg: String,
    /// The input that was refused.
    #[serde(default)]
    pub input: Value,
    /// Further facts, such as the bound that was exceeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    // Left out rather than null, as FastAPI does for faults without a context.
    pub ctx: Option<Value>,
}
