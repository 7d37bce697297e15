//! The contract of stores: stage batches, commit them with a training position, read patterns back.

use std::any::Any;
use std::fmt;
use std::time::Duration;

use kato_model::{AttributeLimits, Attributes, PatternName, SealedBatch, Symbol, VectorName};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::embedded::Recovery;
use crate::visit::ContentDigest;
use crate::{PatternVisitor, StoreError, StoredPattern, Tombstones};

/// A store of the patterns of one run: a knowledge base for each node, and the training position
/// that belongs to them.
///
/// The contract is made for training, which mostly inserts, as most patterns of real text are new:
///
/// * A [`SealedBatch`] is merged as a whole. Merging is commutative and associative, so batches may
///   be staged by any thread in any order.
/// * [`stage`](Self::stage) does the work, [`commit`](Self::commit) makes it visible: **all**
///   staged batches together with the checkpoint, or nothing. After a crash a store that is durable
///   holds its last commit.
/// * What was staged and never committed is gone after a crash, and harmless before.
/// * Counts saturate at `u64::MAX`, which only imported frequencies can reach, and sums of affinity
///   at the largest numbers. How an affinity was rounded, and whether it stopped there, may
///   depend on the order in which its parts were added; nothing else does.
///
/// `kato_store::conformance` holds the tests that every implementation passes.
///
/// # Errors of an implementation
///
/// What the contract itself forbids has variants of [`StoreError`]. What fails below a store, such
/// as its server, the store keeps as an error type of its own, and passes on as
/// [`StoreError::from_backend`] with the [`StoreErrorKind`](crate::StoreErrorKind) by which callers
/// act; it says at which [`Place`](crate::Place), without credentials. Nothing in this crate has to
/// change for it: the text says what to do next, and the store's own error is the source.
pub trait PatternStore: Send + Sync + fmt::Debug {
    /// Returns the names of the nodes, from the bottom of the hierarchy up.
    fn nodes(&self) -> &[String];

    /// Returns what the creator recorded about the run; it never changes.
    fn configuration(&self) -> &Value;

    /// Returns how much of a pattern's attributes is kept; batches are made with the same limits.
    fn attribute_limits(&self) -> AttributeLimits;

    /// Returns the checkpoint of the last commit; `null` before the first.
    fn checkpoint(&self) -> Value;

    /// Prepares a batch for a commit.
    ///
    /// It may be called by several threads at once; CPU and disk work happens here.
    ///
    /// # Errors
    ///
    /// [`StoreError::NodeCount`] when the batch has another number of nodes,
    /// [`StoreError::NotFinite`] when an emotive or an affinity is infinite or not a number, and
    /// when the batch cannot be written; nothing visible changes.
    fn stage(&self, batch: SealedBatch) -> Result<StagedBatch, StoreError>;

    /// Makes staged batches visible together with the checkpoint, durably where the store is
    /// durable.
    ///
    /// # Errors
    ///
    /// [`StoreError::ForeignBatch`] when a batch was staged elsewhere: then the last commit still
    /// holds. When the batches cannot be made durable, the last commit holds or this one, as a whole:
    /// which of them may be known only when the store is asked again, or opened again.
    fn commit(&self, staged: Vec<StagedBatch>, checkpoint: Value) -> Result<(), StoreError>;

    /// Forgets everything that all nodes learned, documents included, and keeps the checkpoint
    /// given.
    ///
    /// This is one commit, all or nothing. Nodes, configuration and limits stay. Batches staged
    /// before can still be committed, and are then all there is.
    ///
    /// # Errors
    ///
    /// When the store cannot be written; then what holds is as after [`commit`](Self::commit).
    fn clear(&self, checkpoint: Value) -> Result<(), StoreError>;

    /// Forgets patterns with all that they counted, and keeps the checkpoint given.
    ///
    /// This is one commit, all or nothing. `names_to_forget` has one list of names for each node,
    /// bottom up, in any order; repeated names and names that the node never learned are ignored.
    ///
    /// Afterwards totals and symbol counts are those of the patterns that are left, and a forgotten
    /// pattern that is learned again begins anew. Patterns above that refer to a forgotten one keep
    /// the reference as its name: the caller decides what to forget together. Vectors and documents
    /// stay. Batches staged before can still be committed, and add what they hold, forgotten names
    /// included. Scans that began before the call still see what was there then.
    ///
    /// Cost: may rewrite all that the store holds. Memory beside the lists: in proportion to them,
    /// and what a commit that merges takes.
    ///
    /// # Errors
    ///
    /// [`StoreError::NodeCount`] when there are not as many lists as nodes, and when the store
    /// cannot be written; then what holds is as after [`commit`](Self::commit).
    fn forget(
        &self,
        names_to_forget: &[Vec<PatternName>],
        checkpoint: Value,
    ) -> Result<(), StoreError>;

    /// Returns the tombstones of a node.
    ///
    /// By default there are none.
    ///
    /// # Errors
    ///
    /// [`StoreError::UnknownNode`] when there is no such node.
    fn tombstones(&self, node_idx: usize) -> Result<Tombstones, StoreError> {
        check_node(self.nodes(), node_idx)?;
        Ok(Tombstones::default())
    }

    /// Returns whether it keeps tombstones, so that who has some can tell before the work.
    ///
    /// By default it does not.
    fn keeps_tombstones(&self) -> bool {
        false
    }

    /// Replaces the tombstones of all nodes, forgets patterns as [`forget`](Self::forget) does, and
    /// keeps the checkpoint given: one commit, all or nothing.
    ///
    /// The store only keeps tombstones: a batch that teaches such a name is taken. Whoever learns
    /// has to look. They are gone after [`clear`](Self::clear).
    ///
    /// By default a store has no place for them.
    ///
    /// # Errors
    ///
    /// [`StoreError::NoTombstones`] from a store that cannot keep them, and as
    /// [`forget`](Self::forget).
    fn bury(
        &self,
        tombstones: Vec<Tombstones>,
        names_to_forget: &[Vec<PatternName>],
        checkpoint: Value,
    ) -> Result<(), StoreError> {
        let _ = (tombstones, names_to_forget, checkpoint);
        Err(StoreError::NoTombstones)
    }

    /// Returns the totals of a node, counted over learn calls.
    ///
    /// This is cheap.
    ///
    /// # Errors
    ///
    /// [`StoreError::UnknownNode`] when there is no such node.
    fn totals(&self, node_idx: usize) -> Result<Totals, StoreError>;

    /// Returns the number of distinct patterns of a node.
    ///
    /// It may read all names.
    ///
    /// # Errors
    ///
    /// When there is no such node or its data cannot be read.
    fn count_patterns(&self, node_idx: usize) -> Result<u64, StoreError>;

    /// Returns a pattern by its name; `None` if the node does not hold it.
    ///
    /// # Errors
    ///
    /// When there is no such node or its data cannot be read.
    fn pattern(
        &self,
        node_idx: usize,
        name: &PatternName,
    ) -> Result<Option<StoredPattern>, StoreError>;

    /// Returns all patterns of a node in name order, in bounded memory.
    ///
    /// The scan sees the commits made before the call, and none that this store makes later.
    ///
    /// # Errors
    ///
    /// When there is no such node or its data cannot be read; errors met on the way are items.
    fn scan(&self, node_idx: usize) -> Result<Scan<'_, StoredPattern>, StoreError>;

    /// Returns name and frequency of all patterns of a node in name order: [`scan`](Self::scan)
    /// without the content.
    ///
    /// # Errors
    ///
    /// As [`scan`](Self::scan).
    fn scan_frequencies(&self, node_idx: usize)
    -> Result<Scan<'_, (PatternName, u64)>, StoreError>;

    /// Shows a visitor all patterns of a node, source by source rather than merged; see
    /// [`PatternVisitor`].
    ///
    /// It is made for loading an index: in an embedded store faster than [`scan`](Self::scan),
    /// above all above node 0.
    ///
    /// It sees the commits made before the call, and ends without an error when the visitor breaks
    /// off. Memory: the symbols of one source, which are 20 bytes for each pattern of the node
    /// below that it holds, and its text.
    ///
    /// # Errors
    ///
    /// When there is no such node or its data cannot be read; the visitor may have seen a part by
    /// then.
    fn visit(&self, node_idx: usize, visitor: &mut dyn PatternVisitor) -> Result<(), StoreError>;

    /// Visits as [`visit`](Self::visit) does, without the sources of these digests: what came after
    /// something was derived from those. Returns `false`, and shows nothing, unless all of them are
    /// there. One of which patterns were deleted since is there if the visitor
    /// [takes these back](PatternVisitor::deleted).
    ///
    /// By default sources have no digests.
    ///
    /// # Errors
    ///
    /// As [`visit`](Self::visit).
    fn visit_beyond(
        &self,
        node_idx: usize,
        known: &[ContentDigest],
        visitor: &mut dyn PatternVisitor,
    ) -> Result<bool, StoreError> {
        if !known.is_empty() {
            return Ok(false);
        }
        self.visit(node_idx, visitor)?;
        Ok(true)
    }

    /// Returns the vectors that a node learned, in name order, one for each name, bit for bit.
    ///
    /// Of several vectors of a name [the smallest](kato_model::vector::smaller_vector) is kept. The
    /// scan sees the commits made before the call and no later one.
    ///
    /// The store keeps vectors of any length beside each other: the reader decides which of them
    /// belong together.
    ///
    /// # Errors
    ///
    /// As [`scan`](Self::scan).
    fn vectors(&self, node_idx: usize) -> Result<Scan<'_, (VectorName, Vec<f64>)>, StoreError>;

    /// Returns the counts of every symbol of a node: text symbols in code-point order, then pattern
    /// names in name order.
    ///
    /// # Errors
    ///
    /// As [`scan`](Self::scan).
    fn symbol_counts(
        &self,
        node_idx: usize,
    ) -> Result<Scan<'_, (Symbol, SymbolCounts)>, StoreError>;

    /// Returns the id of the document with this number, if documents are recorded; the smallest of
    /// several ids.
    ///
    /// # Errors
    ///
    /// When the data cannot be read.
    fn document(&self, document_idx: u64) -> Result<Option<String>, StoreError>;

    /// Returns the bytes that the store takes on the disk.
    ///
    /// `None` where it takes none, and where a server that knows the number does not answer.
    fn disk_bytes(&self) -> Option<u64>;

    /// Refuses what would be written later: an engine asks before it learns, so that nothing is learned
    /// that no commit can keep.
    ///
    /// By default everything is writable.
    ///
    /// # Errors
    ///
    /// [`StoreError::ReadOnly`] where it was opened for reading.
    fn check_writable(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Returns what opening found damaged and opened all the same, as it was allowed to.
    ///
    /// By default there is no such thing.
    fn recovered(&self) -> Option<&Recovery> {
        None
    }

    /// Returns how long threads of the store's own have merged what was committed, since it was opened.
    ///
    /// By default there are none.
    fn merging_time(&self) -> Duration {
        Duration::ZERO
    }
}

/// An iterator over a store's content; every item may fail.
pub type Scan<'a, T> = Box<dyn Iterator<Item = Result<T, StoreError>> + Send + 'a>;

/// A batch that a store has prepared, and only that store can commit.
///
/// Dropping it abandons the batch.
pub struct StagedBatch(Box<dyn Any + Send>);

impl StagedBatch {
    /// Wraps what an implementation prepared.
    pub fn new(prepared: impl Any + Send) -> Self {
        Self(Box::new(prepared))
    }

    /// Returns what the implementation prepared.
    ///
    /// # Errors
    ///
    /// [`StoreError::ForeignBatch`] when it was prepared by another kind of store.
    pub fn into_prepared<T: Any>(self) -> Result<T, StoreError> {
        self.0
            .downcast()
            .map(|prepared| *prepared)
            .map_err(|_| StoreError::ForeignBatch)
    }
}

impl fmt::Debug for StagedBatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StagedBatch").finish_non_exhaustive()
    }
}

/// The totals of a node, counted over learn calls; KATO's `totals` document.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Learn calls: the sum of all frequencies (`total_pattern_frequencies`).
    #[serde(alias = "observations")]
    pub learns: u64,
    /// Symbols of all learn calls (`total_symbol_frequencies`).
    #[serde(alias = "symbols")]
    pub learned_symbols: u64,
    /// Distinct symbols of each learn call, summed (`total_symbols_in_patterns_frequencies`).
    pub member_symbols: u64,
}

impl Totals {
    /// Adds the counts of another part.
    pub fn merge(&mut self, other: Self) {
        // Saturating, because an import may bring any frequency: a total that stays at the maximum
        // is wrong by less than one that wraps.
        self.learns = self.learns.saturating_add(other.learns);
        self.learned_symbols = self.learned_symbols.saturating_add(other.learned_symbols);
        self.member_symbols = self.member_symbols.saturating_add(other.member_symbols);
    }
}

/// The counts of a symbol over learn calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SymbolCounts {
    /// Occurrences over all learn calls.
    pub frequency: u64,
    /// Learn calls whose pattern holds the symbol (`pattern_member_frequency`).
    pub member_frequency: u64,
}

impl SymbolCounts {
    /// Returns the counts that a pattern adds for a symbol that it holds `occurrences` times.
    pub(crate) fn for_pattern(pattern_frequency: u64, occurrences: u64) -> Self {
        Self {
            frequency: pattern_frequency.saturating_mul(occurrences),
            member_frequency: pattern_frequency,
        }
    }

    /// Adds the counts of another part.
    pub fn merge(&mut self, other: Self) {
        self.frequency = self.frequency.saturating_add(other.frequency);
        self.member_frequency = self.member_frequency.saturating_add(other.member_frequency);
    }
}

/// Refuses an index that no node has, with an error that names the nodes there are.
pub(crate) fn check_node(nodes: &[String], node_idx: usize) -> Result<(), StoreError> {
    if node_idx < nodes.len() {
        return Ok(());
    }
    Err(StoreError::UnknownNode {
        node: format!("number {node_idx}"),
        known: nodes.to_vec(),
    })
}

/// Refuses what was made for another number of nodes.
pub(crate) fn check_node_count(nodes: &[String], found: usize) -> Result<(), StoreError> {
    let expected = nodes.len();
    if found == expected {
        return Ok(());
    }
    Err(StoreError::NodeCount { found, expected })
}

/// Refuses emotives and affinities that are not finite, which no file keeps.
pub(crate) fn check_emotives(
    name: PatternName,
    attributes: Option<&Attributes>,
) -> Result<(), StoreError> {
    // JSON, in which attributes are stored and exported, has no infinities and no NaN.
    let mut values = attributes.into_iter().flat_map(|attributes| {
        let maps = attributes
            .emotives
            .entries()
            .iter()
            .map(|entry| &entry.emotives);
        maps.chain([&attributes.affinity])
            .flat_map(|map| map.values())
    });
    if values.all(|value| value.is_finite()) {
        Ok(())
    } else {
        Err(StoreError::NotFinite { name })
    }
}
