//! Types of what a node has learned: patterns, counts of symbols, affinities.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::observation::EmotiveValues;
use crate::session::StoredEmotives;

/// The answer to a look-up of a pattern (`GET /pattern/{name}`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PatternAnswer {
    /// The pattern, or that there is none.
    pub pattern: PatternLookup,
    /// The knowledge base that was asked: the processor id of the node.
    pub node_id: String,
}

/// The result of a look-up by a pattern's name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
// KATO answers status 200 whether or not there is such a pattern: only the text in the body tells
// them apart.
#[serde(tag = "status", rename_all = "lowercase")]
pub enum PatternLookup {
    /// The node has the pattern.
    Okay {
        /// The pattern.
        pattern: PatternBody,
    },
    /// The node has no pattern of that name.
    Error {
        /// A message for people.
        message: String,
    },
}

/// A stored pattern.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PatternBody {
    /// Name with its prefix `PTRN|`.
    pub name: String,
    /// Events, each a list of symbols.
    pub pattern_data: Vec<Vec<String>>,
    /// Number of symbols.
    pub length: usize,
    /// Number of times the pattern was learned.
    pub frequency: u64,
    /// Emotive maps, oldest first.
    #[serde(default)]
    // Lists of 3.10.1, `{}` of the 2025-10 generation: `StoredEmotives` reads both.
    pub emotives: StoredEmotives,
    /// The distinct values of every key, as text.
    #[serde(default)]
    pub metadata: BTreeMap<String, Vec<String>>,
}

/// Counts of all symbols (`GET /symbols/stats`, 3.10.1).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NodeSymbols {
    /// Counts by symbol.
    pub symbols: BTreeMap<String, SymbolStats>,
    /// The knowledge base that was asked.
    pub node_id: String,
}

/// Counts of one symbol.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SymbolStats {
    /// The symbol.
    pub name: String,
    /// Number of occurrences over all learns.
    pub frequency: u64,
    /// Number of patterns that contain the symbol.
    // Counted once a new pattern, not once a learn: learning a pattern again adds nothing.
    pub pattern_member_frequency: u64,
}

/// Affinities of all symbols that have any (`GET /symbols/affinity`, 3.10.1).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NodeAffinities {
    /// Sums of mean emotives by symbol.
    pub affinities: BTreeMap<String, EmotiveValues>,
    /// The knowledge base that was asked.
    pub node_id: String,
}

/// Affinity of one symbol (`GET /symbols/{symbol}/affinity`, 3.10.1).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SymbolAffinity {
    /// The symbol.
    pub symbol: String,
    /// Sums of mean emotives; empty if it has none.
    pub affinity: EmotiveValues,
    /// The knowledge base that was asked.
    pub node_id: String,
}
