//! Lines of `learned.jsonl`, and what one of them does to a pattern.

use std::collections::{BTreeMap, BTreeSet};

use kato_protocol::observation::EmotiveMap;
use serde::{Deserialize, Serialize};

/// File of everything that was learned, in a server's directory.
pub(crate) const FILE: &str = "learned.jsonl";

/// Line of the file.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "did", rename_all = "kebab-case")]
pub(crate) enum Line {
    Learn(Learn),
    ClearAll {
        /// The node id as the client gave it.
        node: String,
    },
}

/// Single learn.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Learn {
    /// The node id as the client gave it.
    pub(crate) node: String,
    /// Name of the pattern, without `PTRN|`.
    pub(crate) name: String,
    pub(crate) events: Vec<Vec<String>>,
    /// Emotives that are appended to the pattern's, of which the latest `persistence` stay.
    pub(crate) emotives: Vec<EmotiveMap>,
    pub(crate) persistence: usize,
    /// Values that are added to the pattern's metadata.
    pub(crate) metadata: BTreeMap<String, BTreeSet<String>>,
    pub(crate) session: String,
    pub(crate) request: u64,
    /// Time, in milliseconds since 1970.
    pub(crate) at: u64,
}

/// Appends maps to a window of emotives.
pub(crate) fn append_emotives(
    window: &mut Vec<EmotiveMap>,
    more: &[EmotiveMap],
    persistence: usize,
) {
    window.extend_from_slice(more);
    window.drain(..window.len().saturating_sub(persistence));
}
