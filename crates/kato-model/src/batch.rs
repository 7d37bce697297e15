//! Learn batches: what a set of documents taught, as one value that can be merged into any store.

mod sealed;
mod vectors;

use std::sync::Arc;

pub use self::sealed::{NamedSymbol, SealedBatch, SealedNodeView, SealedPattern, SealedSymbol};
use self::vectors::Vectors;
use crate::{AttributeLimits, Attributes, FirstSeen, PatternName, SymbolTable, VectorName};

/// A symbol of a pattern inside one [`LearnBatch`]: text, or a pattern that the node below learned
/// in the same batch.
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
    /// Creates the occurrence at a position within a part.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "`NodeBatch::learn` sees to it that the index has 24 bits, and a part has 7"
    )]
    fn new(part_idx: usize, idx: usize) -> Self {
        // The part takes 7 bits above the 24 of the index, so the top bit is never set: packed
        // symbols mark literals with it.
        Self((part_idx << PART_SHIFT | idx) as u32)
    }

    /// Returns the part.
    fn part_idx(self) -> usize {
        (self.0 >> PART_SHIFT) as usize
    }

    /// Returns the position within the part.
    fn idx(self) -> usize {
        self.0 as usize & (PART_LIMIT - 1)
    }
}

/// Learn calls are kept apart by the leading bits of their names, so that sealing sorts and gathers
/// within parts that fit the processor's cache: a batch of millions of patterns is otherwise bound
/// by cache misses.
const N_PARTS: usize = 128;

/// Number of bits of an [`Occurrence`] that hold the position within its part.
const PART_SHIFT: u32 = 24;

/// Largest number of learn calls in one part.
const PART_LIMIT: usize = 1 << PART_SHIFT;

/// Returns the part that a name belongs to.
fn part_index(name: &PatternName) -> usize {
    // Names are digests, so their leading bits spread learn calls evenly. The same bits decide the
    // order of names, so all names of a part precede those of the next.
    usize::from(name.as_bytes()[0] >> (u8::BITS - N_PARTS.ilog2()))
}

/// The bit that marks a packed symbol as a literal; without it the symbol is a child.
const LITERAL: u32 = 1 << 31;

impl BatchSymbol {
    /// Packs the symbol into four bytes.
    fn pack(self) -> u32 {
        match self {
            Self::Literal(id) => id | LITERAL,
            Self::Child(occurrence) => occurrence.0,
        }
    }

    /// Unpacks a symbol.
    fn unpack(packed: u32) -> Self {
        if packed & LITERAL == 0 {
            Self::Child(Occurrence(packed))
        } else {
            Self::Literal(packed & !LITERAL)
        }
    }
}

/// Returns the literal id of the text that has this id among those beyond the vocabulary.
fn literal_id(vocabulary_len: usize, local: u32) -> u32 {
    // Each of the two tables keeps to 31 bits; their sum need not, and the bit that marks a literal
    // would be lost in it.
    let id = u32::try_from(vocabulary_len)
        .ok()
        .and_then(|first| first.checked_add(local));
    id.filter(|id| id & LITERAL == 0)
        .expect("a batch is sealed long before it holds 2^31 literals")
}

/// Everything that one node learned in a batch.
#[derive(Debug)]
struct NodeBatch {
    parts: Vec<Part>,
    /// Attributes of the learn calls that have any, in order of learning.
    attributes: Vec<(Occurrence, Attributes)>,
    vectors: Vectors,
    latest: Option<Occurrence>,
    n_calls: usize,
    n_symbols: usize,
    /// Learn calls whose first sighting was recorded.
    n_seen: usize,
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
    /// Returns the symbols of a learn call.
    fn symbols_of(&self, idx: usize) -> &[u32] {
        let start = if idx == 0 {
            0
        } else {
            self.ends[idx - 1] as usize
        };
        &self.symbols[start..self.ends[idx] as usize]
    }
}

impl NodeBatch {
    /// Creates the batch of a node that has learned nothing.
    fn new() -> Self {
        let parts = (0..N_PARTS).map(|_| Part::default()).collect();
        Self {
            parts,
            attributes: Vec::new(),
            vectors: Vectors::default(),
            latest: None,
            n_calls: 0,
            n_symbols: 0,
            n_seen: 0,
        }
    }

    /// Adds one learn call with its packed symbols.
    fn learn(&mut self, name: PatternName, symbols: impl Iterator<Item = u32>) -> Occurrence {
        let part_idx = part_index(&name);
        let part = &mut self.parts[part_idx];
        let before = part.symbols.len();
        part.symbols.extend(symbols);
        // These bounds keep the index of an occurrence within its 24 bits and every end in `ends`
        // within 32. Checked after the symbols are in, as an iterator need not know its length.
        let end = u32::try_from(part.symbols.len())
            .ok()
            .filter(|_| part.names.len() < PART_LIMIT)
            .expect(
                "a batch is sealed long before a part of it holds 2^24 learn calls or 2^32 symbols",
            );
        self.n_symbols += part.symbols.len() - before;
        self.n_calls += 1;
        let occurrence = Occurrence::new(part_idx, part.names.len());
        part.names.push(name);
        part.ends.push(end);
        self.latest = Some(occurrence);
        occurrence
    }

    /// Returns whether a learn call was made at this node.
    fn contains(&self, occurrence: Occurrence) -> bool {
        self.parts
            .get(occurrence.part_idx())
            .is_some_and(|part| occurrence.idx() < part.names.len())
    }
}

/// Everything that a set of documents taught a run's nodes, to be merged into any store.
///
/// Learning is commutative: a pattern's name is a function of its content and its frequency is a
/// sum. Merging all workers' batches in any order therefore gives the knowledge base that one
/// worker would have built, but for the last bits of sums of affinity.
///
/// ```
/// use kato_model::batch::BatchSymbol;
/// use kato_model::{LearnBatch, PatternName};
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
    /// Creates an empty batch for a run of `n_nodes` nodes.
    #[must_use]
    pub fn new(n_nodes: usize) -> Self {
        Self::with_vocabulary(n_nodes, Arc::default())
    }

    /// Creates an empty batch whose literals `0..vocabulary.len()` are the vocabulary's symbols, so
    /// that a token id *is* its literal.
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

    /// Sets the limits of the knowledge base that the batch is for.
    #[must_use]
    pub fn with_limits(self, limits: AttributeLimits) -> Self {
        Self { limits, ..self }
    }

    /// Returns the number of nodes.
    #[must_use]
    pub fn n_nodes(&self) -> usize {
        self.nodes.len()
    }

    /// Returns whether nothing was learned and no document or vector was recorded.
    ///
    /// A store does not need such a batch.
    ///
    /// ```
    /// let mut batch = kato_model::LearnBatch::new(1);
    /// assert!(batch.is_empty());
    /// batch.record_document(0, "too short for a pattern");
    /// assert!(!batch.is_empty());
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let is_empty = |node: &NodeBatch| node.n_calls == 0 && node.vectors.is_empty();
        self.nodes.iter().all(is_empty) && self.documents.is_empty()
    }

    /// Returns the number of learn calls of one node so far.
    ///
    /// # Panics
    ///
    /// When there is no such node.
    #[must_use]
    pub fn learns(&self, node_idx: usize) -> u64 {
        self.nodes[node_idx].n_calls as u64
    }

    /// Returns the heap bytes that the batch's content takes, without the shared vocabulary.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        const CALL_BYTES: usize = size_of::<PatternName>() + size_of::<u32>();
        // Computed from running totals: training workers ask after every piece of work.
        let nodes: usize = self
            .nodes
            .iter()
            .map(|node| {
                node.n_calls * CALL_BYTES
                    + node.n_symbols * size_of::<u32>()
                    + node.n_seen * size_of::<FirstSeen>()
                    + node.vectors.heap_bytes()
            })
            .sum();
        nodes + self.literals.heap_bytes() + self.document_bytes + self.attribute_bytes
    }

    /// Returns the literal id of a text symbol, adding the symbol to the batch if it is new.
    ///
    /// # Panics
    ///
    /// When the vocabulary and the batch's own texts would be more than 2³¹ together.
    pub fn literal(&mut self, text: &str) -> u32 {
        match self.vocabulary.id(text) {
            Some(id) => id,
            None => literal_id(self.vocabulary.len(), self.literals.intern(text)),
        }
    }

    /// Adds one learn call of a pattern whose events hold one symbol each.
    ///
    /// The caller guarantees that `name` is the name of exactly these symbols; stores trust it.
    ///
    /// # Panics
    ///
    /// When there is no such node, a child was not learned at the node below, a literal is unknown,
    /// or one of the 128 parts, which go by the first bits of names, would get more than 16,777,216
    /// learn calls or 2³² symbols.
    pub fn learn(
        &mut self,
        node_idx: usize,
        name: PatternName,
        symbols: impl IntoIterator<Item = BatchSymbol>,
    ) -> Occurrence {
        let n_literals = self.vocabulary.len() + self.literals.len();
        // The node below is read while this one is written, so the nodes are borrowed apart.
        let (below, nodes) = self.nodes.split_at_mut(node_idx);
        let below = below.last();
        nodes[0].learn(
            name,
            symbols.into_iter().map(|symbol| {
                // Sealing and the stores use literals and children as indices without looking
                // again, so foreign ones are refused here.
                match symbol {
                    BatchSymbol::Literal(id) => {
                        assert!(
                            (id as usize) < n_literals,
                            "a literal comes from this batch"
                        );
                    }
                    BatchSymbol::Child(child) => {
                        assert!(
                            below.is_some_and(|below| below.contains(child)),
                            "a child was learned in this batch"
                        );
                    }
                }
                symbol.pack()
            }),
        )
    }

    /// Adds one learn call of a chunk of vocabulary symbols, one event each.
    ///
    /// Does what [`LearnBatch::learn`] does at node 0, for a slice of token ids.
    ///
    /// # Panics
    ///
    /// As [`LearnBatch::learn`].
    pub fn learn_tokens(&mut self, name: PatternName, token_ids: &[u32]) -> Occurrence {
        let n_literals = self.vocabulary.len();
        assert!(
            token_ids.iter().all(|&id| (id as usize) < n_literals),
            "a token id comes from the vocabulary"
        );
        // Token ids are literal ids, since the vocabulary's symbols are the first literals.
        self.nodes[0].learn(name, token_ids.iter().map(|&id| id | LITERAL))
    }

    /// Sets where the pattern of a node's latest learn call was seen.
    ///
    /// Call it for every learn call of the node or for none.
    ///
    /// # Panics
    ///
    /// When `occurrence` is not the node's latest, or earlier learn calls of the node were not
    /// recorded.
    pub fn record_first_seen(&mut self, node_idx: usize, occurrence: Occurrence, seen: FirstSeen) {
        let node = &mut self.nodes[node_idx];
        // Sealing reads `first_seen` in parallel to `names`, so it must be complete or empty.
        node.n_seen += 1;
        assert!(
            node.latest == Some(occurrence) && node.n_seen == node.n_calls,
            "provenance is recorded for every learn call or none"
        );
        node.parts[occurrence.part_idx()].first_seen.push(seen);
    }

    /// Attaches metadata, emotives, event lengths or extra counts to the latest learn call of a
    /// node.
    ///
    /// # Panics
    ///
    /// When `occurrence` is not the node's latest.
    pub fn attach(&mut self, node_idx: usize, occurrence: Occurrence, attributes: Attributes) {
        let node = &mut self.nodes[node_idx];
        assert_eq!(
            node.latest,
            Some(occurrence),
            "attributes belong to the latest learn call"
        );
        self.attribute_bytes += attributes.heap_bytes();
        // Only the latest learn call can get attributes, so a call that has some already is the
        // last entry, and the list stays in order of learning.
        match node.attributes.last_mut() {
            Some((latest, merged)) if *latest == occurrence => {
                merged.merge(attributes, &self.limits)
            }
            _ => node.attributes.push((occurrence, attributes)),
        }
    }

    /// Adds a vector that a node learned, under the name that stands for it in patterns.
    ///
    /// A name is no proof of content: vectors that print alike share one (see [`VectorName`]). Of
    /// several vectors of one name [the smallest](crate::vector::smaller_vector) stays, whatever
    /// the order of learning. Elements may be infinite or not numbers and are kept bit for bit.
    ///
    /// ```
    /// use kato_model::{LearnBatch, VectorName};
    ///
    /// let mut batch = LearnBatch::new(1);
    /// let vector = [0.5, -1.0];
    /// batch.record_vector(0, VectorName::of_vector(&vector), &vector);
    /// let sealed = batch.seal();
    /// let kept: Vec<_> = sealed.node(0).vectors().collect();
    /// assert_eq!(kept, [(VectorName::of_vector(&vector), vector.as_slice())]);
    /// ```
    ///
    /// # Panics
    ///
    /// When there is no such node.
    pub fn record_vector(&mut self, node_idx: usize, name: VectorName, vector: &[f64]) {
        self.nodes[node_idx].vectors.record(name, vector);
    }

    /// Adds the id of document number `document_idx`, counted from zero.
    pub fn record_document(&mut self, document_idx: u64, id: &str) {
        self.document_bytes += id.len() + size_of::<(u64, String)>();
        self.documents.push((document_idx, id.to_owned()));
    }

    /// Merges equal patterns and puts everything in name order; the batch is complete.
    #[must_use]
    pub fn seal(self) -> SealedBatch {
        SealedBatch::new(self)
    }

    /// Returns the text of a literal.
    fn literal_text(&self, id: u32) -> &str {
        let first_local = u32::try_from(self.vocabulary.len()).ok();
        let text = match first_local.and_then(|first| id.checked_sub(first)) {
            None => self.vocabulary.text(id),
            Some(local) => self.literals.text(local),
        };
        text.expect("learn() checks that literals exist")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_belongs_to_the_part_of_its_seven_leading_bits() {
        let part_of = |first: u8, others: u8| {
            let mut bytes = [others; PatternName::BYTES];
            bytes[0] = first;
            part_index(&PatternName::from_bytes(bytes))
        };
        assert_eq!(part_of(0x00, 0xff), 0);
        assert_eq!(part_of(0x01, 0xff), 0);
        assert_eq!(part_of(0x02, 0x00), 1);
        assert_eq!(part_of(0xff, 0x00), N_PARTS - 1);
    }

    #[test]
    fn a_literal_keeps_clear_of_its_mark() {
        assert_eq!(literal_id(2, 3), 5);
        assert_eq!(literal_id(1 << 30, (1 << 30) - 1), LITERAL - 1);
    }

    #[test]
    #[should_panic(expected = "2^31 literals")]
    fn more_literals_than_there_are_numbers_are_refused() {
        literal_id(1 << 31, 0);
    }
}
