//! What a node knows: patterns, symbols, affinities.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{EmotiveMap, StoredEmotives};

/// A pattern, or that there is none (`GET /pattern/{name}`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PatternAnswer {
    /// What was found.
    pub pattern: PatternLookup,
    /// The knowledge base that was asked: the processor id of the node.
    pub node_id: String,
}

/// What was found under a pattern's name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "lowercase")]
pub enum PatternLookup {
    /// The pattern.
    Okay {
        /// The pattern.
        pattern: PatternBody,
    },
    /// There is none.
    Error {
        /// For people.
        message: String,
    },
}

/// A stored pattern.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PatternBody {
    /// Name with its prefix `PTRN|`.
    pub name: String,
    /// Events, each a list of symbols.
    pub pattern_data: Vec<Vec<String>>,
    /// Number of symbols.
    pub length: usize,
    /// Times it was learned.
    pub frequency: u64,
    /// Emotive maps, oldest first.
    #[serde(default)]
    pub emotives: StoredEmotives,
    /// For every key the distinct values, as text.
    #[serde(default)]
    pub metadata: BTreeMap<String, Vec<String>>,
}

/// Counts of all symbols (`GET /symbols/stats`, 3.10.1).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeSymbols {
    /// Counts by symbol.
    pub symbols: BTreeMap<String, SymbolStats>,
    /// The knowledge base that was asked.
    pub node_id: String,
}

/// Counts of a symbol.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SymbolStats {
    /// The symbol.
    pub name: String,
    /// Occurrences over all learns.
    pub frequency: u64,
    /// Patterns that hold it.
    pub pattern_member_frequency: u64,
}

/// Affinities of all symbols that have any (`GET /symbols/affinity`, 3.10.1).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeAffinities {
    /// Sums of mean emotives by symbol.
    pub affinities: BTreeMap<String, EmotiveMap>,
    /// The knowledge base that was asked.
    pub node_id: String,
}

/// Affinity of one symbol (`GET /symbols/{symbol}/affinity`, 3.10.1).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SymbolAffinity {
    /// The symbol.
    pub symbol: String,
    /// Sums of mean emotives; empty if it has none.
    pub affinity: EmotiveMap,
    /// The knowledge base that was asked.
    pub node_id: String,
}
