//! The store: KATO's database layout behind the contract of all stores.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, PoisonError};

use kato_model::{
    AttributeLimits, Attributes, PatternName, RunName, SealedBatch, Symbol, VectorName,
};
use kato_store::{
    PatternStore, PatternVisitor, Scan, StagedBatch, StoreError, StoredPattern, SymbolCounts,
    Totals,
};
use mongodb::bson::{Document, RawDocument, RawDocumentBuf, doc};
use serde_json::Value;

use crate::document::{delta_of, frequency_of, pattern_of, symbol_of, totals_of};
use crate::documents_and_vectors::{sample_key, vector_of, vector_prefix};
use crate::figures::Figures;
use crate::layout::{DOCUMENTS, PATTERNS, SYMBOLS, TOTALS, VECTORS};
use crate::manifest;
use crate::pattern_delta::{Blobs, encode, patterns_of};
use crate::record::Action;
use crate::scan::{Documents, Query, Range, Source};
use crate::size::database_bytes;
use crate::staged::{Kind, Staged};
use crate::state::StoreState;
use crate::visit::show;
use crate::{Guard, MongoStoreBuilder};

/// Documents or vectors of one blob.
const ENTRIES_IN_BLOB: usize = 1000;
/// Names that are looked up at once: some servers compare every document with every name.
const NAMES_AT_ONCE: usize = 100;
/// Patterns that a visitor is shown as one source.
const PATTERNS_OF_SOURCE: usize = 8192;

/// A run's knowledge bases in a MongoDB, one database a node, laid out as KATO's releases of
/// October 2025 lay them out.
///
/// A KATO of that generation reads what this store wrote, and this store reads and goes on with
/// what it wrote. What KATO has no place for lies beside it: first sightings, sums of affinity and
/// the order of emotives in `kato_rs` of a pattern, only where they are used; position, journal,
/// documents and vectors in a database of the run.
///
/// Commits are exact under any crash of this process or of the server; see [`Guard`]. One process
/// writes a run at a time: it holds a lease, which another takes over when the process is gone.
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
    core: Arc<StoreState>,
    run: RunName,
    nodes: Vec<String>,
    configuration: Value,
}

impl fmt::Debug for MongoStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MongoStore")
            .field("place", &self.core.server.path(&self.core.database))
            .field("nodes", &self.nodes)
            .field("guard", &self.core.guard)
            .finish_non_exhaustive()
    }
}

impl Drop for MongoStore {
    fn drop(&mut self) {
        if let Some(lease) = &self.core.lease {
            lease.release(&self.core.engine, &self.core.server, &self.core.database);
        }
    }
}

impl MongoStore {
    /// Creates a builder for the store of a run. Nothing is connected yet.
    ///
    /// `uri` is MongoDB's connection string; credentials in it show nowhere else.
    #[must_use]
    pub fn builder(uri: impl Into<String>, run: RunName) -> MongoStoreBuilder {
        MongoStoreBuilder::new(uri.into(), run)
    }

    pub(crate) fn new(core: StoreState, run: RunName, configuration: Value) -> Self {
        let nodes = core.nodes.iter().map(|node| node.name.clone()).collect();
        Self {
            core: Arc::new(core),
            run,
            nodes,
            configuration,
        }
    }

    pub(crate) fn core(&self) -> &Arc<StoreState> {
        &self.core
    }

    /// Returns how commits are kept exact; never [`Guard::Auto`].
    #[must_use]
    pub fn guard(&self) -> Guard {
        self.core.guard
    }

    /// Returns counts of what was sent and tried again since the store was opened.
    #[must_use]
    pub fn figures(&self) -> Figures {
        self.core.server.counters.read()
    }

    /// Returns the value that was kept about the run with [`set_manifest`](Self::set_manifest);
    /// `None` when there is none.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unanswered`], [`StoreError::Refused`], and [`StoreError::Missing`] when the
    /// knowledge bases are no run.
    pub fn manifest(&self) -> Result<Option<Value>, StoreError> {
        let database = self.core.database.clone();
        self.core
            .block_on(|server| async move { manifest::read(&server, &database).await })
    }

    /// Keeps a value of the caller's with the run, such as how it was made. It is no part of a
    /// commit.
    ///
    /// # Errors
    ///
    /// As [`manifest`](Self::manifest), and [`StoreError::ReadOnly`].
    pub fn set_manifest(&self, manifest: &Value) -> Result<(), StoreError> {
        self.core.writer()?;
        let (database, manifest) = (self.core.database.clone(), manifest.to_string());
        self.core
            .block_on(|server| async move { manifest::write(&server, &database, manifest).await })
    }

    /// Returns the name of the run.
    #[must_use]
    pub fn run(&self) -> &RunName {
        &self.run
    }

    /// Returns the server's address without credentials: `mongodb://host:port`.
    #[must_use]
    pub fn place(&self) -> &str {
        self.core.server.place()
    }

    /// Returns the database of a node.
    fn node(&self, node_idx: usize) -> Result<String, StoreError> {
        let node = self.core.nodes.get(node_idx);
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
        if staged
            .iter()
            .all(|staged| Arc::ptr_eq(&staged.core, &self.core))
        {
            Ok(staged)
        } else {
            Err(StoreError::ForeignBatch)
        }
    }

    /// Looks a document up.
    fn one(
        &self,
        database: String,
        collection: &'static str,
        filter: Document,
    ) -> Result<Option<RawDocumentBuf>, StoreError> {
        let _lock = self.core.lock_for_read()?;
        self.core.block_on(|server| async move {
            let collection = server.collection(&database, collection);
            let find = || async { Ok(collection.find_one(filter.clone()).await?) };
            server.retry("look something up", find).await
        })
    }

    /// Begins a scan, which `read` turns into items.
    fn scan_of<T: Send + 'static>(
        &self,
        query: Query,
        read: fn(&RawDocument) -> Option<Result<T, &'static str>>,
    ) -> Result<Documents<T>, StoreError> {
        let source = Arc::new(Source::new(query));
        // Registered while no commit is on its way: those that follow make it read ahead first.
        let _lock = self.core.lock_for_read()?;
        let mut scans = self
            .core
            .scans
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        scans.retain(|scan| scan.strong_count() > 0);
        scans.push(Arc::downgrade(&source));
        Ok(Documents {
            core: Arc::clone(&self.core),
            source,
            read,
            done: false,
        })
    }

    /// Looks patterns up by name, and returns as many as are there.
    fn patterns(
        &self,
        database: &str,
        names: &[PatternName],
    ) -> Result<Vec<StoredPattern>, StoreError> {
        let names: Vec<String> = names.iter().map(PatternName::to_string).collect();
        let place = database.to_owned();
        let documents = self.core.block_on(|server| async move {
            let named = doc! {"name": {"$in": names}};
            let find = || server.find((&place, PATTERNS), named.clone(), None, None);
            server.retry("look patterns up", find).await
        })?;
        let read = |document: &RawDocumentBuf| {
            pattern_of(document).ok_or_else(|| self.core.corrupt(document, NO_PATTERN))
        };
        documents.iter().map(read).collect()
    }
}

const NO_PATTERN: &str = "is no pattern";

impl PatternStore for MongoStore {
    fn nodes(&self) -> &[String] {
        &self.nodes
    }

    fn configuration(&self) -> &Value {
        &self.configuration
    }

    fn attribute_limits(&self) -> AttributeLimits {
        self.core.limits
    }

    /// Returns the checkpoint of the last commit. Asks the server first if the outcome of a commit
    /// is not known; while that does not answer, it is the last one known.
    fn checkpoint(&self) -> Value {
        if let Ok(commit_state) = self.core.lock_for_read() {
            return commit_state.checkpoint.clone();
        }
        let commit_state = self.core.commit_state.read();
        commit_state
            .unwrap_or_else(PoisonError::into_inner)
            .checkpoint
            .clone()
    }

    fn stage(&self, batch: SealedBatch) -> Result<StagedBatch, StoreError> {
        self.core.writer()?;
        if batch.n_nodes() != self.nodes.len() {
            return Err(StoreError::NodeCount {
                found: batch.n_nodes(),
                expected: self.nodes.len(),
            });
        }
        let mut staged = Staged::new(&self.core);
        for node_idx in 0..batch.n_nodes() {
            let node = batch.node(node_idx);
            for pattern in node.patterns() {
                check_emotives(pattern.name, pattern.attributes)?;
            }
            let patterns = patterns_of(&batch, node_idx, &self.core.limits);
            let mut blobs = Blobs::default();
            // The blobs come in name order, which the merge of a commit relies on.
            for delta in patterns {
                staged.add_if(Kind::Patterns(node_idx), blobs.push(delta)?)?;
            }
            staged.add_if(Kind::Patterns(node_idx), blobs.finish()?)?;
            let vectors: Vec<(String, &[f64])> = node
                .vectors()
                .map(|(name, vector)| (name.to_string(), vector))
                .collect();
            for chunk in vectors.chunks(ENTRIES_IN_BLOB) {
                staged.add(Kind::Vectors(node_idx), encode(&chunk)?)?;
            }
        }
        for chunk in batch.documents().chunks(ENTRIES_IN_BLOB) {
            staged.add(Kind::Documents, encode(&chunk)?)?;
        }
        Ok(StagedBatch::new(staged))
    }

    fn commit(&self, staged: Vec<StagedBatch>, checkpoint: Value) -> Result<(), StoreError> {
        let batches = self.staged(staged)?;
        let mut commit_state = self.core.lock_for_write()?;
        self.core
            .commit(&mut commit_state, Action::Learn, batches, checkpoint)
    }

    fn clear(&self, checkpoint: Value) -> Result<(), StoreError> {
        let mut commit_state = self.core.lock_for_write()?;
        self.core
            .commit(&mut commit_state, Action::Clear, Vec::new(), checkpoint)
    }

    fn forget(&self, doomed: &[Vec<PatternName>], checkpoint: Value) -> Result<(), StoreError> {
        if doomed.len() != self.nodes.len() {
            return Err(StoreError::NodeCount {
                found: doomed.len(),
                expected: self.nodes.len(),
            });
        }
        // Locked before anything is read: what is counted down must be what was found.
        let mut commit_state = self.core.lock_for_write()?;
        let mut staged = Staged::new(&self.core);
        for (node_idx, doomed) in doomed.iter().enumerate() {
            let mut names = doomed.clone();
            // In the order of a batch, and each name once: a repeated one would be counted down
            // twice.
            names.sort_unstable();
            names.dedup();
            let database = self.node(node_idx)?;
            let mut blobs = Blobs::default();
            for names in names.chunks(NAMES_AT_ONCE) {
                let mut patterns = self.patterns(&database, names)?;
                // The server answers in an order of its own.
                patterns.sort_unstable_by_key(|pattern| pattern.name);
                for pattern in patterns {
                    let blob = blobs.push(delta_of(pattern))?;
                    staged.add_if(Kind::Patterns(node_idx), blob)?;
                }
            }
            staged.add_if(Kind::Patterns(node_idx), blobs.finish()?)?;
        }
        self.core
            .commit(&mut commit_state, Action::Forget, vec![staged], checkpoint)
    }

    fn totals(&self, node_idx: usize) -> Result<Totals, StoreError> {
        let database = self.node(node_idx)?;
        let totals = self.one(database, TOTALS, doc! {"class": "totals"})?;
        Ok(totals.map_or_else(Totals::default, |document| totals_of(&document)))
    }

    fn count_patterns(&self, node_idx: usize) -> Result<u64, StoreError> {
        let database = self.node(node_idx)?;
        let _lock = self.core.lock_for_read()?;
        self.core.block_on(|server| async move {
            // Counted exactly: the size in a collection's statistics is an estimate.
            let patterns = server.collection(&database, PATTERNS);
            let count = || async { Ok(patterns.count_documents(doc! {}).await?) };
            server.retry("count patterns", count).await
        })
    }

    fn pattern(
        &self,
        node_idx: usize,
        name: &PatternName,
    ) -> Result<Option<StoredPattern>, StoreError> {
        let database = self.node(node_idx)?;
        let found = self.one(database, PATTERNS, doc! {"name": name.to_string()})?;
        let read = |document: RawDocumentBuf| {
            pattern_of(&document).ok_or_else(|| self.core.corrupt(&document, NO_PATTERN))
        };
        found.map(read).transpose()
    }

    fn scan(&self, node_idx: usize) -> Result<Scan<'_, StoredPattern>, StoreError> {
        let query = Query {
            database: self.node(node_idx)?,
            collection: PATTERNS,
            key: "name",
            ranges: VecDeque::from([Range::all()]),
            projection: None,
        };
        let read = |document: &RawDocument| Some(pattern_of(document).ok_or(NO_PATTERN));
        Ok(Box::new(self.scan_of(query, read)?))
    }

    fn scan_frequencies(
        &self,
        node_idx: usize,
    ) -> Result<Scan<'_, (PatternName, u64)>, StoreError> {
        let query = Query {
            database: self.node(node_idx)?,
            collection: PATTERNS,
            key: "name",
            ranges: VecDeque::from([Range::all()]),
            projection: Some(doc! {"name": 1, "frequency": 1, "kato_rs.frequency": 1}),
        };
        let read = |document: &RawDocument| Some(frequency_of(document).ok_or(NO_PATTERN));
        Ok(Box::new(self.scan_of(query, read)?))
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
        let query = Query {
            database: self.core.database.clone(),
            collection: VECTORS,
            key: "_id",
            ranges: VecDeque::from([Range::prefixed(&vector_prefix(node_idx))]),
            projection: None,
        };
        let read = |document: &RawDocument| Some(vector_of(document).ok_or("is no vector"));
        Ok(Box::new(self.scan_of(query, read)?))
    }

    fn symbol_counts(
        &self,
        node_idx: usize,
    ) -> Result<Scan<'_, (Symbol, SymbolCounts)>, StoreError> {
        const NO_SYMBOL: &str = "is no symbol";

        let query = |ranges| -> Result<Query, StoreError> {
            Ok(Query {
                database: self.node(node_idx)?,
                collection: SYMBOLS,
                key: "name",
                ranges,
                projection: None,
            })
        };
        // Texts come before names, but in the collection names (`PTRN|…`) are in the midst of
        // texts. So it is read twice; texts that only look like names come with the texts.
        let texts = query(VecDeque::from([Range::all()]))?;
        let names = query(VecDeque::from([Range::prefixed(kato_model::NAME_PREFIX)]))?;
        let texts = self.scan_of(texts, |document| match symbol_of(document) {
            Some((Symbol::Name(_), _)) => None,
            symbol => Some(symbol.ok_or(NO_SYMBOL)),
        })?;
        let names = self.scan_of(names, |document| match symbol_of(document) {
            Some((Symbol::Text(_), _)) => None,
            symbol => Some(symbol.ok_or(NO_SYMBOL)),
        })?;
        Ok(Box::new(texts.chain(names)))
    }

    fn document(&self, sample_idx: u64) -> Result<Option<String>, StoreError> {
        let id = sample_key(sample_idx);
        let found = self.one(self.core.database.clone(), DOCUMENTS, doc! {"_id": id})?;
        Ok(found.and_then(|document| Some(document.get_str("id").ok()?.to_owned())))
    }

    /// Returns the bytes of data and indexes of the nodes' databases, as the server stores them;
    /// `None` when it does not answer.
    fn disk_bytes(&self) -> Option<u64> {
        let names: Vec<String> = self
            .core
            .nodes
            .iter()
            .map(|node| node.database.clone())
            .collect();
        let bytes = self.core.block_on(|server| async move {
            let mut sum = 0;
            for name in &names {
                sum += database_bytes(&server, name).await?;
            }
            Ok::<u64, StoreError>(sum)
        });
        bytes.ok()
    }
}

/// Refuses emotives that other stores could not take over.
fn check_emotives(name: PatternName, attributes: Option<&Attributes>) -> Result<(), StoreError> {
    let maps = attributes.into_iter().flat_map(|attributes| {
        let entries = attributes.emotives.entries().iter();
        entries
            .map(|entry| &entry.emotives)
            .chain([&attributes.affinity])
    });
    if maps
        .flat_map(|map| map.values())
        .all(|value| value.is_finite())
    {
        Ok(())
    } else {
        Err(StoreError::NotFinite { name })
    }
}
