//! Tokens as a tree of their bytes: which of them a text begins with.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::error::DefinitionError;
use super::limits::MAX_TREE_BYTES;

/// A node; the root is 0.
pub(super) type Node = u32;

/// Tokens by their bytes.
#[derive(Debug)]
pub(super) struct Trie {
    children: HashMap<(Node, u8), Node, RandomState>,
    /// The id of the token that ends at each node.
    ids: Vec<Option<u32>>,
}

impl Trie {
    /// Builds the tree; of equal tokens the last one counts.
    pub(super) fn new<'t>(
        tokens: impl Iterator<Item = (&'t str, u32)> + Clone,
    ) -> Result<Self, DefinitionError> {
        let bytes: usize = tokens.clone().map(|(token, _)| token.len()).sum();
        if bytes > MAX_TREE_BYTES {
            return Err(DefinitionError::LargeTree(bytes));
        }
        let mut trie = Self {
            children: HashMap::default(),
            ids: vec![None],
        };
        for (token, id) in tokens {
            let mut node = 0;
            for byte in token.bytes() {
                let next = trie.ids.len() as Node;
                let child = *trie.children.entry((node, byte)).or_insert(next);
                if child == next {
                    trie.ids.push(None);
                }
                node = child;
            }
            trie.ids[node as usize] = Some(id);
        }
        Ok(trie)
    }

    /// Returns the node that a byte leads to.
    #[inline]
    pub(super) fn child(&self, node: Node, byte: u8) -> Option<Node> {
        self.children.get(&(node, byte)).copied()
    }

    /// Returns the node that bytes lead to from the root.
    pub(super) fn node(&self, bytes: &[u8]) -> Option<Node> {
        (bytes.iter()).try_fold(0, |node, &byte| self.child(node, byte))
    }

    /// Returns the id of the token that ends at a node.
    #[inline]
    pub(super) fn id(&self, node: Node) -> Option<u32> {
        self.ids[node as usize]
    }
}
