//! A document's learn calls at every level, computed and not yet carried out.

use std::ops::Range;

use kato_model::PatternName;

use crate::Dropped;

/// Every learn call that one document leads to, at every level, with the names that the calls will
/// give.
///
/// Names are functions of content, so a whole document is planned without asking any node: a plan
/// can be counted into a batch, sent to servers in any order, or looked at. Keep one and reuse it,
/// as its buffers grow to the largest document.
#[derive(Debug, Default)]
pub struct DocumentPlan {
    /// All kept tokens, in order.
    pub(crate) tokens: Vec<u32>,
    pub(crate) nodes: Vec<NodePlan>,
    pub(crate) dropped: Dropped,
    /// Whether calls of the lowest level get an end and no name: they are named when they are
    /// counted.
    pub(crate) is_unnamed: bool,
    /// Tokens that were planned, counted and forgotten.
    n_forgotten: usize,
}

/// The learn calls of one level.
#[derive(Debug, Default)]
pub(crate) struct NodePlan {
    /// Name of each learn call's pattern; meaningless for calls with one symbol.
    pub(crate) names: Vec<PatternName>,
    /// End of each call's symbols, in `DocumentPlan::tokens` or in `children`.
    pub(crate) ends: Vec<u32>,
    /// Start of each call's first symbol in `DocumentPlan::tokens`; what provenance reports.
    pub(crate) first_tokens: Vec<u32>,
    /// What came up from the level below; empty at level 0.
    pub(crate) children: Vec<Child>,
    /// Name of each child; all zeros for `Child::Empty`.
    pub(crate) child_names: Vec<PatternName>,
    /// First token of each child.
    pub(crate) child_tokens: Vec<u32>,
    /// Whether the first call carries the document's metadata.
    pub(crate) metadata_first: bool,
}

/// A symbol of a learn call above level 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Child {
    /// The pattern of this learn call of the level below, counted from 0.
    Below(u32),
    /// A pattern that was carried from an earlier document, or promoted from further down.
    Foreign(PatternName),
    /// The empty symbol, which the original passes up for a chunk of one name.
    Empty,
}

/// One planned learn call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlannedCall<'a> {
    /// The pattern's name; `None` when the call holds one symbol, from which nothing is learned.
    pub name: Option<PatternName>,
    /// The symbols, one event each.
    pub symbols: PlannedSymbols<'a>,
    /// Number of the pattern's first token among the document's kept tokens.
    pub first_token: u32,
    /// Whether the call carries the document's metadata, where metadata are recorded.
    pub with_metadata: bool,
}

/// The symbols of a planned learn call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlannedSymbols<'a> {
    /// Token ids of the tokenizer's vocabulary.
    Tokens(&'a [u32]),
    /// Names from below.
    Children(&'a [Child]),
}

impl PlannedSymbols<'_> {
    /// Returns the number of symbols.
    #[must_use]
    pub const fn len(&self) -> usize {
        match self {
            Self::Tokens(tokens) => tokens.len(),
            Self::Children(children) => children.len(),
        }
    }

    /// Returns whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl DocumentPlan {
    /// Returns the number of levels.
    #[must_use]
    pub fn n_nodes(&self) -> usize {
        self.nodes.len()
    }

    /// Returns the number of tokens that are part of a planned pattern.
    #[must_use]
    pub fn n_tokens(&self) -> usize {
        self.tokens.len() + self.n_forgotten
    }

    /// Returns the tokens that are part of a planned pattern, in order.
    #[must_use]
    pub fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    /// Returns what the rules left out.
    #[must_use]
    pub fn dropped(&self) -> &Dropped {
        &self.dropped
    }

    /// Returns the learn calls of one level, in order; empty for a level that does not exist.
    #[must_use]
    pub fn calls(&self, node_idx: usize) -> impl ExactSizeIterator<Item = PlannedCall<'_>> {
        let n_calls = self.nodes.get(node_idx).map_or(0, |node| node.names.len());
        (0..n_calls).map(move |call_idx| {
            let node = &self.nodes[node_idx];
            let range = node.symbol_range(call_idx);
            // A call of one symbol is listed, as the original makes it, but nothing is learned from
            // it and its stored name means nothing.
            PlannedCall {
                name: (range.len() >= 2).then_some(node.names[call_idx]),
                symbols: match node_idx {
                    0 => PlannedSymbols::Tokens(&self.tokens[range]),
                    _ => PlannedSymbols::Children(&node.children[range]),
                },
                first_token: node.first_tokens[call_idx],
                with_metadata: node.metadata_first && call_idx == 0,
            }
        })
    }

    /// Forgets everything but the number of tokens and what was left out.
    pub(crate) fn count_only(&mut self, n_tokens: usize) {
        self.tokens = Vec::new();
        self.n_forgotten = n_tokens;
        self.is_unnamed = false;
    }

    /// Empties the plan for a hierarchy of `n_nodes` levels, keeping its buffers.
    pub(crate) fn clear(&mut self, n_nodes: usize) {
        self.tokens.clear();
        self.n_forgotten = 0;
        self.is_unnamed = false;
        self.dropped = Dropped::default();
        self.nodes.resize_with(n_nodes, NodePlan::default);
        for node in &mut self.nodes {
            node.names.clear();
            node.ends.clear();
            node.first_tokens.clear();
            node.children.clear();
            node.child_names.clear();
            node.child_tokens.clear();
            node.metadata_first = false;
        }
    }
}

impl NodePlan {
    /// Returns where the symbols of a call are, in `DocumentPlan::tokens` or in `children`.
    pub(crate) fn symbol_range(&self, call_idx: usize) -> Range<usize> {
        let start = if call_idx == 0 {
            0
        } else {
            self.ends[call_idx - 1] as usize
        };
        start..self.ends[call_idx] as usize
    }

    /// Appends a symbol for this level, with its name and first token.
    pub(crate) fn push_child(&mut self, child: Child, name: PatternName, first_token: u32) {
        self.children.push(child);
        self.child_names.push(name);
        self.child_tokens.push(first_token);
    }

    /// Appends the names that the level below learned, in order.
    pub(crate) fn push_children_of(&mut self, below: &Self) {
        for (call_idx, (&name, &first_token)) in
            below.names.iter().zip(&below.first_tokens).enumerate()
        {
            if below.symbol_range(call_idx).len() < 2 {
                // The name only keeps the columns parallel: `name_of_children` hashes an empty
                // symbol as empty text and ignores it.
                self.push_child(
                    Child::Empty,
                    PatternName::from_bytes([0; PatternName::BYTES]),
                    first_token,
                );
            } else {
                self.push_child(Child::Below(place(call_idx)), name, first_token);
            }
        }
    }

    /// Removes the last child and returns its name and first token.
    pub(crate) fn pop_child(&mut self) -> Option<(PatternName, u32)> {
        self.children.pop();
        Some((self.child_names.pop()?, self.child_tokens.pop()?))
    }

    /// Appends a learn call whose symbols end at `end`.
    pub(crate) fn push_call(&mut self, name: PatternName, end: usize, first_token: u32) {
        self.names.push(name);
        self.ends.push(place(end));
        self.first_tokens.push(first_token);
    }
}

/// Returns a place in a document's tokens or calls, as a plan keeps it.
pub(crate) fn place(at: usize) -> u32 {
    // A call of level 0 holds two tokens at least, and a level has hardly more children than the
    // one below has calls: where the tokens can be numbered, so can all the rest.
    u32::try_from(at).expect("a document of more tokens is refused when it is tokenized")
}
