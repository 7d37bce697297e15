//! The store: KATO's database layout behind the contract of all stores.

use std::fmt;
use std::sync::Arc;

use kato_model::{AttributeLimits, PatternName, RunName, SealedBatch, Symbol, VectorName};
use kato_store::contract::{Scan, StagedBatch, SymbolCounts, Totals};
use kato_store::{PatternStore, PatternVisitor, StoreError, StoredPattern};
use serde_json::Value;

use crate::commit::CommitLog;
use crate::connection::ConnectionFigures;
use crate::guard::Guard;
use crate::reading::{Reader, show};
use crate::record::{Action, OpenRun, read_manifest, write_manifest};
use crate::staging::{BlobKind, Blobs, PatternDelta, Staged, StagingArea, stage};

/// Patterns that a visitor is shown as one source.
const PATTERNS_OF_SOURCE: usize = 8192;

/// A run's knowledge bases in a MongoDB, one database a node, laid out as KATO's releases of
/// October 2025 lay them out.
///
/// A KATO of that generation reads what this store wrote, and this store reads and goes on with
/// what it wrote. What KATO has no place for lies beside it: in `kato_rs` of a pattern, where it is
/// used, such as first sightings, sums of affinity and the order of emotives; position, journal,
/// documents and vectors in a database of the run.
///
/// Commits are exact under any crash of this process or of the server; see [`Guard`]. One process
/// writes a run at a time: it holds a lease, which another takes over when the process is gone, from
/// another host when the lease was not renewed for 30 seconds.
/// Every method may be called from any thread, also from one of an asynchronous runtime, which it
/// then blocks.
///
/// ```no_run
/// use kato_mongodb::MongoStore;
/// use kato_store::PatternStore;
/// use serde_json::json;
///
/// let store = MongoStore::builder("mongodb://localhost:27017", "wikitext".parse()?)
///     .create(&["node0", "node1"], json!({"chunk_sizes": [5, 7]}))?;
/// store.commit(Vec::new(), json!({"samples": 0}))?;
/// drop(store);
///
/// let store = MongoStore::builder("mongodb://localhost:27017", "wikitext".parse()?).open()?;
/// assert_eq!(store.checkpoint(), json!({"samples": 0}));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct MongoStore {
    name: RunName,
    run: Arc<OpenRun>,
    log: Arc<CommitLog>,
    reader: Reader,
    staging_area: Arc<StagingArea>,
    nodes: Vec<String>,
    configuration: Value,
}

impl fmt::Debug for MongoStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MongoStore")
            .field("place", &self.run.place().to_string())
            .field("nodes", &self.nodes)
            .field("guard", &self.guard())
            .finish_non_exhaustive()
    }
}

impl Drop for MongoStore {
    fn drop(&mut self) {
        self.run.release();
    }
}

impl MongoStore {
    /// Creates the store of an open run, with a configuration that its creator gave.
    pub(crate) fn new(name: RunName, log: CommitLog, configuration: Value) -> Self {
        let log = Arc::new(log);
        let run = Arc::clone(log.run());
        Self {
            name,
            nodes: run.nodes.iter().map(|node| node.name.clone()).collect(),
            reader: Reader::new(Arc::clone(&log)),
            staging_area: Arc::new(StagingArea::new(Arc::clone(&run))),
            run,
            log,
            configuration,
        }
    }

    /// Returns the run.
    pub(crate) fn open_run(&self) -> &OpenRun {
        &self.run
    }

    /// Finishes a commit that a crash left unfinished.
    pub(crate) fn finish_last_commit(&self) -> Result<(), StoreError> {
        self.log.lock_for_write().map(drop)
    }

    /// Clears away checkpoints that the record does not name.
    pub(crate) fn clear_old_checkpoints(&self) -> Result<(), StoreError> {
        self.log.clear_old_checkpoints()
    }

    /// Returns how commits are kept exact; never [`Guard::Auto`].
    #[must_use]
    pub fn guard(&self) -> Guard {
        self.log.settings().guard
    }

    /// Returns counts of what was sent and tried again since the store was opened.
    #[must_use]
    pub fn figures(&self) -> ConnectionFigures {
        self.run.server().counters.read()
    }

    /// Returns the value that was kept about the run with [`set_manifest`](Self::set_manifest);
    /// `None` when there is none.
    ///
    /// # Errors
    ///
    /// [`StoreError::Backend`], and [`StoreError::Missing`] when the knowledge bases are no run.
    pub fn manifest(&self) -> Result<Option<Value>, StoreError> {
        let database = self.run.database.clone();
        self.run
            .block_on(|server| async move { read_manifest(&server, &database).await })
    }

    /// Keeps a value of the caller's with the run, such as how it was made. It is no part of a
    /// commit.
    ///
    /// # Errors
    ///
    /// As [`manifest`](Self::manifest), and [`StoreError::ReadOnly`].
    pub fn set_manifest(&self, manifest: &Value) -> Result<(), StoreError> {
        self.run.writer()?;
        let (database, manifest) = (self.run.database.clone(), manifest.to_string());
        self.run
            .block_on(|server| async move { write_manifest(&server, &database, manifest).await })
    }

    /// Returns the name of the run.
    #[must_use]
    pub fn run(&self) -> &RunName {
        &self.name
    }

    /// Returns the server's address without credentials: `mongodb://host:port`.
    #[must_use]
    pub fn place(&self) -> &str {
        self.run.server().place()
    }

    /// Returns the database of a node.
    fn node(&self, node_idx: usize) -> Result<String, StoreError> {
        let node = self.run.nodes.get(node_idx);
        node.map(|node| node.database.clone())
            .ok_or_else(|| StoreError::UnknownNode {
                node: format!("number {node_idx}"),
                known: self.nodes.clone(),
            })
    }

    /// Takes batches back from their wrappers; refuses those of other stores.
    fn staged(&self, batches: Vec<StagedBatch>) -> Result<Vec<Staged>, StoreError> {
        let staged = batches
            .into_iter()
            .map(StagedBatch::into_prepared::<Staged>);
        let staged = staged.collect::<Result<Vec<_>, _>>()?;
        if staged.iter().all(|staged| staged.is_in(&self.staging_area)) {
            Ok(staged)
        } else {
            Err(StoreError::ForeignBatch)
        }
    }
}

impl PatternStore for MongoStore {
    fn nodes(&self) -> &[String] {
        &self.nodes
    }

    fn configuration(&self) -> &Value {
        &self.configuration
    }

    fn attribute_limits(&self) -> AttributeLimits {
        self.run.limits
    }

    fn check_writable(&self) -> Result<(), StoreError> {
        self.run.writer().map(drop)
    }

    /// Returns the checkpoint of the last commit. Asks the server first if the outcome of a commit
    /// is not known; while that does not answer, it is the last one known.
    fn checkpoint(&self) -> Value {
        if let Ok(state) = self.log.lock_for_read() {
            return state.checkpoint.clone();
        }
        self.log.last_known_checkpoint()
    }

    fn stage(&self, batch: SealedBatch) -> Result<StagedBatch, StoreError> {
        self.run.writer()?;
        if batch.n_nodes() != self.nodes.len() {
            return Err(StoreError::NodeCount {
                found: batch.n_nodes(),
                expected: self.nodes.len(),
            });
        }
        stage(&self.staging_area, &batch).map(StagedBatch::new)
    }

    fn commit(&self, staged: Vec<StagedBatch>, checkpoint: Value) -> Result<(), StoreError> {
        let batches = self.staged(staged)?;
        let mut state = self.log.lock_for_write()?;
        self.log
            .commit(&mut state, Action::Learn, batches, checkpoint)
    }

    fn clear(&self, checkpoint: Value) -> Result<(), StoreError> {
        let mut state = self.log.lock_for_write()?;
        self.log
            .commit(&mut state, Action::Clear, Vec::new(), checkpoint)
    }

    fn forget(&self, doomed: &[Vec<PatternName>], checkpoint: Value) -> Result<(), StoreError> {
        if doomed.len() != self.nodes.len() {
            return Err(StoreError::NodeCount {
                found: doomed.len(),
                expected: self.nodes.len(),
            });
        }
        // Locked before anything is read: what is counted down must be what was found.
        let mut state = self.log.lock_for_write()?;
        let mut staged = Staged::new(&self.staging_area);
        for (node_idx, doomed) in doomed.iter().enumerate() {
            let mut names = doomed.clone();
            // In the order of a batch, and each name once: a repeated one would be counted down
            // twice.
            names.sort_unstable();
            names.dedup();
            let kind = BlobKind::Patterns(node_idx);
            let mut blobs = Blobs::default();
            self.reader
                .patterns(&self.node(node_idx)?, &names, |pattern| {
                    staged.add_if(kind, blobs.push(PatternDelta::counted(pattern))?)
                })?;
            staged.add_if(kind, blobs.finish()?)?;
        }
        self.log
            .commit(&mut state, Action::Forget, vec![staged], checkpoint)
    }

    fn totals(&self, node_idx: usize) -> Result<Totals, StoreError> {
        self.reader.totals(self.node(node_idx)?)
    }

    fn count_patterns(&self, node_idx: usize) -> Result<u64, StoreError> {
        self.reader.count_patterns(self.node(node_idx)?)
    }

    fn pattern(
        &self,
        node_idx: usize,
        name: &PatternName,
    ) -> Result<Option<StoredPattern>, StoreError> {
        self.reader.pattern(self.node(node_idx)?, name)
    }

    fn scan(&self, node_idx: usize) -> Result<Scan<'_, StoredPattern>, StoreError> {
        Ok(Box::new(self.reader.scan(self.node(node_idx)?)?))
    }

    fn scan_frequencies(
        &self,
        node_idx: usize,
    ) -> Result<Scan<'_, (PatternName, u64)>, StoreError> {
        Ok(Box::new(
            self.reader.scan_frequencies(self.node(node_idx)?)?,
        ))
    }

    fn visit(&self, node_idx: usize, visitor: &mut dyn PatternVisitor) -> Result<(), StoreError> {
        let mut patterns = self.scan(node_idx)?;
        loop {
            let page: Vec<StoredPattern> = patterns
                .by_ref()
                .take(PATTERNS_OF_SOURCE)
                .collect::<Result<_, _>>()?;
            if page.is_empty() || show(&page, visitor) {
                return Ok(());
            }
        }
    }

    fn vectors(&self, node_idx: usize) -> Result<Scan<'_, (VectorName, Vec<f64>)>, StoreError> {
        self.node(node_idx)?;
        Ok(Box::new(self.reader.vectors(node_idx)?))
    }

    fn symbol_counts(
        &self,
        node_idx: usize,
    ) -> Result<Scan<'_, (Symbol, SymbolCounts)>, StoreError> {
        self.reader.symbol_counts(&self.node(node_idx)?)
    }

    fn document(&self, document_idx: u64) -> Result<Option<String>, StoreError> {
        self.reader.document(document_idx)
    }

    /// Returns the bytes of data and indexes of the nodes' databases, as the server stores them;
    /// `None` when it does not answer.
    fn disk_bytes(&self) -> Option<u64> {
        self.reader.disk_bytes().ok()
    }
}
