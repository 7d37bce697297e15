//! One node's knowledge base: reading, counting, exporting and importing patterns.

use std::io::{BufRead, Write};
use std::ops::RangeBounds;

use kato_model::{PatternName, Symbol};

use crate::contract::{Scan, SymbolCounts, Totals, check_node};
use crate::statistics::{FrequencyStatistics, PatternFrequency};
use crate::trace::Trace;
use crate::{ExchangeError, PatternStore, StoreError, StoredPattern, exchange, statistics, trace};

/// One node of a store: a view that costs nothing to create and copy.
///
/// ```
/// use kato_store::{KnowledgeBase, MemoryStore};
/// use serde_json::json;
///
/// let store = MemoryStore::new(&["node0", "node1"], json!(null));
/// let node0 = KnowledgeBase::new(&store, "node0")?;
/// node0.import(
///     br#"{"name":"b98534b32c1d7489d4ce1a48724aa65aeecbdba9","pattern_data":[["a"],["b"],["c"]],"length":3,"frequency":4}
/// {"name":"395314cc2f2880a00c3e6e11f1e02d8b8c45a0e4","pattern_data":[["a","b"]],"length":2,"frequency":1}
/// "#
///     .as_slice(),
/// )?;
///
/// assert_eq!(node0.totals()?.learns, 5);
/// assert_eq!(node0.statistics()?.max, Some(4));
/// let top = &node0.top(1)?[0];
/// let pattern = node0.pattern(&top.name)?.expect("it was just listed");
/// assert_eq!(pattern.events().len(), 3);
///
/// let mut lines = Vec::new();
/// assert_eq!(node0.export(&mut lines)?, 2);
/// assert!(lines.starts_with(br#"{"name":"395314cc2f2880a00c3e6e11f1e02d8b8c45a0e4","#));
///
/// let error = KnowledgeBase::new(&store, "node7").unwrap_err();
/// assert_eq!(error.to_string(), r#"there is no node "node7" here; the nodes are node0, node1"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct KnowledgeBase<'a> {
    store: &'a dyn PatternStore,
    node_idx: usize,
}

impl<'a> KnowledgeBase<'a> {
    /// Returns the knowledge base of a node, by the node's name.
    ///
    /// # Errors
    ///
    /// [`StoreError::UnknownNode`], which lists the nodes there are.
    pub fn new(store: &'a dyn PatternStore, node: &str) -> Result<Self, StoreError> {
        match store.nodes().iter().position(|name| name == node) {
            Some(node_idx) => Ok(Self { store, node_idx }),
            None => Err(StoreError::UnknownNode {
                node: node.to_owned(),
                known: store.nodes().to_vec(),
            }),
        }
    }

    /// Returns the knowledge base of a node, by the node's place from the bottom of the hierarchy.
    ///
    /// # Errors
    ///
    /// [`StoreError::UnknownNode`].
    pub fn at(store: &'a dyn PatternStore, node_idx: usize) -> Result<Self, StoreError> {
        check_node(store.nodes(), node_idx)?;
        Ok(Self { store, node_idx })
    }

    /// Returns the knowledge bases of all nodes, from the bottom of the hierarchy up.
    pub fn all(store: &'a dyn PatternStore) -> impl ExactSizeIterator<Item = Self> {
        (0..store.nodes().len()).map(move |node_idx| Self { store, node_idx })
    }

    /// Returns the node's name.
    #[must_use]
    pub fn name(&self) -> &'a str {
        &self.store.nodes()[self.node_idx]
    }

    /// Returns the node's place from the bottom of the hierarchy, from 0.
    #[must_use]
    pub fn node_idx(&self) -> usize {
        self.node_idx
    }

    /// Returns the totals of the node, counted over learn calls.
    ///
    /// This is cheap.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn totals(&self) -> Result<Totals, StoreError> {
        self.store.totals(self.node_idx)
    }

    /// Returns the number of distinct patterns.
    ///
    /// It may read all names.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn count_patterns(&self) -> Result<u64, StoreError> {
        self.store.count_patterns(self.node_idx)
    }

    /// Returns a pattern by its name; `None` if the node does not hold it.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn pattern(&self, name: &PatternName) -> Result<Option<StoredPattern>, StoreError> {
        self.store.pattern(self.node_idx, name)
    }

    /// Returns a pattern with everything below it, down to the text; `None` if the node does not
    /// hold it.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn trace(&self, name: &PatternName) -> Result<Option<Trace>, StoreError> {
        trace::Tracer::new(self.store).trace(self.node_idx, name)
    }

    /// Returns the first `limit` patterns whose names begin with these hexadecimal digits, in name
    /// order.
    ///
    /// No digits give all patterns, and anything else gives none. Reads the names up to there.
    ///
    /// ```
    /// # use kato_store::{KnowledgeBase, MemoryStore};
    /// # let store = MemoryStore::new(&["node0"], serde_json::json!(null));
    /// # let node0 = KnowledgeBase::new(&store, "node0")?;
    /// # node0.import(br#"{"name":"b98534b32c1d7489d4ce1a48724aa65aeecbdba9","pattern_data":[["a"],["b"],["c"]],"length":3,"frequency":4}"#.as_slice())?;
    /// let found = node0.with_name_prefix("b98534", 2)?;
    /// assert_eq!(found[0].name.to_string(), "b98534b32c1d7489d4ce1a48724aa65aeecbdba9");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn with_name_prefix(
        &self,
        digits: &str,
        limit: usize,
    ) -> Result<Vec<PatternFrequency>, StoreError> {
        statistics::with_name_prefix(self.scan_frequencies()?, digits, limit)
    }

    /// Returns all patterns in name order, in bounded memory.
    ///
    /// # Errors
    ///
    /// When the store cannot be read; errors met on the way are items.
    pub fn scan(&self) -> Result<Scan<'a, StoredPattern>, StoreError> {
        self.store.scan(self.node_idx)
    }

    /// Returns name and frequency of all patterns in name order; faster than [`scan`](Self::scan).
    ///
    /// # Errors
    ///
    /// As [`scan`](Self::scan).
    pub fn scan_frequencies(&self) -> Result<Scan<'a, (PatternName, u64)>, StoreError> {
        self.store.scan_frequencies(self.node_idx)
    }

    /// Returns the counts of every symbol: text symbols in code-point order, then pattern names in
    /// name order.
    ///
    /// # Errors
    ///
    /// As [`scan`](Self::scan).
    pub fn symbol_counts(&self) -> Result<Scan<'a, (Symbol, SymbolCounts)>, StoreError> {
        self.store.symbol_counts(self.node_idx)
    }

    /// Returns statistics of how often patterns were learned: averages, ranges and the histogram.
    ///
    /// Reads all names and frequencies once.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn statistics(&self) -> Result<FrequencyStatistics, StoreError> {
        statistics::statistics(self.scan_frequencies()?)
    }

    /// Returns the `n` most frequent patterns, most frequent first, ties in name order.
    ///
    /// Reads all names and frequencies once.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn top(&self, n: usize) -> Result<Vec<PatternFrequency>, StoreError> {
        statistics::top(self.scan_frequencies()?, n)
    }

    /// Returns the first `limit` patterns, in name order, whose frequency lies in a range such as
    /// `2..=5` or `10..`.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn with_frequency(
        &self,
        range: impl RangeBounds<u64>,
        limit: usize,
    ) -> Result<Vec<PatternFrequency>, StoreError> {
        statistics::with_frequency(self.scan_frequencies()?, &range, limit)
    }

    /// Writes all patterns as JSON Lines in name order and returns their number.
    ///
    /// Memory stays bounded.
    ///
    /// A line is what [`PatternRecord::to_json`](kato_model::PatternRecord::to_json) writes:
    /// `name`, `pattern_data`, `length`, `frequency`, `emotives`, `metadata`, as KATO's own
    /// records; first sightings, sums of affinity and vectors are left out. That of a retired pattern ends with
    /// `tombstone`, and that of a retired name that no pattern has is `name` and `tombstone` alone; of what is purged there
    /// is nothing. Equal knowledge bases are written as equal bytes. Every name is checked against its content. `out` is flushed at
    /// the end and needs no buffer of its own.
    ///
    /// # Errors
    ///
    /// [`ExchangeError::Store`] when the store cannot be read or a pattern is not what its name
    /// says, and [`ExchangeError::Write`].
    pub fn export(&self, out: impl Write) -> Result<u64, ExchangeError> {
        exchange::export(self.scan()?, &self.store.tombstones(self.node_idx)?, out)
    }

    /// Adds the patterns of exported lines to the node, commits, and returns the number of lines
    /// that hold one.
    ///
    /// Memory stays bounded.
    ///
    /// Importing **adds**: frequencies add up with what the node holds and with other lines of the
    /// same name, metadata is united, and imported emotives count as older than all that training
    /// learns, in the order given. The checkpoint stays as it is, so do not import while the store
    /// is being trained. First sightings, sums of affinity and vectors are not part of the lines,
    /// so an imported pattern has none.
    ///
    /// An [`EmbeddedStore`](crate::EmbeddedStore) holds imported names of the node below as text,
    /// in the file and while it merges; import from the bottom up, then
    /// [`compact`](crate::EmbeddedStore::compact) makes them as small as learned ones.
    ///
    /// What comes with a tombstone is retired here as well, and is taken where it was before; any other
    /// pattern that the node has retired or purged is refused. In a store that keeps tombstones they are there before the patterns are; one that keeps none
    /// refuses them.
    ///
    /// Lines may come from KATO itself: keys may have any order, `emotives` may be `{}`, other keys
    /// are ignored, but for a `tombstone` that is none, which is refused. Every name and length is checked.
    /// Blank lines are skipped.
    ///
    /// # Errors
    ///
    /// [`ExchangeError`], with the number of the line where one cannot be read or is no record; and
    /// [`ExchangeError::Store`] for a pattern that the node has retired or purged, and when the store
    /// cannot be read or written. Then nothing of the import becomes visible, unless the store failed at
    /// the end: the tombstones may be there then, and of the patterns what
    /// [`commit`](PatternStore::commit) says.
    pub fn import(&self, lines: impl BufRead) -> Result<u64, ExchangeError> {
        exchange::import(self.store, self.node_idx, lines)
    }

    /// Writes all patterns as a Parquet file in name order and returns their number.
    ///
    /// The columns, and what a file does not carry: [`parquet`](crate::parquet). Memory is that of
    /// a row group, some 64 MiB, and a page of each column. Equal knowledge bases are written as
    /// equal bytes by the same build. Every name is checked against its content. `out` is flushed
    /// at the end and needs no buffer of its own.
    ///
    /// # Errors
    ///
    /// [`ParquetError::Store`] when the store cannot be read or a pattern is not what its name
    /// says, [`ParquetError::Write`] and [`ParquetError::TooLarge`].
    ///
    /// [`ParquetError::Store`]: crate::parquet::ParquetError::Store
    /// [`ParquetError::Write`]: crate::parquet::ParquetError::Write
    /// [`ParquetError::TooLarge`]: crate::parquet::ParquetError::TooLarge
    #[cfg(feature = "parquet")]
    pub fn export_parquet(
        &self,
        out: impl Write + Send,
    ) -> Result<u64, crate::parquet::ParquetError> {
        crate::parquet::export(self.scan()?, out)
    }

    /// Adds the patterns of a Parquet file to the node, commits, and returns the number of rows.
    ///
    /// It adds as [`import`](Self::import) does, with the same memory and a page of each column.
    /// Which files are taken: [`parquet`](crate::parquet).
    ///
    /// # Errors
    ///
    /// [`ParquetError`](crate::parquet::ParquetError), with the number of the row where one is no
    /// pattern; then nothing of the import becomes visible. Failures of the store are as in
    /// [`import`](Self::import).
    #[cfg(feature = "parquet")]
    pub fn import_parquet(
        &self,
        file: impl std::io::Read + std::io::Seek + Send + 'static,
    ) -> Result<u64, crate::parquet::ParquetError> {
        crate::parquet::import(self.store, self.node_idx, file)
    }
}
