//! Tokens as a tree of their bytes: which of them a text begins with.

use super::error::DefinitionError;
use super::limits::MAX_TREE_BYTES;

/// A node; the root is 0.
pub(super) type Node = u32;

/// What stands for no id.
const NONE: u32 = u32::MAX;

/// Tokens by their bytes. Nodes are numbered level by level, so the children of one follow one another.
#[derive(Debug)]
pub(super) struct Trie {
    /// The byte that leads to each node but the root, and so to the one after its own index.
    labels: Vec<u8>,
    /// Where the children of each node begin in `labels`; they end where those of the next node begin.
    children: Vec<u32>,
    /// The id of the token that ends at each node.
    ids: Vec<u32>,
}

impl Trie {
    /// Builds the tree; of equal tokens the last one counts.
    pub(super) fn new<'t>(
        tokens: impl Iterator<Item = (&'t str, u32)>,
    ) -> Result<Self, DefinitionError> {
        let mut tokens: Vec<(&[u8], u32)> =
            tokens.map(|(token, id)| (token.as_bytes(), id)).collect();
        let bytes: usize = tokens.iter().map(|(token, _)| token.len()).sum();
        if bytes > MAX_TREE_BYTES {
            return Err(DefinitionError::LargeTree(bytes));
        }
        // Stable, so that of equal ones the last stays last.
        tokens.sort_by_key(|&(token, _)| token);
        let mut trie = Self {
            labels: Vec::new(),
            children: Vec::new(),
            ids: Vec::new(),
        };
        // The tokens that go through each node of a level, and then those of the next level.
        let mut level = vec![(0, tokens.len())];
        let mut depth = 0;
        while !level.is_empty() {
            let mut next = Vec::new();
            for (first, last) in level {
                trie.children.push(trie.labels.len() as u32);
                let ending = tokens[first..last]
                    .iter()
                    .take_while(|(token, _)| token.len() == depth);
                let (n, id) = ending.fold((0, NONE), |(n, _), &(_, id)| (n + 1, id));
                trie.ids.push(id);
                let mut start = first + n;
                while start < last {
                    let label = tokens[start].0[depth];
                    let same = tokens[start..last]
                        .iter()
                        .take_while(|(token, _)| token[depth] == label);
                    let end = start + same.count();
                    trie.labels.push(label);
                    next.push((start, end));
                    start = end;
                }
            }
            level = next;
            depth += 1;
        }
        trie.children.push(trie.labels.len() as u32);
        Ok(trie)
    }

    /// Returns the node that a byte leads to.
    #[inline]
    pub(super) fn child(&self, node: Node, byte: u8) -> Option<Node> {
        let node = node as usize;
        let (start, end) = (self.children[node], self.children[node + 1]);
        let labels = &self.labels[start as usize..end as usize];
        let at = match labels {
            [] => return None,
            // Most nodes have one child.
            [label] => (*label == byte).then_some(0)?,
            labels => labels.binary_search(&byte).ok()?,
        };
        Some(start + at as u32 + 1)
    }

    /// Returns the node that bytes lead to from the root.
    pub(super) fn node(&self, bytes: &[u8]) -> Option<Node> {
        (bytes.iter()).try_fold(0, |node, &byte| self.child(node, byte))
    }

    /// Returns the id of the token that ends at a node.
    #[inline]
    pub(super) fn id(&self, node: Node) -> Option<u32> {
        Some(self.ids[node as usize]).filter(|&id| id != NONE)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Trie;

    proptest! {
        #[test]
        fn exactly_the_tokens_are_found(tokens in prop::collection::vec("[abé]{0,4}", 0..30), probe in "[abé]{0,5}") {
            let trie = Trie::new(tokens.iter().map(String::as_str).zip(0..)).unwrap();
            let expected = tokens.iter().rposition(|token| *token == probe).map(|at| at as u32);
            let found = trie.node(probe.as_bytes()).and_then(|node| trie.id(node));
            prop_assert_eq!(found, expected);
        }
    }
}
