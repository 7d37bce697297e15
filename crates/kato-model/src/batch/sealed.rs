//! Sealed batches: learn calls sorted by name, equal names merged, symbols numbered by rank.

use super::{BatchSymbol, LearnBatch, NodeBatch, Occurrence, Part};
use crate::{AttributeLimits, Attributes, FirstSeen, PatternName, VectorName};

/// A complete batch: every node's distinct patterns in name order, with counts.
///
/// Inside, a symbol is a [`SealedSymbol`]: a rank in the node's dictionary of text symbols, or the
/// rank of a pattern of the node below. Stores turn it into their own form by walking the nodes
/// from the bottom.
#[derive(Debug)]
pub struct SealedBatch {
    batch: LearnBatch,
    nodes: Vec<SealedNode>,
}

/// A symbol of a pattern of a [`SealedBatch`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SealedSymbol {
    /// Text, by its rank in [`SealedNodeView::dictionary`].
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
    /// Sorts a batch by name, node by node, and merges equal names.
    pub(super) fn new(mut batch: LearnBatch) -> Self {
        let nodes = (0..batch.nodes.len())
            .map(|node_idx| {
                // Taken out, because merging consumes them while the rest of the batch is only
                // borrowed.
                let attributes = std::mem::take(&mut batch.nodes[node_idx].attributes);
                SealedNode::new(&batch, node_idx, attributes)
            })
            .collect();
        // In the order in which stores write them, and search them by bisection.
        batch.documents.sort_unstable();
        batch.documents.dedup();
        Self { batch, nodes }
    }

    /// Returns the number of nodes.
    #[must_use]
    pub fn n_nodes(&self) -> usize {
        self.nodes.len()
    }

    /// Returns what one node learned.
    ///
    /// # Panics
    ///
    /// When there is no such node.
    #[must_use]
    pub fn node(&self, node_idx: usize) -> SealedNodeView<'_> {
        SealedNodeView {
            batch: &self.batch,
            learned: &self.batch.nodes[node_idx],
            sealed: &self.nodes[node_idx],
            below: node_idx.checked_sub(1).map(|below| &self.nodes[below]),
            learned_below: node_idx
                .checked_sub(1)
                .map(|below| &self.batch.nodes[below]),
        }
    }

    /// Returns number and id of every recorded document, ascending.
    #[must_use]
    pub fn documents(&self) -> &[(u64, String)] {
        &self.batch.documents
    }
}

impl SealedNode {
    /// Sorts and merges what one node learned.
    fn new(batch: &LearnBatch, node_idx: usize, attributes: Vec<(Occurrence, Attributes)>) -> Self {
        let learned = &batch.nodes[node_idx];
        let mut sealed = Self::default();
        // The working memory of sorting, reused from part to part.
        let mut keys = Vec::new();
        for part in &learned.parts {
            // Parts are in name order, so ranks continue from one to the next.
            let first_rank = u32::try_from(sealed.n_patterns)
                .expect("an occurrence has 31 bits, so there are no more patterns");
            let part = SealedPart::new(part, first_rank, &mut keys);
            sealed.n_patterns += part.firsts.len();
            sealed.parts.push(part);
        }
        sealed.number_literals(batch, learned);
        sealed.merge_attributes(attributes, &batch.limits);
        sealed
    }

    /// Returns the rank of the pattern of a learn call.
    fn rank(&self, occurrence: Occurrence) -> u32 {
        self.parts[occurrence.part_idx()].ranks[occurrence.idx()]
    }

    /// Returns a symbol of a pattern of the node above `below`.
    fn symbol(&self, packed: u32, below: Option<&Self>) -> SealedSymbol {
        match (BatchSymbol::unpack(packed), below) {
            (BatchSymbol::Literal(id), _) => SealedSymbol::Literal(self.literal_ranks[id as usize]),
            (BatchSymbol::Child(occurrence), Some(below)) => {
                SealedSymbol::Child(below.rank(occurrence))
            }
            (BatchSymbol::Child(_), None) => {
                unreachable!("learn() takes children only above node 0")
            }
        }
    }

    /// Collects the text symbols in use and ranks them by their text.
    fn number_literals(&mut self, batch: &LearnBatch, learned: &NodeBatch) {
        let n_literals = batch.vocabulary.len() + batch.literals.len();
        // A flag for every literal rather than a set: ids are dense, and `learn` has checked that
        // every one of them exists.
        let mut in_use = vec![false; n_literals];
        for &packed in learned.parts.iter().flat_map(|part| &part.symbols) {
            if let BatchSymbol::Literal(id) = BatchSymbol::unpack(packed) {
                in_use[id as usize] = true;
            }
        }
        let mut used: Vec<u32> = in_use
            .iter()
            .zip(0..)
            .filter(|&(&in_use, _)| in_use)
            .map(|(_, id)| id)
            .collect();
        used.sort_by(|&a, &b| batch.literal_text(a).cmp(batch.literal_text(b)));
        // Nodes above the lowest mostly hold children alone and are spared the table of ranks.
        if used.is_empty() {
            return;
        }
        self.literal_ranks = vec![0; n_literals];
        for id in used {
            // A vocabulary may give two ids to one text; both then have one rank.
            let text = batch.literal_text(id);
            let repeats = self
                .dictionary
                .last()
                .is_some_and(|&last| batch.literal_text(last) == text);
            if !repeats {
                self.dictionary.push(id);
            }
            let rank = u32::try_from(self.dictionary.len() - 1)
                .expect("a literal has 31 bits, so no more texts are in use");
            self.literal_ranks[id as usize] = rank;
        }
    }

    /// Merges the attributes of the learn calls of each pattern.
    fn merge_attributes(
        &mut self,
        attributes: Vec<(Occurrence, Attributes)>,
        limits: &AttributeLimits,
    ) {
        let mut by_rank: Vec<(u32, Attributes)> = attributes
            .into_iter()
            .map(|(occurrence, value)| (self.rank(occurrence), value))
            .collect();
        // Stable, so that attributes of one pattern are merged in the order of learning, which the
        // last bits of an affinity depend on.
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
    /// Sorts the learn calls of a part and merges those of one name.
    fn new(part: &Part, first_rank: u32, keys: &mut Vec<(u64, u32)>) -> Self {
        let mut sealed = Self {
            first_rank,
            ranks: vec![0; part.names.len()],
            ..Self::default()
        };
        sort_by_name(&part.names, keys);
        // Equal names are neighbours and in the order of learning, so the first of each run is the
        // first call of its pattern.
        let mut previous: Option<&PatternName> = None;
        // Counted, as this runs for every learn call. The first call begins a pattern, so the rank
        // of the pattern at hand is one less.
        let mut next_rank = first_rank;
        for &(_, idx) in &*keys {
            let name = &part.names[idx as usize];
            match sealed.frequencies.last_mut() {
                // A part has at most 2^24 calls, so the count cannot overflow.
                Some(frequency) if previous == Some(name) => *frequency += 1,
                _ => {
                    sealed.firsts.push(idx);
                    sealed.frequencies.push(1);
                    next_rank += 1;
                    previous = Some(name);
                }
            }
            sealed.ranks[idx as usize] = next_rank - 1;
        }
        sealed.merge_first_seen(part);
        sealed
    }

    /// Keeps the earliest sighting of each distinct pattern, if sightings were recorded.
    fn merge_first_seen(&mut self, part: &Part) {
        if part.first_seen.is_empty() {
            return;
        }
        // Each pattern begins with the sighting of its first call; learn calls need not come in
        // corpus order, so the others are compared with it.
        self.first_seen = self
            .firsts
            .iter()
            .map(|&first| part.first_seen[first as usize])
            .collect();
        for (&rank, &seen) in self.ranks.iter().zip(&part.first_seen) {
            let earliest = &mut self.first_seen[(rank - self.first_rank) as usize];
            *earliest = seen.min(*earliest);
        }
    }
}

/// Fills `keys` with leading bytes and position of the names, in name order; equal names in order
/// of position.
fn sort_by_name(names: &[PatternName], keys: &mut Vec<(u64, u32)>) {
    // Names are SHA-1 digests, so eight leading bytes decide nearly every comparison.
    keys.clear();
    keys.extend(
        names
            .iter()
            .zip(0..)
            .map(|(name, idx)| (name.leading_u64(), idx)),
    );
    keys.sort_unstable();
    // Different names with equal leading bytes are all but impossible, yet must be in order when
    // they occur.
    for group in keys.chunk_by_mut(|a, b| a.0 == b.0) {
        if group.len() > 1 {
            group.sort_unstable_by_key(|&(_, idx)| (names[idx as usize], idx));
        }
    }
}

/// Patterns that [`SealedNodeView::for_each`] takes at a time: enough that a processor waits for many of
/// them at once, and few enough for its first cache.
const GROUP_PATTERNS: usize = 128;

/// A symbol of a pattern of a [`SealedBatch`] that means the same in every batch of the same texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamedSymbol {
    /// Text, by its rank in [`SealedNodeView::dictionary`].
    Literal(u32),
    /// The name of a pattern of the node below.
    Name(PatternName),
}

/// Everything that one node learned in a [`SealedBatch`].
#[derive(Debug, Clone, Copy)]
pub struct SealedNodeView<'a> {
    batch: &'a LearnBatch,
    learned: &'a NodeBatch,
    sealed: &'a SealedNode,
    below: Option<&'a SealedNode>,
    learned_below: Option<&'a NodeBatch>,
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
    node: &'a SealedNode,
    below: Option<&'a SealedNode>,
}

impl<'a> SealedPattern<'a> {
    /// Returns the symbols, in order.
    #[must_use]
    pub fn symbols(&self) -> impl ExactSizeIterator<Item = SealedSymbol> + use<'a> {
        let (node, below) = (self.node, self.below);
        self.packed
            .iter()
            .map(move |&packed| node.symbol(packed, below))
    }
}

impl<'a> SealedNodeView<'a> {
    /// Returns the number of distinct patterns.
    #[must_use]
    pub fn len(&self) -> usize {
        self.sealed.n_patterns
    }

    /// Returns whether the node learned nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sealed.n_patterns == 0
    }

    /// Returns the text symbols in use, in code-point order.
    #[must_use]
    pub fn dictionary(&self) -> impl ExactSizeIterator<Item = &'a str> + use<'a> {
        let batch = self.batch;
        self.sealed
            .dictionary
            .iter()
            .map(move |&id| batch.literal_text(id))
    }

    /// Returns the recorded vectors in name order, one for each name.
    pub fn vectors(&self) -> impl Iterator<Item = (VectorName, &'a [f64])> + use<'a> {
        self.learned.vectors.iter()
    }

    /// Returns the distinct patterns in name order; the position of one is its *rank*.
    pub fn patterns(&self) -> impl Iterator<Item = SealedPattern<'a>> + use<'a> {
        let view = *self;
        // Attributes are sparse and ascend by rank, so one walk beside the patterns finds all of
        // them.
        let mut attributes = view.sealed.attributes.iter().peekable();
        (0..view.sealed.parts.len())
            .flat_map(move |part_idx| {
                (0..view.sealed.parts[part_idx].firsts.len()).map(move |idx| (part_idx, idx))
            })
            // Ranks continue from one part to the next.
            .zip(0_u32..)
            .map(move |((part_idx, idx), rank)| {
                let attributes = attributes
                    .next_if(|(attributed, _)| *attributed == rank)
                    .map(|(_, attributes)| attributes);
                view.pattern_at(part_idx, idx, attributes)
            })
    }

    /// Shows every distinct pattern in name order with its symbols; what [`patterns`](Self::patterns)
    /// returns, for those who want all of it: neighbours in name order lie apart in memory, and are
    /// fetched many at a time.
    ///
    /// # Errors
    ///
    /// The first error that `show` returns.
    pub fn for_each<E>(
        &self,
        show: impl FnMut(&SealedPattern<'a>, &[SealedSymbol]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.for_each_with(|packed| self.sealed.symbol(packed, self.below), show)
    }

    /// Shows every distinct pattern in name order with its symbols, children by name, as
    /// [`for_each`](Self::for_each) does.
    ///
    /// # Errors
    ///
    /// The first error that `show` returns.
    pub fn for_each_named<E>(
        &self,
        show: impl FnMut(&SealedPattern<'a>, &[NamedSymbol]) -> Result<(), E>,
    ) -> Result<(), E> {
        let below = self.learned_below;
        let symbol = |packed| match (BatchSymbol::unpack(packed), below) {
            (BatchSymbol::Literal(id), _) => {
                NamedSymbol::Literal(self.sealed.literal_ranks[id as usize])
            }
            (BatchSymbol::Child(occurrence), Some(below)) => {
                NamedSymbol::Name(below.parts[occurrence.part_idx()].names[occurrence.idx()])
            }
            (BatchSymbol::Child(_), None) => {
                unreachable!("learn() takes children only above node 0")
            }
        };
        self.for_each_with(symbol, show)
    }

    /// Shows every distinct pattern with what `symbol` makes of its symbols.
    fn for_each_with<S, E>(
        &self,
        symbol: impl Fn(u32) -> S,
        mut show: impl FnMut(&SealedPattern<'a>, &[S]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut patterns = self.patterns();
        let mut group = Vec::with_capacity(GROUP_PATTERNS);
        let (mut packed, mut symbols) = (Vec::new(), Vec::new());
        loop {
            // One kind of place in memory after the other: what the next pattern needs does not
            // wait until this one is done with.
            group.clear();
            group.extend(patterns.by_ref().take(GROUP_PATTERNS));
            if group.is_empty() {
                return Ok(());
            }
            packed.clear();
            for pattern in &group {
                packed.extend_from_slice(pattern.packed);
            }
            symbols.clear();
            symbols.extend(packed.iter().map(|&packed| symbol(packed)));
            let mut rest = symbols.as_slice();
            for pattern in &group {
                let (own, others) = rest.split_at(pattern.packed.len());
                show(pattern, own)?;
                rest = others;
            }
        }
    }

    /// Returns the distinct pattern with this rank.
    ///
    /// # Panics
    ///
    /// When `rank` is not below [`SealedNodeView::len`].
    #[must_use]
    pub fn pattern(&self, rank: usize) -> SealedPattern<'a> {
        assert!(rank < self.len(), "there is no pattern of rank {rank}");
        // An empty part has the same first rank as the part after it, so the last part that begins
        // at or below the rank holds it. The first part begins at 0: nothing underflows.
        let part_idx = self
            .sealed
            .parts
            .partition_point(|part| part.first_rank as usize <= rank)
            - 1;
        let idx = rank - self.sealed.parts[part_idx].first_rank as usize;
        let attributes = self
            .sealed
            .attributes
            .binary_search_by_key(&rank, |&(attributed, _)| attributed as usize);
        self.pattern_at(
            part_idx,
            idx,
            attributes
                .ok()
                .map(|found| &self.sealed.attributes[found].1),
        )
    }

    /// Returns the pattern at a position of a part.
    fn pattern_at(
        &self,
        part_idx: usize,
        idx: usize,
        attributes: Option<&'a Attributes>,
    ) -> SealedPattern<'a> {
        let (sealed, learned) = (&self.sealed.parts[part_idx], &self.learned.parts[part_idx]);
        let first = sealed.firsts[idx] as usize;
        let extra = attributes.map_or(0, |attributes| attributes.extra_frequency);
        SealedPattern {
            name: learned.names[first],
            frequency: u64::from(sealed.frequencies[idx]).saturating_add(extra),
            attributes,
            first_seen: sealed.first_seen.get(idx).copied(),
            packed: learned.symbols_of(first),
            node: self.sealed,
            below: self.below,
        }
    }
}
