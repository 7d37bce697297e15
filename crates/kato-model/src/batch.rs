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

/// One learn call at one node of one batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Occurrence(u32);

impl Occurrence {
    fn new(part_idx: usize, idx: usize) -> Self {
        Self((part_idx << PART_SHIFT | idx) as u32)
    }

    fn part_idx(self) -> usize {
        (self.0 >> PART_SHIFT) as usize
    }

    fn idx(self) -> usize {
        self.0 as usize & (PART_LIMIT - 1)
    }
}

/// Learn calls are kept apart by the leading bits of their names, so that sealing sorts and gathers within parts that fit
/// the processor's cache: a batch of millions of patterns is otherwise bound by cache misses.
const N_PARTS: usize = 128;

/// Bits of an [`Occurrence`] below its part.
const PART_SHIFT: u32 = 24;

/// Most learn calls of one part.
const PART_LIMIT: usize = 1 << PART_SHIFT;

fn part_of(name: &PatternName) -> usize {
    (name.leading_u64() >> (u64::BITS - N_PARTS.ilog2())) as usize
}

/// Marks a packed symbol as a literal; a child otherwise.
const LITERAL: u32 = 1 << 31;

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

/// What one node learned in a batch.
#[derive(Debug)]
struct NodeBatch {
    parts: Vec<Part>,
    /// Sparse, in order of learning.
    attributes: Vec<(Occurrence, Attributes)>,
    latest: Option<Occurrence>,
    n_calls: u64,
    n_symbols: usize,
    /// Learn calls whose place was recorded.
    n_seen: u64,
}

/// The learn calls whose names have the same leading bits, one entry a call.
#[derive(Debug, Default)]
struct Part {
    names: Vec<PatternName>,
    /// End of each call's symbols in `symbols`.
    ends: Vec<u32>,
    symbols: Vec<u32>,
    /// Parallel to `names` when provenance is recorded, else empty.
    first_seen: Vec<FirstSeen>,
}

impl Part {
    fn symbols_of(&self, idx: usize) -> &[u32] {
        let start = if idx == 0 { 0 } else { self.ends[idx - 1] as usize };
        &self.symbols[start..self.ends[idx] as usize]
    }
}

impl NodeBatch {
    fn new() -> Self {
        let parts = (0..N_PARTS).map(|_| Part::default()).collect();
        Self { parts, attributes: Vec::new(), latest: None, n_calls: 0, n_symbols: 0, n_seen: 0 }
    }

    fn learn(&mut self, name: PatternName, symbols: impl Iterator<Item = u32>) -> Occurrence {
        let part_idx = part_of(&name);
        let part = &mut self.parts[part_idx];
        let before = part.symbols.len();
        part.symbols.extend(symbols);
        assert!(
            part.names.len() < PART_LIMIT && u32::try_from(part.symbols.len()).is_ok(),
            "a batch is sealed long before it holds billions of entries"
        );
        self.n_symbols += part.symbols.len() - before;
        self.n_calls += 1;
        let occurrence = Occurrence::new(part_idx, part.names.len());
        part.names.push(name);
        part.ends.push(part.symbols.len() as u32);
        self.latest = Some(occurrence);
        occurrence
    }

    fn holds(&self, occurrence: Occurrence) -> bool {
        self.parts.get(occurrence.part_idx()).is_some_and(|part| occurrence.idx() < part.names.len())
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
            nodes: (0..n_nodes).map(|_| NodeBatch::new()).collect(),
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
        self.nodes.iter().all(|node| node.n_calls == 0)
    }

    /// Learn calls of one node so far.
    ///
    /// # Panics
    ///
    /// When there is no such node.
    #[must_use]
    pub fn observations(&self, node_idx: usize) -> u64 {
        self.nodes[node_idx].n_calls
    }

    /// Heap bytes that the batch's content takes, without the shared vocabulary.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        const CALL_BYTES: usize = size_of::<PatternName>() + size_of::<u32>();
        let nodes: usize = self
            .nodes
            .iter()
            .map(|node| {
                let (n_calls, n_seen) = (node.n_calls as usize, node.n_seen as usize);
                n_calls * CALL_BYTES + node.n_symbols * size_of::<u32>() + n_seen * size_of::<FirstSeen>()
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
    /// When there is no such node, a child was not learned at the node below, a literal is unknown, or the batch holds
    /// billions of entries.
    pub fn learn(
        &mut self,
        node_idx: usize,
        name: PatternName,
        symbols: impl IntoIterator<Item = BatchSymbol>,
    ) -> Occurrence {
        let n_literals = (self.vocabulary.len() + self.literals.len()) as u32;
        let (below, nodes) = self.nodes.split_at_mut(node_idx);
        let below = below.last();
        nodes[0].learn(
            name,
            symbols.into_iter().map(|symbol| {
                match symbol {
                    BatchSymbol::Literal(id) => assert!(id < n_literals, "a literal comes from this batch"),
                    BatchSymbol::Child(child) => {
                        assert!(below.is_some_and(|below| below.holds(child)), "a child was learned in this batch");
                    }
                }
                symbol.pack()
            }),
        )
    }

    /// Counts one learn of a chunk of vocabulary symbols, one event each: [`LearnBatch::learn`] at node 0 for a slice of
    /// token ids.
    ///
    /// # Panics
    ///
    /// As [`LearnBatch::learn`].
    pub fn learn_tokens(&mut self, name: PatternName, token_ids: &[u32]) -> Occurrence {
        let n_literals = self.vocabulary.len() as u32;
        assert!(token_ids.iter().all(|&id| id < n_literals), "a token id comes from the vocabulary");
        self.nodes[0].learn(name, token_ids.iter().map(|&id| id | LITERAL))
    }

    /// Records where the pattern of a node's latest learn call was seen. Call it for every learn call of the node or for
    /// none.
    ///
    /// # Panics
    ///
    /// When `occurrence` is not the node's latest, or earlier learn calls of the node were not recorded.
    pub fn record_first_seen(&mut self, node_idx: usize, occurrence: Occurrence, seen: FirstSeen) {
        let node = &mut self.nodes[node_idx];
        node.n_seen += 1;
        assert!(
            node.latest == Some(occurrence) && node.n_seen == node.n_calls,
            "provenance is recorded for every learn call or none"
        );
        node.parts[occurrence.part_idx()].first_seen.push(seen);
    }

    /// Attaches metadata, emotives, event lengths or extra counts to the latest learn call of a node.
    ///
    /// # Panics
    ///
    /// When `occurrence` is not the node's latest.
    pub fn attach(&mut self, node_idx: usize, occurrence: Occurrence, attributes: Attributes) {
        let node = &mut self.nodes[node_idx];
        assert_eq!(node.latest, Some(occurrence), "attributes belong to the latest learn call");
        self.attribute_bytes += attributes.heap_bytes();
        match node.attributes.last_mut() {
            Some((latest, merged)) if *latest == occurrence => merged.merge(attributes, &self.limits),
            _ => node.attributes.push((occurrence, attributes)),
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
    parts: Vec<SealedPart>,
    n_patterns: usize,
    /// Literal ids of the text symbols in use, in text order, texts distinct.
    dictionary: Vec<u32>,
    /// Literal id → rank in `dictionary`; meaningless for literals not in use.
    literal_ranks: Vec<u32>,
    /// Merged attributes, ascending by rank.
    attributes: Vec<(u32, Attributes)>,
}

/// The distinct patterns of one part of a node, in name order.
#[derive(Debug, Default)]
struct SealedPart {
    /// Rank of the part's first pattern.
    first_rank: u32,
    /// First call of each distinct pattern.
    firsts: Vec<u32>,
    /// Learn calls of each distinct pattern.
    frequencies: Vec<u32>,
    /// Call → rank of its pattern.
    ranks: Vec<u32>,
    /// Earliest sighting of each distinct pattern, or empty.
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
            below: node_idx.checked_sub(1).map(|below| &self.nodes[below]),
        }
    }

    /// Sample index and id of every recorded document, ascending.
    #[must_use]
    pub fn documents(&self) -> &[(u64, String)] {
        &self.batch.documents
    }
}

impl SealedNode {
    fn new(batch: &LearnBatch, node_idx: usize, attributes: Vec<(Occurrence, Attributes)>) -> Self {
        let learned = &batch.nodes[node_idx];
        let mut sealed = Self::default();
        let mut keys = Vec::new();
        for part in &learned.parts {
            let part = SealedPart::new(part, sealed.n_patterns as u32, &mut keys);
            sealed.n_patterns += part.firsts.len();
            sealed.parts.push(part);
        }
        sealed.number_literals(batch, learned);
        sealed.merge_attributes(attributes, &batch.limits);
        sealed
    }

    /// Rank of the pattern of a learn call.
    fn rank(&self, occurrence: Occurrence) -> u32 {
        self.parts[occurrence.part_idx()].ranks[occurrence.idx()]
    }

    fn number_literals(&mut self, batch: &LearnBatch, learned: &NodeBatch) {
        let n_literals = batch.vocabulary.len() + batch.literals.len();
        let mut in_use = vec![false; n_literals];
        for &packed in learned.parts.iter().flat_map(|part| &part.symbols) {
            if let BatchSymbol::Literal(id) = BatchSymbol::unpack(packed) {
                in_use[id as usize] = true;
            }
        }
        let mut used: Vec<u32> = (0..n_literals as u32).filter(|&id| in_use[id as usize]).collect();
        used.sort_by(|&a, &b| batch.literal_text(a).cmp(batch.literal_text(b)));
        if used.is_empty() {
            return;
        }
        self.literal_ranks = vec![0; n_literals];
        for id in used {
            // A vocabulary may give two ids to one text; both then have one rank.
            let text = batch.literal_text(id);
            let repeats = self.dictionary.last().is_some_and(|&last| batch.literal_text(last) == text);
            if !repeats {
                self.dictionary.push(id);
            }
            self.literal_ranks[id as usize] = self.dictionary.len() as u32 - 1;
        }
    }

    fn merge_attributes(&mut self, attributes: Vec<(Occurrence, Attributes)>, limits: &AttributeLimits) {
        let mut by_rank: Vec<(u32, Attributes)> =
            attributes.into_iter().map(|(occurrence, value)| (self.rank(occurrence), value)).collect();
        by_rank.sort_by_key(|&(rank, _)| rank);
        for (rank, value) in by_rank {
            match self.attributes.last_mut() {
                Some((last, merged)) if *last == rank => merged.merge(value, limits),
                _ => self.attributes.push((rank, value)),
            }
        }
    }
}

impl SealedPart {
    fn new(part: &Part, first_rank: u32, keys: &mut Vec<(u64, u32)>) -> Self {
        let mut sealed = Self { first_rank, ranks: vec![0; part.names.len()], ..Self::default() };
        sort_by_name(&part.names, keys);
        let mut previous: Option<&PatternName> = None;
        for &(_, idx) in &*keys {
            let name = &part.names[idx as usize];
            match sealed.frequencies.last_mut() {
                Some(frequency) if previous == Some(name) => *frequency += 1,
                _ => {
                    sealed.firsts.push(idx);
                    sealed.frequencies.push(1);
                    previous = Some(name);
                }
            }
            sealed.ranks[idx as usize] = first_rank + sealed.firsts.len() as u32 - 1;
        }
        sealed.merge_first_seen(part);
        sealed
    }

    fn merge_first_seen(&mut self, part: &Part) {
        if part.first_seen.is_empty() {
            return;
        }
        self.first_seen = self.firsts.iter().map(|&first| part.first_seen[first as usize]).collect();
        for (&rank, &seen) in self.ranks.iter().zip(&part.first_seen) {
            let earliest = &mut self.first_seen[(rank - self.first_rank) as usize];
            *earliest = seen.min(*earliest);
        }
    }
}

/// Fills `keys` with leading bytes and position of the names, in name order; equal names in order of position.
fn sort_by_name(names: &[PatternName], keys: &mut Vec<(u64, u32)>) {
    // Names are SHA-1 digests, so eight leading bytes decide nearly every comparison.
    keys.clear();
    keys.extend(names.iter().zip(0..).map(|(name, idx)| (name.leading_u64(), idx)));
    keys.sort_unstable();
    // Different names with equal leading bytes are all but impossible, yet must be in order when they occur.
    for group in keys.chunk_by_mut(|a, b| a.0 == b.0) {
        if group.len() > 1 {
            group.sort_unstable_by_key(|&(_, idx)| (names[idx as usize], idx));
        }
    }
}

/// What one node learned in a [`SealedBatch`].
#[derive(Debug, Clone, Copy)]
pub struct NodeView<'a> {
    batch: &'a LearnBatch,
    learned: &'a NodeBatch,
    sealed: &'a SealedNode,
    below: Option<&'a SealedNode>,
}

/// One distinct pattern of a [`SealedBatch`].
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct SealedPattern<'a> {
    /// The pattern's name.
    pub name: PatternName,
    /// Learn calls in this batch.
    pub frequency: u64,
    /// Metadata, emotives and event lengths, if any were attached.
    pub attributes: Option<&'a Attributes>,
    /// Earliest sighting, if provenance is recorded.
    pub first_seen: Option<FirstSeen>,
    packed: &'a [u32],
    literal_ranks: &'a [u32],
    below: Option<&'a SealedNode>,
}

impl<'a> SealedPattern<'a> {
    /// The symbols, in order.
    pub fn symbols(&self) -> impl ExactSizeIterator<Item = SealedSymbol> + use<'a> {
        let (literal_ranks, below) = (self.literal_ranks, self.below);
        self.packed.iter().map(move |&packed| match (BatchSymbol::unpack(packed), below) {
            (BatchSymbol::Literal(id), _) => SealedSymbol::Literal(literal_ranks[id as usize]),
            (BatchSymbol::Child(occurrence), Some(below)) => SealedSymbol::Child(below.rank(occurrence)),
            (BatchSymbol::Child(_), None) => unreachable!("learn() takes children only above node 0"),
        })
    }
}

impl<'a> NodeView<'a> {
    /// Number of distinct patterns.
    #[must_use]
    pub fn len(&self) -> usize {
        self.sealed.n_patterns
    }

    /// Whether the node learned nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sealed.n_patterns == 0
    }

    /// Text symbols in use, in code-point order.
    #[must_use]
    pub fn dictionary(&self) -> impl ExactSizeIterator<Item = &'a str> + use<'a> {
        let batch = self.batch;
        self.sealed.dictionary.iter().map(move |&id| batch.literal_text(id))
    }

    /// The distinct patterns in name order; the position of one is its *rank*.
    pub fn patterns(&self) -> impl Iterator<Item = SealedPattern<'a>> + use<'a> {
        let view = *self;
        let mut attributes = view.sealed.attributes.iter().peekable();
        (0..view.sealed.parts.len()).flat_map(move |part_idx| {
            (0..view.sealed.parts[part_idx].firsts.len()).map(move |idx| (part_idx, idx))
        }).map(move |(part_idx, idx)| {
            let rank = view.sealed.parts[part_idx].first_rank + idx as u32;
            let attributes = attributes.next_if(|(of, _)| *of == rank).map(|(_, attributes)| attributes);
            view.pattern_at(part_idx, idx, attributes)
        })
    }

    /// The distinct pattern with this rank.
    ///
    /// # Panics
    ///
    /// When `rank` is not below [`NodeView::len`].
    #[must_use]
    pub fn pattern(&self, rank: usize) -> SealedPattern<'a> {
        assert!(rank < self.len(), "there is no pattern of rank {rank}");
        let part_idx = self.sealed.parts.partition_point(|part| part.first_rank as usize <= rank) - 1;
        let idx = rank - self.sealed.parts[part_idx].first_rank as usize;
        let attributes = self.sealed.attributes.binary_search_by_key(&rank, |&(of, _)| of as usize);
        self.pattern_at(part_idx, idx, attributes.ok().map(|found| &self.sealed.attributes[found].1))
    }

    /// The symbols of the pattern with this rank, in order.
    ///
    /// # Panics
    ///
    /// When `rank` is not below [`NodeView::len`].
    pub fn symbols(&self, rank: usize) -> impl ExactSizeIterator<Item = SealedSymbol> + use<'a> {
        self.pattern(rank).symbols()
    }

    fn pattern_at(&self, part_idx: usize, idx: usize, attributes: Option<&'a Attributes>) -> SealedPattern<'a> {
        let (sealed, learned) = (&self.sealed.parts[part_idx], &self.learned.parts[part_idx]);
        let first = sealed.firsts[idx] as usize;
        let extra = attributes.map_or(0, |attributes| attributes.extra_frequency);
        SealedPattern {
            name: learned.names[first],
            frequency: u64::from(sealed.frequencies[idx]).saturating_add(extra),
            attributes,
            first_seen: sealed.first_seen.get(idx).copied(),
            packed: learned.symbols_of(first),
            literal_ranks: &self.sealed.literal_ranks,
            below: self.below,
        }
    }
}
