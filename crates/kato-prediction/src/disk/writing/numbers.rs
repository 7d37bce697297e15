//! The numbers of a node's symbols in an index that adds to others: what those know keeps its number.

use std::sync::Arc;

use kato_model::PatternName;
use kato_store::visit::OrderedNode;

use crate::SymbolId;
use crate::frozen::{FrozenIndex, id_of, number_of};

/// The bit that marks the id of a pattern name.
const NAME: u32 = 1 << 31;

/// What an index of a node adds to, and what it makes of the symbols that it is shown.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    /// The index of the node that is added to; `None` where everything is indexed anew, and every number
    /// stays as it is.
    lower: Option<Arc<FrozenIndex>>,
    /// By number among those shown, the id.
    ids: Vec<SymbolId>,
    /// Patterns of the node below, and texts, with those of the lower indexes.
    n_below: u32,
    n_texts: u32,
    /// What [`FrozenIndex::rank_near`] leaves.
    near: Vec<u32>,
}

/// The ids that the patterns of a node have as symbols of the node above, in the order in which they were
/// shown.
#[derive(Debug, Default)]
pub(super) struct Children {
    /// The index of the node above that is added to.
    above: Option<Arc<FrozenIndex>>,
    ids: Vec<SymbolId>,
}

impl Children {
    /// Begins to number the patterns of a node, of which the index of the node above is added to.
    pub(super) fn new(above: Option<Arc<FrozenIndex>>) -> Self {
        Self {
            above,
            ids: Vec::new(),
        }
    }

    /// Numbers the next pattern, given by its rank among all.
    pub(super) fn push(&mut self, name: &PatternName, rank: u32) {
        let Some(above) = &self.above else {
            return;
        };
        // A name that the node below did not hold once is a text there, and stays one.
        let has_texts = above.n_texts() > 0;
        let known = has_texts.then(|| above.name_id(name)).flatten();
        self.ids.push(known.unwrap_or(SymbolId(NAME | rank)));
    }
}

impl Numbers {
    /// Numbers the symbols of a node that begins, over an index of it: `children` are the patterns of the
    /// node below, of which there are `n_below` in all. Returns the texts that are new with the numbers.
    pub(super) fn new<'a>(
        lower: Option<Arc<FrozenIndex>>,
        children: Children,
        n_below: u32,
        node: &OrderedNode<'a>,
    ) -> (Self, Vec<&'a str>) {
        let Some(lower) = lower else {
            let numbers = Self {
                n_below: node.n_below,
                // As many as there are numbers, which 32 bits count.
                n_texts: u32::try_from(node.texts.len()).unwrap_or(u32::MAX),
                ..Self::default()
            };
            return (numbers, node.texts.to_vec());
        };
        let mut ids = children.ids;
        let mut new = Vec::new();
        let mut n_texts = lower.n_texts();
        for &text in node.texts {
            ids.push(lower.id(text).unwrap_or_else(|| {
                new.push(text);
                n_texts = n_texts.saturating_add(1);
                SymbolId(n_texts - 1)
            }));
        }
        let numbers = Self {
            lower: Some(lower),
            ids,
            n_below,
            n_texts,
            near: Vec::new(),
        };
        (numbers, new)
    }

    /// Returns the patterns of the node below, those of lower indexes included.
    pub(super) const fn n_below(&self) -> u32 {
        self.n_below
    }

    /// Returns the number of texts, those of lower indexes included.
    pub(super) const fn n_texts(&self) -> u32 {
        self.n_texts
    }

    /// Returns the index that is added to.
    pub(super) fn lower(&self) -> Option<&Arc<FrozenIndex>> {
        self.lower.as_ref()
    }

    /// Returns the texts of lower indexes.
    pub(super) fn first_text(&self) -> u32 {
        self.lower.as_ref().map_or(0, |lower| lower.n_texts())
    }

    /// Returns the rank of a pattern that lower indexes hold. Names ascend.
    pub(super) fn lower_rank(&mut self, name: &PatternName) -> Option<u32> {
        self.lower.as_ref()?.rank_near(name, &mut self.near)
    }

    /// Replaces `out` by the numbers of symbols that were shown.
    pub(super) fn translate(&self, shown: &[u32], out: &mut Vec<u32>) {
        out.clear();
        if self.lower.is_none() {
            out.extend_from_slice(shown);
            return;
        }
        out.extend(shown.iter().map(|&symbol| {
            // Damage of what is added to leaves nothing right, and is found in the end.
            let id = self
                .ids
                .get(symbol as usize)
                .copied()
                .unwrap_or(SymbolId(0));
            number_of(id, self.n_below, self.n_texts).unwrap_or(0)
        }));
    }

    /// Counts the symbols that occur in a pattern, those that do in lower indexes included: `held` are the
    /// numbers of those that do in the new ones.
    pub(super) fn n_symbols(&self, held: impl Iterator<Item = u32>) -> u64 {
        let Some(lower) = &self.lower else {
            return held.count() as u64;
        };
        let is_new = |number: &u32| lower.n_patterns_with(id_of(*number, self.n_below)) == 0;
        lower.n_symbols() as u64 + held.filter(is_new).count() as u64
    }
}
