//! Lines of `learned.jsonl`, and what one of them does to a pattern.

use std::collections::{BTreeMap, BTreeSet};

use kato_protocol::observation::EmotiveValues;
use serde::{Deserialize, Serialize};

/// File of everything that was learned, in a server's directory.
pub(crate) const FILE: &str = "learned.jsonl";

/// Line of the file.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "did", rename_all = "kebab-case")]
pub(crate) enum Line {
    /// A learn as a whole.
    Learn(Learn),
    /// The first step of a learn in 3.10.
    Begin { learn: Learn, split: Split },
    /// Its second step.
    End {
        learn: Learn,
        split: Split,
        /// Whether the first step has found the pattern to be new.
        is_new: bool,
    },
    ClearAll {
        /// The node id as the client gave it.
        node: String,
    },
    /// A pattern of a node is retired (6.3), whether or not there is one.
    Retire { node: String, name: String },
    /// It is not any more.
    Unretire { node: String, name: String },
    /// Redis is empty: in 3.10 all but the rows of the patterns is gone.
    Flush,
    /// Redis has come back without a learn that it had counted; the row is there.
    Uncount { learn: Learn },
    /// All databases are empty.
    Empty,
    /// Redis has evicted a key of a node: the frequency or the metadata of a pattern, or the counts
    /// of all symbols.
    Evict {
        node: String,
        pattern: Option<String>,
        is_metadata: bool,
    },
}

/// Order in which 3.10 does the two steps of a learn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Split {
    /// The frequency; then the row, and the counts of the symbols.
    BeforeRow,
    /// The frequency and the row; then the counts of the symbols.
    BehindRow,
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
    pub(crate) emotives: Vec<EmotiveValues>,
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
    window: &mut Vec<EmotiveValues>,
    more: &[EmotiveValues],
    persistence: usize,
) {
    window.extend_from_slice(more);
    window.drain(..window.len().saturating_sub(persistence));
}
