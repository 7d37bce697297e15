//! Bodies of refused requests, in all shapes that KATO has.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The body of an answer whose status is not a success.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum ErrorBody {
    /// A session that was not found, reported by the layer that looks sessions up.
    // Before failures, which have all of its keys but one.
    Session {
        /// The session that was not found.
        error: SessionError,
    },
    /// A failure with a code (5.x and later).
    Failure {
        /// The failure.
        error: Failure,
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

/// A failure with a code, as 5.x and later have it (statuses 409, 500, 503, 504 and 507).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Failure {
    /// Name of KATO's error, such as `RetiredPatternError`; none for what KATO did not expect.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub kind: Option<String>,
    /// `INTERNAL_ERROR`, `RETIRED_PATTERN`, …
    pub code: String,
    /// A message for people.
    pub message: String,
    /// Whether the request may succeed after something was done about it; not said of what KATO did
    /// not expect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "bool"))]
    pub recoverable: Option<bool>,
    /// Further facts about what KATO did not expect: empty in all known answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Map<String, Value>"))]
    pub details: Option<Map<String, Value>>,
    /// Facts, such as the pattern that is concerned.
    #[serde(default)]
    pub context: Map<String, Value>,
    /// Seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    pub timestamp: Option<f64>,
}

/// The body of a failure with a code.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FailureBody {
    /// The failure.
    pub error: Failure,
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
    /// Where the fault is: `body`, `query`, `path` or `header`, then keys and indexes.
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
