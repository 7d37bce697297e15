//! The embedded store: a directory of segments and a manifest, crash-safe, one writer at a time.

mod count;
mod directory;
mod lock;
mod manifest;
mod merge;
mod options;
mod query;
mod segment;
mod staged;
mod symbol_counts;
mod vectors;
mod visit;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kato_model::{AttributeLimits, PatternName, SealedBatch, Symbol, VectorName};
use serde_json::Value;

use self::directory::{
    entry_of, missing_is_corrupt, open_segments, parent_of, refuse_occupied, remove_files,
    remove_orphans, segment_dir, segment_path,
};
use self::lock::WriteLock;
use self::manifest::{FORMAT_VERSION, Manifest, sync_dir};
use self::merge::merge_segments;
pub use self::options::EmbeddedOptions;
use self::segment::Segment;
use self::staged::{StagedSegment, write_batch};
use crate::contract::check_node;
use crate::{
    PatternStore, PatternVisitor, Scan, StagedBatch, StoreError, StoredPattern, SymbolCounts,
    Totals,
};

/// Most patterns of one node that a merge puts into one segment, whatever the options say: ranks are 32-bit numbers, and
/// text symbols need some as well.
const MAX_RANKS: u64 = 1 << 30;

/// A run's knowledge bases in one directory.
///
/// * **Crash-safe**: a commit writes and flushes new files, then replaces the manifest; after a crash at any moment the
///   directory holds the last commit. Every block, index and footer has a checksum.
/// * **One writer**: a second one gets [`StoreError::Locked`]. Readers need no lock and see the commit they opened.
/// * **Bounded memory**: 0.08 bytes a pattern for the block indexes, and the text symbols in use; while segments are merged,
///   four bytes a pattern.
///
/// ```
/// use kato_store::{EmbeddedStore, PatternStore};
/// use serde_json::json;
///
/// let dir = tempfile::tempdir()?;
/// let kb = dir.path().join("kb");
/// let store = EmbeddedStore::create(&kb, &["node0", "node1"], json!({"chunk_sizes": [5, 7]}))?;
/// store.commit(Vec::new(), json!({"samples": 0}))?;
/// drop(store);
///
/// let store = EmbeddedStore::open(&kb)?;
/// assert_eq!(store.checkpoint(), json!({"samples": 0}));
/// assert!(EmbeddedStore::create(&kb, &["node0"], json!(null)).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct EmbeddedStore {
    dir: PathBuf,
    options: EmbeddedOptions,
    nodes: Vec<String>,
    configuration: Value,
    state: Mutex<State>,
    next_segment: AtomicU64,
    /// `None` for a reader.
    lock: Option<Arc<WriteLock>>,
}

#[derive(Debug, Clone)]
struct State {
    manifest: Manifest,
    /// Parallel to the manifest's segments.
    segments: Vec<Arc<Segment>>,
}

impl EmbeddedStore {
    /// Creates a knowledge base for each node in a directory that does not exist or is empty, and opens it for writing.
    ///
    /// # Errors
    ///
    /// [`StoreError::Exists`] when the directory holds a knowledge base already, [`StoreError::NotAKnowledgeBase`] when it
    /// holds anything else, and I/O errors.
    pub fn create(
        dir: &Path,
        nodes: &[impl AsRef<str>],
        configuration: Value,
    ) -> Result<Self, StoreError> {
        Self::create_with(dir, nodes, configuration, EmbeddedOptions::default())
    }

    /// [`create`](Self::create) with other settings.
    ///
    /// # Errors
    ///
    /// As [`create`](Self::create).
    pub fn create_with(
        dir: &Path,
        nodes: &[impl AsRef<str>],
        configuration: Value,
        options: EmbeddedOptions,
    ) -> Result<Self, StoreError> {
        refuse_occupied(dir)?;
        let segment_dir = segment_dir(dir);
        fs::create_dir_all(&segment_dir)
            .map_err(|source| StoreError::io("create", &segment_dir, source))?;
        let lock = WriteLock::acquire(dir)?;
        // Another writer may have created it between the look and the lock.
        refuse_occupied(dir)?;
        let manifest = Manifest {
            format_version: FORMAT_VERSION,
            nodes: nodes.iter().map(|node| node.as_ref().to_owned()).collect(),
            configuration,
            attribute_limits: options.attribute_limits,
            checkpoint: Value::Null,
            n_commits: 0,
            next_segment: 0,
            segments: Vec::new(),
        };
        sync_dir(dir)?;
        manifest.write(dir)?;
        // The directory itself must survive as well.
        sync_dir(&parent_of(dir))?;
        Self::from_manifest(dir, manifest, options, Some(lock))
    }

    /// Opens an existing knowledge base for writing and removes what a crashed writer left unfinished.
    ///
    /// # Errors
    ///
    /// [`StoreError::Missing`], [`StoreError::Locked`], [`StoreError::Corrupt`], [`StoreError::Version`], I/O errors.
    pub fn open(dir: &Path) -> Result<Self, StoreError> {
        Self::open_with(dir, EmbeddedOptions::default())
    }

    /// [`open`](Self::open) with other settings.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub fn open_with(dir: &Path, options: EmbeddedOptions) -> Result<Self, StoreError> {
        Manifest::read(dir)?;
        let lock = WriteLock::acquire(dir)?;
        let manifest = Manifest::read(dir)?;
        let store =
            Self::from_manifest(dir, manifest, options, Some(lock)).map_err(missing_is_corrupt)?;
        remove_orphans(dir, &store.state().manifest)?;
        Ok(store)
    }

    /// Opens an existing knowledge base for reading, also beside a writer; sees the last commit.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open), without [`StoreError::Locked`].
    pub fn open_read_only(dir: &Path) -> Result<Self, StoreError> {
        // A writer may merge segments away between reading the manifest and opening them; the next manifest names
        // the new ones.
        let mut attempts = 0;
        loop {
            let manifest = Manifest::read(dir)?;
            match Self::from_manifest(dir, manifest, EmbeddedOptions::default(), None) {
                Err(StoreError::Io { source, .. })
                    if source.kind() == std::io::ErrorKind::NotFound && attempts < 10 =>
                {
                    attempts += 1;
                }
                opened => return opened.map_err(missing_is_corrupt),
            }
        }
    }

    /// Whether a directory holds a knowledge base.
    #[must_use]
    pub fn exists(dir: &Path) -> bool {
        Manifest::path(dir).exists()
    }

    /// The directory.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Number of commits so far.
    #[must_use]
    pub fn n_commits(&self) -> u64 {
        self.state().manifest.n_commits
    }

    /// Number of segments that a look-up asks.
    #[must_use]
    pub fn n_segments(&self) -> usize {
        self.state().segments.len()
    }

    /// Merges segments as long as two fit into one of full size, so that look-ups ask few.
    ///
    /// # Errors
    ///
    /// [`StoreError::ReadOnly`], and when the merged segment cannot be written; the store stays as it was.
    pub fn compact(&self) -> Result<(), StoreError> {
        self.writer()?;
        let mut state = self.state();
        while self.merge_smallest(&mut state, usize::MAX)? {}
        Ok(())
    }

    fn from_manifest(
        dir: &Path,
        manifest: Manifest,
        options: EmbeddedOptions,
        lock: Option<WriteLock>,
    ) -> Result<Self, StoreError> {
        let options = EmbeddedOptions {
            attribute_limits: manifest.attribute_limits,
            ..options
        };
        let segments = open_segments(dir, &manifest)?;
        Ok(Self {
            dir: dir.to_owned(),
            options,
            nodes: manifest.nodes.clone(),
            configuration: manifest.configuration.clone(),
            next_segment: AtomicU64::new(manifest.next_segment),
            state: Mutex::new(State { manifest, segments }),
            lock: lock.map(Arc::new),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic while the lock is held leaves the last complete state: it is replaced as a whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn segments(&self) -> Vec<Arc<Segment>> {
        self.state().segments.clone()
    }

    fn next_segment_path(&self) -> PathBuf {
        let number = self.next_segment.fetch_add(1, Ordering::Relaxed);
        segment_path(&self.dir, number)
    }

    /// Replaces the state by one with another set of segments and makes it durable.
    fn replace(
        &self,
        state: &mut State,
        mut manifest: Manifest,
        segments: Vec<Arc<Segment>>,
    ) -> Result<(), StoreError> {
        manifest.next_segment = self.next_segment.load(Ordering::Relaxed);
        sync_dir(&segment_dir(&self.dir))?;
        manifest.write(&self.dir)?;
        *state = State { manifest, segments };
        Ok(())
    }

    /// Merges the smaller segments if `added` more would be too many.
    fn make_room(&self, state: &mut State, added: usize) -> Result<(), StoreError> {
        let most = self.options.max_segments.max(2);
        if state.segments.len() + added <= most {
            return Ok(());
        }
        self.merge_smallest(state, state.segments.len() + added - most / 2)?;
        Ok(())
    }

    /// Merges the smallest segments, at most `count` of them and none that is at its full size; `false` if there are not two.
    fn merge_smallest(&self, state: &mut State, count: usize) -> Result<bool, StoreError> {
        let size = |idx: usize| {
            state.manifest.segments[idx]
                .nodes
                .iter()
                .map(|node| node.patterns)
                .max()
                .unwrap_or(0)
        };
        let mut smallest: Vec<usize> = (0..state.segments.len()).collect();
        smallest.sort_by_key(|&idx| size(idx));
        let mut patterns = 0;
        let fitting = smallest.iter().take(count).take_while(|&&idx| {
            patterns = u64::saturating_add(patterns, size(idx));
            patterns <= self.options.max_segment_patterns.min(MAX_RANKS)
        });
        let chosen: Vec<usize> = fitting.copied().collect();
        if chosen.len() < 2 {
            return Ok(false);
        }
        let inputs: Vec<Arc<Segment>> = chosen
            .iter()
            .map(|&idx| Arc::clone(&state.segments[idx]))
            .collect();
        let path = self.next_segment_path();
        let limits = state.manifest.attribute_limits;
        let merged =
            match merge_segments(&inputs, self.nodes.len(), &limits, &path).and_then(|merged| {
                merged.sync()?;
                Ok(merged)
            }) {
                Ok(merged) => merged,
                Err(error) => {
                    // Best effort: an orphan is removed by the next writer anyway.
                    let _ = fs::remove_file(&path);
                    return Err(error);
                }
            };
        let mut manifest = state.manifest.clone();
        let mut segments = state.segments.clone();
        let mut keep = (0..segments.len()).map(|idx| !chosen.contains(&idx));
        segments.retain(|_| keep.next().unwrap_or(true));
        let mut keep = (0..manifest.segments.len()).map(|idx| !chosen.contains(&idx));
        manifest.segments.retain(|_| keep.next().unwrap_or(true));
        manifest.segments.push(entry_of(&merged));
        segments.push(Arc::new(Segment::open(merged.path())?));
        self.replace(state, manifest, segments)?;
        remove_files(&inputs);
        Ok(true)
    }
}

impl PatternStore for EmbeddedStore {
    fn nodes(&self) -> &[String] {
        &self.nodes
    }

    fn configuration(&self) -> &Value {
        &self.configuration
    }

    fn attribute_limits(&self) -> AttributeLimits {
        self.options.attribute_limits
    }

    fn checkpoint(&self) -> Value {
        self.state().manifest.checkpoint.clone()
    }

    fn stage(&self, batch: SealedBatch) -> Result<StagedBatch, StoreError> {
        let writer = self.writer()?;
        if batch.n_nodes() != self.nodes.len() {
            return Err(StoreError::NodeCount {
                found: batch.n_nodes(),
                expected: self.nodes.len(),
            });
        }
        let path = self.next_segment_path();
        match write_batch(&batch, &self.options.attribute_limits, &path) {
            Ok(written) => Ok(StagedBatch::new(StagedSegment::new(written, writer))),
            Err(error) => {
                // Best effort: an orphan is removed by the next writer anyway.
                let _ = fs::remove_file(&path);
                Err(error)
            }
        }
    }

    fn commit(&self, staged: Vec<StagedBatch>, checkpoint: Value) -> Result<(), StoreError> {
        let writer = self.writer()?;
        let mut staged = staged
            .into_iter()
            .map(StagedBatch::into_prepared::<StagedSegment>)
            .collect::<Result<Vec<_>, _>>()?;
        let mut opened = Vec::with_capacity(staged.len());
        for segment in &staged {
            let written = segment.staged_by(writer)?;
            written.sync()?;
            opened.push((entry_of(written), Arc::new(Segment::open(written.path())?)));
        }
        let mut state = self.state();
        // Before the commit and not after it: an error must mean that the commit did not happen.
        self.make_room(&mut state, opened.len())?;
        let mut manifest = state.manifest.clone();
        let mut segments = state.segments.clone();
        manifest.checkpoint = checkpoint;
        manifest.n_commits += 1;
        for (entry, segment) in opened {
            manifest.segments.push(entry);
            segments.push(segment);
        }
        // From here on the manifest on the disk may name the files, even if an error follows.
        for segment in &mut staged {
            segment.keep();
        }
        self.replace(&mut state, manifest, segments)
    }

    fn clear(&self, checkpoint: Value) -> Result<(), StoreError> {
        self.writer()?;
        let mut state = self.state();
        let forgotten = state.segments.clone();
        let manifest = Manifest {
            checkpoint,
            n_commits: state.manifest.n_commits + 1,
            segments: Vec::new(),
            ..state.manifest.clone()
        };
        self.replace(&mut state, manifest, Vec::new())?;
        remove_files(&forgotten);
        Ok(())
    }

    fn totals(&self, node_idx: usize) -> Result<Totals, StoreError> {
        check_node(&self.nodes, node_idx)?;
        let mut totals = Totals::default();
        for node in self
            .state()
            .manifest
            .segments
            .iter()
            .filter_map(|segment| segment.nodes.get(node_idx))
        {
            totals.merge(Totals {
                observations: node.observations,
                symbols: node.symbols,
                member_symbols: node.member_symbols,
            });
        }
        Ok(totals)
    }

    fn count_patterns(&self, node_idx: usize) -> Result<u64, StoreError> {
        check_node(&self.nodes, node_idx)?;
        count::count_patterns(&self.segments(), node_idx)
    }

    fn pattern(
        &self,
        node_idx: usize,
        name: &PatternName,
    ) -> Result<Option<StoredPattern>, StoreError> {
        check_node(&self.nodes, node_idx)?;
        query::pattern(&self.segments(), node_idx, &self.attribute_limits(), name)
    }

    fn scan(&self, node_idx: usize) -> Result<Scan<'_, StoredPattern>, StoreError> {
        check_node(&self.nodes, node_idx)?;
        query::scan(&self.segments(), node_idx, self.attribute_limits())
    }

    fn scan_frequencies(
        &self,
        node_idx: usize,
    ) -> Result<Scan<'_, (PatternName, u64)>, StoreError> {
        check_node(&self.nodes, node_idx)?;
        query::scan_frequencies(&self.segments(), node_idx)
    }

    fn visit(&self, node_idx: usize, visitor: &mut dyn PatternVisitor) -> Result<(), StoreError> {
        check_node(&self.nodes, node_idx)?;
        visit::visit(&self.segments(), node_idx, visitor)
    }

    fn vectors(&self, node_idx: usize) -> Result<Scan<'_, (VectorName, Vec<f64>)>, StoreError> {
        check_node(&self.nodes, node_idx)?;
        query::vectors(&self.segments(), node_idx)
    }

    fn symbol_counts(
        &self,
        node_idx: usize,
    ) -> Result<Scan<'_, (Symbol, SymbolCounts)>, StoreError> {
        check_node(&self.nodes, node_idx)?;
        symbol_counts::symbol_counts(self.segments(), node_idx)
    }

    fn document(&self, sample_idx: u64) -> Result<Option<String>, StoreError> {
        query::document(&self.segments(), sample_idx)
    }

    fn disk_bytes(&self) -> Option<u64> {
        Some(
            self.state()
                .manifest
                .segments
                .iter()
                .map(|segment| segment.bytes)
                .sum(),
        )
    }
}

impl EmbeddedStore {
    fn writer(&self) -> Result<&Arc<WriteLock>, StoreError> {
        self.lock.as_ref().ok_or_else(|| StoreError::ReadOnly {
            path: self.dir.clone(),
        })
    }
}
