//! Counting: what a set of samples taught, as one value that can be merged into any store.

use std::sync::Arc;

use crate::{AttributeLimits, Attributes, FirstSeen, PatternName, SymbolTable};

/// A symbol of a pattern inside one [`LearnBatch`]: text, or a pattern that the node below learned in the same batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchSymbol {
    /// Text, by its id in the batch's literals (see [`LearnBatch::literal`]).
    Literal(u32),
    /// The name of a pattern of the node below, by the [`Occurrence`] at which it was learned.
    Child(Occurrence),
}

/// One learn call at one node of one batch: the `n`-th, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Occurrence(u32);

impl Occurrence {
    /// Position among the node's learn calls of this batch.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Marks a packed symbol as a literal; a child otherwise.
const LITERAL: u32 = 1 << 31;

/// Most learn calls of one node, symbols of one node, or literals that a batch takes.
const LIMIT: usize = (1 << 31) - 1;

impl BatchSymbol {
    fn pack(self) -> u32 {
        match self {
            Self::Literal(id) => id | LITERAL,
            Self::Child(occurrence) => occurrence.0,
        }
    }

    fn unpack(packed: u32) -> Self {
        if packed & LITERAL == 0 {
            Self::Child(Occurrence(packed))
        } else {
            Self::Literal(packed & !LITERAL)
        }
    }
}

/// What one node learned in a batch, one entry a learn call.
#[derive(Debug, Default)]
struct NodeBatch {
    names: Vec<PatternName>,
    /// End of each occurrence's symbols in `symbols`.
    ends: Vec<u32>,
    symbols: Vec<u32>,
    /// Parallel to `names` when provenance is recorded, else empty.
    first_seen: Vec<FirstSeen>,
    /// Sparse, ascending by occurrence.
    attributes: Vec<(u32, Attributes)>,
}

impl NodeBatch {
    fn symbols_of(&self, occurrence: usize) -> &[u32] {
        let start = if occurrence == 0 {
            0
        } else {
            self.ends[occurrence - 1] as usize
        };
        &self.symbols[start..self.ends[occurrence] as usize]
    }
}

/// What a set of samples taught a run's nodes; to be merged into any store.
///
/// Learning is commutative: a pattern's name is a function of its content and its frequency is a sum. Merging all workers'
/// batches in any order therefore gives the knowledge base that one worker would have built.
///
/// ```
/// use kato_model::{BatchSymbol, LearnBatch, PatternName};
///
/// let mut batch = LearnBatch::new(2);
/// let symbols = ["a", "b", "c"].map(|text| BatchSymbol::Literal(batch.literal(text)));
/// let name: PatternName = "b98534b32c1d7489d4ce1a48724aa65aeecbdba9".parse()?;
/// let first = batch.learn(0, name, symbols);
/// let again = batch.learn(0, name, symbols);
/// # let parent: PatternName = "0000000000000000000000000000000000000000".parse()?;
/// batch.learn(1, parent, [BatchSymbol::Child(first), BatchSymbol::Child(again)]);
///
/// let sealed = batch.seal();
/// assert_eq!(sealed.node(0).len(), 1);
/// assert_eq!(sealed.node(0).pattern(0).frequency, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct LearnBatch {
    nodes: Vec<NodeBatch>,
    /// Literals `0..vocabulary.len()`; shared, so that a tokenizer's vocabulary is held once.
    vocabulary: Arc<SymbolTable>,
    /// Literals from `vocabulary.len()` on.
    literals: SymbolTable,
    limits: AttributeLimits,
    /// Sample index → document id, for provenance.
    documents: Vec<(u64, String)>,
    document_bytes: usize,
    attribute_bytes: usize,
}

impl LearnBatch {
    /// An empty batch for a run of `n_nodes` nodes.
    #[must_use]
    pub fn new(n_nodes: usize) -> Self {
        Self::with_vocabulary(n_nodes, Arc::default())
    }

    /// An empty batch whose literals `0..vocabulary.len()` are the vocabulary's symbols, so that a token id *is* its
    /// literal.
    #[must_use]
    pub fn with_vocabulary(n_nodes: usize, vocabulary: Arc<SymbolTable>) -> Self {
        Self {
            nodes: (0..n_nodes).map(|_| NodeBatch::default()).collect(),
            vocabulary,
            literals: SymbolTable::new(),
            limits: AttributeLimits::default(),
            documents: Vec::new(),
            document_bytes: 0,
            attribute_bytes: 0,
        }
    }

    /// The batch with the limits of the knowledge base that it is for.
    #[must_use]
    pub fn with_limits(self, limits: AttributeLimits) -> Self {
        Self { limits, ..self }
    }

    /// Number of nodes.
    #[must_use]
    pub fn n_nodes(&self) -> usize {
        self.nodes.len()
    }

    /// Whether nothing was learned.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.iter().all(|node| node.names.is_empty())
    }

    /// Learn calls of one node so far.
    ///
    /// # Panics
    ///
    /// When there is no such node.
    #[must_use]
    pub fn observations(&self, node_idx: usize) -> u64 {
        self.nodes[node_idx].names.len() as u64
    }

    /// Heap bytes that the batch's content takes, without the shared vocabulary.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        let nodes: usize = self
            .nodes
            .iter()
            .map(|node| {
                node.names.len() * 24
                    + node.symbols.len() * 4
                    + node.first_seen.len() * size_of::<FirstSeen>()
            })
            .sum();
        nodes + self.literals.heap_bytes() + self.document_bytes + self.attribute_bytes
    }

    /// The literal id of a text symbol.
    pub fn literal(&mut self, text: &str) -> u32 {
        match self.vocabulary.id(text) {
            Some(id) => id,
            None => self.vocabulary.len() as u32 + self.literals.intern(text),
        }
    }

    /// Counts one learn of a pattern whose events hold one symbol each.
    ///
    /// The caller vouches that `name` is the name of exactly these symbols; stores trust it.
    ///
    /// # Panics
    ///
    /// When there is no such node, a child was not learned at the node below, a literal is unknown, or the node's
    /// learn calls or symbols reach 2³¹.
    pub fn learn(
        &mut self,
        node_idx: usize,
        name: PatternName,
        symbols: impl IntoIterator<Item = BatchSymbol>,
    ) -> Occurrence {
        let n_children = match node_idx.checked_sub(1) {
            Some(below) => self.nodes[below].names.len() as u32,
            None => 0,
        };
        let n_literals = (self.vocabulary.len() + self.literals.len()) as u32;
        let node = &mut self.nodes[node_idx];
        node.symbols.extend(symbols.into_iter().map(|symbol| {
            match symbol {
                BatchSymbol::Literal(id) => {
                    assert!(id < n_literals, "a literal comes from this batch")
                }
                BatchSymbol::Child(child) => {
                    assert!(child.0 < n_children, "a child was learned in this batch")
                }
            }
            symbol.pack()
        }));
        node.close(name)
    }

    /// Counts one learn of a chunk of vocabulary symbols, one event each: [`LearnBatch::learn`] at node 0 for a slice of
    /// token ids.
    ///
    /// # Panics
    ///
    /// As [`LearnBatch::learn`].
    pub fn learn_tokens(&mut self, name: PatternName, token_ids: &[u32]) -> Occurrence {
        let n_literals = self.vocabulary.len() as u32;
        assert!(
            token_ids.iter().all(|&id| id < n_literals),
            "a token id comes from the vocabulary"
        );
        let node = &mut self.nodes[0];
        node.symbols
            .extend(token_ids.iter().map(|&id| id | LITERAL));
        node.close(name)
    }

    /// Records where the pattern of a learn call was seen. Call it for every learn call of the node or for none.
    ///
    /// # Panics
    ///
    /// When earlier learn calls of the node were not recorded.
    pub fn record_first_seen(&mut self, node_idx: usize, occurrence: Occurrence, seen: FirstSeen) {
        let node = &mut self.nodes[node_idx];
        assert_eq!(
            node.first_seen.len(),
            occurrence.index(),
            "provenance is recorded for every learn call or none"
        );
        node.first_seen.push(seen);
    }

    /// Attaches metadata, emotives, event lengths or extra counts to the latest learn call of a node.
    ///
    /// # Panics
    ///
    /// When `occurrence` is not the node's latest.
    pub fn attach(&mut self, node_idx: usize, occurrence: Occurrence, attributes: Attributes) {
        let node = &mut self.nodes[node_idx];
        assert_eq!(
            occurrence.index() + 1,
            node.names.len(),
            "attributes belong to the latest learn call"
        );
        self.attribute_bytes += attributes.heap_bytes();
        match node.attributes.last_mut() {
            Some((latest, merged)) if *latest == occurrence.0 => {
                merged.merge(attributes, &self.limits)
            }
            _ => node.attributes.push((occurrence.0, attributes)),
        }
    }

    /// Records the id of the document that was sample number `sample_idx`.
    pub fn record_document(&mut self, sample_idx: u64, id: &str) {
        self.document_bytes += id.len() + size_of::<(u64, String)>();
        self.documents.push((sample_idx, id.to_owned()));
    }

    /// Merges equal patterns and puts everything in name order; the batch is complete.
    #[must_use]
    pub fn seal(self) -> SealedBatch {
        SealedBatch::new(self)
    }

    fn literal_text(&self, id: u32) -> &str {
        let text = match (id as usize).checked_sub(self.vocabulary.len()) {
            None => self.vocabulary.text(id),
            Some(local) => self.literals.text(local as u32),
        };
        text.expect("learn() checks that literals exist")
    }
}

impl NodeBatch {
    fn close(&mut self, name: PatternName) -> Occurrence {
        let occurrence = self.names.len();
        assert!(
            occurrence < LIMIT && self.symbols.len() < LIMIT,
            "a batch is sealed long before 2^31 entries"
        );
        self.names.push(name);
        self.ends.push(self.symbols.len() as u32);
        Occurrence(occurrence as u32)
    }
}

/// A complete batch: every node's distinct patterns in name order, with counts.
///
/// Inside, a symbol is a [`SealedSymbol`]: a rank in the node's dictionary of text symbols, or the rank of a pattern of
/// the node below. Stores turn it into their own form by walking the nodes from the bottom.
#[derive(Debug)]
pub struct SealedBatch {
    batch: LearnBatch,
    nodes: Vec<SealedNode>,
}

/// A symbol of a pattern of a [`SealedBatch`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SealedSymbol {
    /// Text, by its rank in [`NodeView::dictionary`].
    Literal(u32),
    /// The name of the node below's pattern with this rank.
    Child(u32),
}

#[derive(Debug, Default)]
struct SealedNode {
    /// First occurrence of each distinct pattern, in name order.
    firsts: Vec<u32>,
    /// Learn calls of each distinct pattern.
    frequencies: Vec<u32>,
    /// Occurrence → rank of its pattern.
    ranks: Vec<u32>,
    /// Literal ids of the text symbols in use, in text order, texts distinct.
    dictionary: Vec<u32>,
    /// Literal id → rank in `dictionary`; meaningless for literals not in use.
    literal_ranks: Vec<u32>,
    /// Merged attributes, ascending by rank.
    attributes: Vec<(u32, Attributes)>,
    /// Earliest sighting by rank, or empty.
    first_seen: Vec<FirstSeen>,
}

impl SealedBatch {
    fn new(mut batch: LearnBatch) -> Self {
        let nodes = (0..batch.nodes.len())
            .map(|node_idx| {
                let attributes = std::mem::take(&mut batch.nodes[node_idx].attributes);
                SealedNode::new(&batch, node_idx, attributes)
            })
            .collect();
        batch.documents.sort_unstable();
        batch.documents.dedup();
        Self { batch, nodes }
    }

    /// Number of nodes.
    #[must_use]
    pub fn n_nodes(&self) -> usize {
        self.nodes.len()
    }

    /// What one node learned.
    ///
    /// # Panics
    ///
    /// When there is no such node.
    #[must_use]
    pub fn node(&self, node_idx: usize) -> NodeView<'_> {
        NodeView {
            batch: &self.batch,
            learned: &self.batch.nodes[node_idx],
            sealed: &self.nodes[node_idx],
            node_idx,
            sealed_nodes: &self.nodes,
        }
    }

    /// Sample index and id of every recorded document, ascending.
    #[must_use]
    pub fn documents(&self) -> &[(u64, String)] {
        &self.batch.documents
    }
}

impl SealedNode {
    fn new(batch: &LearnBatch, node_idx: usize, attributes: Vec<(u32, Attributes)>) -> Self {
        let learned = &batch.nodes[node_idx];
        let order = name_order(&learned.names);
        let mut sealed = Self {
            ranks: vec![0; order.len()],
            ..Self::default()
        };
        let mut previous: Option<&PatternName> = None;
        for &occurrence in &order {
            let name = &learned.names[occurrence as usize];
            if previous == Some(name) {
                let last = sealed
                    .frequencies
                    .last_mut()
                    .expect("a previous name was counted");
                *last += 1;
            } else {
                sealed.firsts.push(occurrence);
                sealed.frequencies.push(1);
                previous = Some(name);
            }
            sealed.ranks[occurrence as usize] = sealed.firsts.len() as u32 - 1;
        }
        sealed.number_literals(batch, learned);
        sealed.merge_attributes(attributes, &batch.limits);
        sealed.merge_first_seen(learned);
        sealed
    }

    fn number_literals(&mut self, batch: &LearnBatch, learned: &NodeBatch) {
        let n_literals = batch.vocabulary.len() + batch.literals.len();
        let mut in_use = vec![false; n_literals];
        for &packed in &learned.symbols {
            if let BatchSymbol::Literal(id) = BatchSymbol::unpack(packed) {
                in_use[id as usize] = true;
            }
        }
        let mut used: Vec<u32> = (0..n_literals as u32)
            .filter(|&id| in_use[id as usize])
            .collect();
        used.sort_by(|&a, &b| batch.literal_text(a).cmp(batch.literal_text(b)));
        if used.is_empty() {
            return;
        }
        self.literal_ranks = vec![0; n_literals];
        for id in used {
            // A vocabulary may give two ids to one text; both then have one rank.
            let repeats = self
                .dictionary
                .last()
                .is_some_and(|&last| batch.literal_text(last) == batch.literal_text(id));
            if !repeats {
                self.dictionary.push(id);
            }
            self.literal_ranks[id as usize] = self.dictionary.len() as u32 - 1;
        }
    }

    fn merge_attributes(&mut self, attributes: Vec<(u32, Attributes)>, limits: &AttributeLimits) {
        let mut by_rank: Vec<(u32, Attributes)> = attributes
            .into_iter()
            .map(|(occurrence, value)| (self.ranks[occurrence as usize], value))
            .collect();
        by_rank.sort_by_key(|&(rank, _)| rank);
        for (rank, value) in by_rank {
            match self.attributes.last_mut() {
                Some((last, merged)) if *last == rank => merged.merge(value, limits),
                _ => self.attributes.push((rank, value)),
            }
        }
    }

    fn merge_first_seen(&mut self, learned: &NodeBatch) {
        if learned.first_seen.is_empty() {
            return;
        }
        self.first_seen = self
            .firsts
            .iter()
            .map(|&first| learned.first_seen[first as usize])
            .collect();
        for (occurrence, &seen) in learned.first_seen.iter().enumerate() {
            let earliest = &mut self.first_seen[self.ranks[occurrence] as usize];
            *earliest = seen.min(*earliest);
        }
    }
}

/// Occurrences in name order; equal names in order of occurrence.
fn name_order(names: &[PatternName]) -> Vec<u32> {
    // Names are SHA-1 digests, so eight leading bytes decide nearly every comparison and stay in cache.
    let mut keys: Vec<(u64, u32)> = names
        .iter()
        .zip(0..)
        .map(|(name, occurrence)| (name.leading_u64(), occurrence))
        .collect();
    keys.sort_unstable();
    // Different names with equal leading bytes are all but impossible, yet must be in order when they occur.
    for group in keys.chunk_by_mut(|a, b| a.0 == b.0) {
        if group.len() > 1 {
            group.sort_unstable_by_key(|&(_, occurrence)| (names[occurrence as usize], occurrence));
        }
    }
    keys.into_iter().map(|(_, occurrence)| occurrence).collect()
}

/// What one node learned in a [`SealedBatch`].
#[derive(Debug, Clone, Copy)]
pub struct NodeView<'a> {
    batch: &'a LearnBatch,
    learned: &'a NodeBatch,
    sealed: &'a SealedNode,
    sealed_nodes: &'a [SealedNode],
    node_idx: usize,
}

/// One distinct pattern of a [`SealedBatch`].
#[derive(Debug, Clone, Copy)]
pub struct SealedPattern<'a> {
    /// The pattern's name.
    pub name: PatternName,
    /// Learn calls in this batch.
    pub frequency: u64,
    /// Metadata, emotives and event lengths, if any were attached.
    pub attributes: Option<&'a Attributes>,
    /// Earliest sighting, if provenance is recorded.
    pub first_seen: Option<FirstSeen>,
}

impl<'a> NodeView<'a> {
    /// Number of distinct patterns.
    #[must_use]
    pub fn len(&self) -> usize {
        self.sealed.firsts.len()
    }

    /// Whether the node learned nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sealed.firsts.is_empty()
    }

    /// Text symbols in use, in code-point order.
    pub fn dictionary(&self) -> impl ExactSizeIterator<Item = &'a str> + use<'a> {
        let batch = self.batch;
        self.sealed
            .dictionary
            .iter()
            .map(move |&id| batch.literal_text(id))
    }

    /// The distinct pattern with this rank (position in name order).
    ///
    /// # Panics
    ///
    /// When `rank` is not below [`NodeView::len`].
    #[must_use]
    pub fn pattern(&self, rank: usize) -> SealedPattern<'a> {
        let attributes = match self
            .sealed
            .attributes
            .binary_search_by_key(&(rank as u32), |&(rank, _)| rank)
        {
            Ok(found) if !self.sealed.attributes.is_empty() => {
                Some(&self.sealed.attributes[found].1)
            }
            _ => None,
        };
        SealedPattern {
            name: self.learned.names[self.sealed.firsts[rank] as usize],
            frequency: u64::from(self.sealed.frequencies[rank])
                + attributes.map_or(0, |a| a.extra_frequency),
            attributes,
            first_seen: self.sealed.first_seen.get(rank).copied(),
        }
    }

    /// The symbols of the pattern with this rank, in order.
    ///
    /// # Panics
    ///
    /// When `rank` is not below [`NodeView::len`].
    pub fn symbols(&self, rank: usize) -> impl ExactSizeIterator<Item = SealedSymbol> + use<'a> {
        let sealed = self.sealed;
        let ranks_below = match self.node_idx.checked_sub(1) {
            Some(below) => self.sealed_nodes[below].ranks.as_slice(),
            None => &[],
        };
        self.learned
            .symbols_of(sealed.firsts[rank] as usize)
            .iter()
            .map(move |&packed| match BatchSymbol::unpack(packed) {
                BatchSymbol::Literal(id) => {
                    SealedSymbol::Literal(sealed.literal_ranks[id as usize])
                }
                BatchSymbol::Child(occurrence) => {
                    SealedSymbol::Child(ranks_below[occurrence.index()])
                }
            })
    }
}
