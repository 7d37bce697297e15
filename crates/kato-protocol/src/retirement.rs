//! Types of counting, retiring, un-retiring and purging patterns (5.x and 6.x).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The number of patterns of a node (`GET /patterns/count`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PatternCount {
    /// Stored patterns, retired ones included.
    pub pattern_count: u64,
    /// The knowledge base that was asked: the processor id of the node.
    pub node_id: String,
}

/// Patterns to retire or un-retire (`POST /sessions/{id}/patterns/retire`, `…/un-retire`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PatternIds {
    /// Names, with or without their prefix `PTRN|`.
    #[cfg_attr(feature = "schema", schemars(with = "NamesSchema"))]
    pub pattern_ids: Vec<String>,
}

/// Patterns to purge (`POST /sessions/{id}/patterns/purge`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct PurgeRequest {
    /// Names of retired patterns; `None` for all that are not purged yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<NamesSchema>"))]
    pub pattern_ids: Option<Vec<String>>,
    /// Patterns that are purged at most, the first by name, where none are named.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 10_000)))]
    pub max_patterns: u64,
}

impl Default for PurgeRequest {
    fn default() -> Self {
        Self {
            pattern_ids: None,
            max_patterns: 1000,
        }
    }
}

/// The answer to patterns that were retired: names without prefix, each once, in the order of the
/// request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Retired {
    /// `okay`.
    pub status: String,
    /// Id of the session.
    pub session_id: String,
    /// Node id of the session.
    pub node_id: String,
    /// Names that were sent, repeated ones included.
    pub requested: u64,
    /// Those that are retired since this request.
    pub retired: Vec<String>,
    /// Those that were retired before.
    pub already_retired: Vec<String>,
}

/// The answer to patterns that were un-retired; see [`Retired`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unretired {
    /// `okay`.
    pub status: String,
    /// Id of the session.
    pub session_id: String,
    /// Node id of the session.
    pub node_id: String,
    /// Names that were sent, repeated ones included.
    pub requested: u64,
    /// Those that are not retired any more since this request.
    pub un_retired: Vec<String>,
    /// Those that were not retired.
    pub not_retired: Vec<String>,
}

/// The answer to patterns that were purged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Purged {
    /// `completed`, `partial` if anything failed, `nothing_to_purge` if nothing was chosen.
    pub status: String,
    /// Id of the session.
    pub session_id: String,
    /// Node id of the session.
    pub node_id: String,
    /// Names of those that are gone.
    pub purged: Vec<String>,
    /// Why the others are not, by name.
    pub failed: BTreeMap<String, String>,
    /// Retired patterns of the node that are not purged yet.
    pub remaining: u64,
}

/// The schema of a list of names.
#[cfg(feature = "schema")]
struct NamesSchema;

#[cfg(feature = "schema")]
impl schemars::JsonSchema for NamesSchema {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "PatternNames".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "array",
            "minItems": 1,
            "maxItems": 1000,
            "items": {"type": "string", "pattern": r"^\s*(PTRN\|)?[0-9a-f]{40}\s*$"},
        })
    }
}
