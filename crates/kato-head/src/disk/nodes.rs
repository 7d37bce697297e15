//! The n-grams of all lengths, made of windows that come in order.

use super::CountsError;
use crate::options::MAX_ORDER;
use crate::trie::{Key, Packing, Trie};

/// What is known of an n-gram.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Node {
    /// Its last symbol.
    pub(super) symbol: u32,
    pub(super) count: u32,
    /// How many n-grams of the next length continue it.
    pub(super) n_children: u32,
}

/// A receiver of n-grams, those of one length in their order and each after all that continue it.
pub(super) trait Nodes {
    /// Receives an n-gram of `depth` + 1 symbols.
    fn node(&mut self, depth: usize, node: Node) -> Result<(), CountsError>;
}

/// Hands over the n-grams of a tree in sorted columns.
pub(super) fn each_node(trie: &Trie, nodes: &mut dyn Nodes) -> Result<(), CountsError> {
    let levels = trie.levels();
    for (depth, level) in levels.iter().enumerate() {
        for place in 0..level.n_sealed() {
            // Places have 32 bits. By length, which keeps the order within each.
            let n_children = match depth + 1 < levels.len() {
                true => level.sealed_children(place as u32).len() as u32,
                false => 0,
            };
            let node = Node {
                symbol: level.symbol(place),
                count: level.sealed_count(place),
                n_children,
            };
            nodes.node(depth, node)?;
        }
    }
    Ok(())
}

/// Adds up what windows that come in order say of the n-grams that begin them.
pub(super) struct Assembler<N> {
    pub(super) nodes: N,
    packing: Packing,
    last: Key,
    /// Symbols of the last window: its n-grams may go on.
    len: usize,
    /// By length of those less one, what is known of them.
    open: [Node; MAX_ORDER],
}

impl<N: Nodes> Assembler<N> {
    pub(super) fn new(nodes: N, packing: Packing) -> Self {
        Self {
            nodes,
            packing,
            last: Key::END,
            len: 0,
            open: [Node::default(); MAX_ORDER],
        }
    }

    /// Takes the next window, and how often it was learned.
    #[inline]
    pub(super) fn window(&mut self, key: Key, times: u32) -> Result<(), CountsError> {
        let shared = self.packing.shared(self.last, key).min(self.len);
        self.last = key;
        self.end_longer(shared)?;
        while let Some(symbol) = self.packing.symbol(key, self.len) {
            self.open[self.len] = Node {
                symbol,
                ..Node::default()
            };
            self.len += 1;
        }
        for ngram in &mut self.open[self.packing.n_known(key)..self.len] {
            ngram.count = ngram.count.saturating_add(times);
        }
        Ok(())
    }

    /// Hands over the n-grams of more symbols than these: no more of them come.
    fn end_longer(&mut self, len: usize) -> Result<(), CountsError> {
        while self.len > len {
            self.len -= 1;
            self.nodes.node(self.len, self.open[self.len])?;
            if let Some(context) = self.len.checked_sub(1) {
                self.open[context].n_children += 1;
            }
        }
        Ok(())
    }

    /// Hands over what is left.
    pub(super) fn finish(mut self) -> Result<N, CountsError> {
        self.end_longer(0)?;
        Ok(self.nodes)
    }
}
