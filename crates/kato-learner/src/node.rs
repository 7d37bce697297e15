//! A node of the hierarchy.

use serde::{Deserialize, Serialize};

/// One level of a hierarchy: a KATO node with a knowledge base of its own.
///
/// Level 0 learns chunks of tokens, every other level chunks of the names that the level below
/// learned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HierarchicalNode {
    /// Name of the node and its knowledge base; `node0`, `node1`, … by convention.
    pub name: String,
    /// Symbols of a full chunk.
    pub chunk_size: usize,
}

impl HierarchicalNode {
    /// Creates a node with a name and a chunk size.
    #[must_use]
    pub fn new(name: impl Into<String>, chunk_size: usize) -> Self {
        Self {
            name: name.into(),
            chunk_size,
        }
    }
}
