//! The embedded store: a directory of segments and a manifest, crash-safe, one writer at a time.

mod background;
mod bury;
mod compaction;
mod count;
mod damage;
mod deletions;
mod directory;
mod flusher;
mod forget;
mod generation;
mod in_use;
mod lock;
mod manifest;
mod merge;
mod merge_runs;
mod numbering;
mod on_each;
mod options;
mod ordered;
mod query;
mod recovery;
mod replacement;
mod salvage;
mod segment;
mod staged;
mod symbol_counts;
mod unlearn;
mod vectors;
mod visit;
mod wanted;

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use kato_model::{AttributeLimits, PatternName, SealedBatch, Symbol, VectorName};
use serde_json::Value;

use self::background::{BackgroundMerge, StageTime};
pub use self::damage::{Commit, Damage, DamagedFile, Held, Recovery};
use self::directory::{
    FileAccess, ensure_unoccupied, holds_knowledge_base, manifest_entry, parent_dir, segment_dir,
    segment_path,
};
use self::flusher::Flusher;
use self::generation::{Manifests, OpenedGeneration, Twin};
use self::lock::WriteLock;
use self::manifest::{Manifest, NamedFiles, SegmentEntry, sync_dir};
pub use self::options::{DamagePolicy, EmbeddedOptions, Merging};
pub use self::salvage::{SalvageReport, is_salvaged, salvage};
use self::segment::Segment;
pub use self::segment::set_max_open_segments;
pub(crate) use self::segment::{
    Dictionary, Extras, SegmentWriter, WrittenSegment, push_varint, take_slice, take_varint,
    too_large, width_for,
};
pub(crate) use self::staged::stored_attributes;
use self::staged::{StagedSegment, write_batch};
use crate::contract::{Scan, StagedBatch, SymbolCounts, Totals, check_node, check_node_count};
use crate::visit::ContentDigest;
use crate::{PatternStore, PatternVisitor, Place, Rescue, StoreError, StoredPattern, Tombstones};

/// A run's knowledge bases in one directory.
///
/// * **Crash-safe**: a commit writes and flushes new files, then replaces the manifest; after a
///   crash at any moment the directory holds the last commit. Every block, index and footer has a
///   checksum.
/// * **Damage is told**: opening refuses a newest commit of which it finds a file missing or damaged,
///   and says what is lost; the blocks of patterns are checked when they are read.
///   The manifest has a twin, so one damaged copy loses nothing. The commit before the last one
///   stays, with its files, until the next, unless compacting, clearing or forgetting gave it up:
///   opening [goes back](DamagePolicy) to it where that is asked for, and [reports
///   it](Self::recovered).
/// * **One writer**: a second one gets [`StoreError::Locked`]. Readers need no lock and see the
///   commit they opened.
/// * **Little memory**: some 0.1 bytes a pattern for the block indexes of the segments, and the text
///   symbols in use; while segments are merged, four bytes a pattern.
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
    /// Locked for moments only, as readers need it.
    state: Mutex<State>,
    /// Locked by whoever makes a new generation, for as long as that takes. Holds the merges that go on
    /// beside commits.
    writing: Mutex<Vec<BackgroundMerge>>,
    /// Number of the next segment file, whichever thread asks.
    next_segment: AtomicU64,
    /// Time for which segments were merged beside commits, by the threads that did.
    merging_time: Arc<StageTime>,
    /// Flushes what is staged before its commit comes.
    flusher: Flusher,
    /// Digests of the segments that commits do not merge.
    kept: Mutex<Vec<ContentDigest>>,
    recovery: Option<Recovery>,
    /// The lock of a writer; `None` for a reader.
    lock: Option<Arc<WriteLock>>,
}

/// The right to make a new generation.
type Writing<'a> = MutexGuard<'a, Vec<BackgroundMerge>>;

/// The part of a store that commits change.
#[derive(Debug)]
struct State {
    newest: Generation,
    /// Whether a commit has failed since: what the newest manifest on the disk is cannot be told.
    is_in_doubt: bool,
    /// Files of the generation before the newest, which stay until the next commit.
    previous: NamedFiles,
    /// Segments of earlier generations that may still be read from.
    retired: Vec<Weak<Segment>>,
}

/// A manifest and the segments that it names.
#[derive(Debug, Clone)]
struct Generation {
    manifest: Manifest,
    /// Parallel to the manifest's segments.
    segments: Vec<Arc<Segment>>,
}

impl EmbeddedStore {
    /// Creates a knowledge base for each node in a directory that does not exist or is empty, and
    /// opens it for writing.
    ///
    /// # Errors
    ///
    /// [`StoreError::Exists`] when the directory holds a knowledge base already,
    /// [`StoreError::NotAKnowledgeBase`] when it holds anything else, [`StoreError::Locked`] while
    /// another writer creates one there, and I/O errors.
    pub fn create(
        dir: impl AsRef<Path>,
        nodes: &[impl AsRef<str>],
        configuration: Value,
    ) -> Result<Self, StoreError> {
        Self::create_with(dir, nodes, configuration, EmbeddedOptions::default())
    }

    /// Creates a knowledge base as [`create`](Self::create) does, with other settings.
    ///
    /// # Errors
    ///
    /// As [`create`](Self::create).
    pub fn create_with(
        dir: impl AsRef<Path>,
        nodes: &[impl AsRef<str>],
        configuration: Value,
        options: EmbeddedOptions,
    ) -> Result<Self, StoreError> {
        let dir = dir.as_ref();
        // Before anything is made, so that a directory with other files stays untouched.
        ensure_unoccupied(dir)?;
        let segment_dir = segment_dir(dir);
        fs::create_dir_all(&segment_dir)
            .map_err(|source| StoreError::io("create", &segment_dir, source))?;
        let lock = WriteLock::acquire(dir)?;
        // Another writer may have created it between the look and the lock.
        ensure_unoccupied(dir)?;
        let manifest = Manifest {
            format_version: 1,
            nodes: nodes.iter().map(|node| node.as_ref().to_owned()).collect(),
            configuration,
            attribute_limits: options.attribute_limits,
            checkpoint: Value::Null,
            n_commits: 0,
            next_segment: 0,
            segments: Vec::new(),
            deletions: Vec::new(),
            tombstones: Vec::new(),
        };
        // Makes the entry of `segments` durable before a manifest relies on it; a commit flushes
        // only what is in that directory.
        sync_dir(dir)?;
        // The twin comes second here: a creation that is killed half-way leaves nothing that looks
        // like a knowledge base which has lost its manifest.
        manifest.replace_both(dir)?;
        // The directory itself must survive as well.
        sync_dir(&parent_dir(dir))?;
        let opened = OpenedGeneration {
            manifest,
            segments: Vec::new(),
            previous: Vec::new(),
            recovery: None,
            twin: Twin::Same,
        };
        Ok(Self::from_opened(dir, opened, options, Some(lock)))
    }

    /// Creates a knowledge base of complete segment files, such as [`seal`](crate::slice::seal)
    /// writes, and a checkpoint. The files are moved into it, so they must lie in the same file
    /// system; when it fails, those that were moved by then are gone, and an empty knowledge base may
    /// be left.
    ///
    /// Nothing is merged, and the files are not read but for their footers and indexes.
    ///
    /// # Errors
    ///
    /// As [`create`](Self::create), [`StoreError::NodeCount`] for a segment of another number of
    /// nodes, and [`StoreError::Corrupt`] for what is no segment.
    pub fn create_from_segments(
        dir: impl AsRef<Path>,
        nodes: &[impl AsRef<str>],
        configuration: Value,
        segments: &[PathBuf],
        checkpoint: Value,
    ) -> Result<Self, StoreError> {
        let store = Self::create(dir, nodes, configuration)?;
        let mut staged = Vec::new();
        for from in segments {
            let path = store.next_segment_path();
            let adopted = WrittenSegment::of_file(from)?;
            check_node_count(&store.nodes, adopted.totals.len())?;
            let adopted = StagedSegment::write(&path, store.writer()?, || adopted.moved_to(&path))?;
            staged.push(StagedBatch::new(adopted));
        }
        store.commit(staged, checkpoint)?;
        Ok(store)
    }

    /// Opens an existing knowledge base for writing and removes what a crashed writer left
    /// unfinished.
    ///
    /// A newest commit that is damaged is refused, and the files stay as they are. With
    /// [`open_with`](Self::open_with) and a [`DamagePolicy`] it goes back to the commit before for
    /// good; what is whole of the newer one is moved aside. See [`recovered`](Self::recovered).
    ///
    /// # Errors
    ///
    /// [`StoreError::Missing`], [`StoreError::Locked`], [`StoreError::Corrupt`] with what is whole,
    /// what is lost and what to do, [`StoreError::Version`], I/O errors.
    pub fn open(dir: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::open_with(dir, EmbeddedOptions::default())
    }

    /// Opens a knowledge base as [`open`](Self::open) does, with other settings.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub fn open_with(dir: impl AsRef<Path>, options: EmbeddedOptions) -> Result<Self, StoreError> {
        let dir = dir.as_ref();
        // Before the lock, which would make a file.
        if !Self::exists(dir) {
            return Err(StoreError::Missing {
                place: Place::from_path(dir),
            });
        }
        let lock = WriteLock::acquire(dir)?;
        // Under the lock, so that no other writer changes the files before recovery is finished.
        let mut opened = generation::open(dir, options.damage_policy, FileAccess::Exclusive)?;
        recovery::finish(dir, &mut opened)?;
        Ok(Self::from_opened(dir, opened, options, Some(lock)))
    }

    /// Opens an existing knowledge base for reading, also beside a writer.
    ///
    /// It sees the last commit, and refuses one that it finds damaged. It changes no file.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open), without [`StoreError::Locked`].
    pub fn open_read_only(dir: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::open_read_only_with(dir, DamagePolicy::Refuse)
    }

    /// Opens a knowledge base as [`open_read_only`](Self::open_read_only) does, and may go back to
    /// the commit before the last one: see [`recovered`](Self::recovered).
    ///
    /// # Errors
    ///
    /// As [`open_read_only`](Self::open_read_only).
    ///
    /// ```
    /// # use kato_model::{LearnBatch, PatternName, batch::BatchSymbol};
    /// # use kato_store::{EmbeddedStore, PatternStore};
    /// # use serde_json::json;
    /// use kato_store::embedded::DamagePolicy;
    /// # let dir = tempfile::tempdir()?;
    /// # let kb = dir.path().join("kb");
    /// # let store = EmbeddedStore::create(&kb, &["node0"], json!(null))?;
    /// # for commit in ["a", "b"] {
    /// #     let mut batch = LearnBatch::new(1);
    /// #     let symbol = batch.literal(commit);
    /// #     batch.learn(0, PatternName::of_events(&[[commit]]), [BatchSymbol::Literal(symbol)]);
    /// #     store.commit(vec![store.stage(batch.seal())?], json!(commit))?;
    /// # }
    /// # drop(store);
    ///
    /// // The segment of the second commit is lost: that is an error, and nothing older instead.
    /// std::fs::remove_file(kb.join("segments/0000000001.seg"))?;
    /// assert!(EmbeddedStore::open_read_only(&kb).is_err());
    ///
    /// let store = EmbeddedStore::open_read_only_with(&kb, DamagePolicy::GoBack)?;
    /// let recovery = store.recovered().expect("it went back");
    /// assert_eq!((recovery.n_commits, recovery.lost_commits), (1, Some(1)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_read_only_with(
        dir: impl AsRef<Path>,
        policy: DamagePolicy,
    ) -> Result<Self, StoreError> {
        let dir = dir.as_ref();
        // Without the lock: a writer may go on meanwhile, so the files are held open from now on.
        let opened = generation::open(dir, policy, FileAccess::Shared)?;
        Ok(Self::from_opened(
            dir,
            opened,
            EmbeddedOptions::default(),
            None,
        ))
    }

    /// Returns whether somebody else has the knowledge base open for writing now: then what is made of its
    /// segments may soon be of no use.
    #[must_use]
    pub fn is_written_elsewhere(&self) -> bool {
        self.writer().is_err() && WriteLock::is_held(&self.dir)
    }

    /// Returns the damage of a directory's newest commit, with what is whole and what is lost;
    /// `None` if it opens. It changes no file.
    ///
    /// Blocks of patterns are not read: damage inside them is found when they are.
    ///
    /// # Errors
    ///
    /// [`StoreError::Missing`], [`StoreError::Version`], I/O errors.
    pub fn damage(dir: impl AsRef<Path>) -> Result<Option<Damage>, StoreError> {
        generation::damage(dir.as_ref())
    }

    /// Returns whether a directory holds a knowledge base, whole or damaged.
    #[must_use]
    pub fn exists(dir: impl AsRef<Path>) -> bool {
        holds_knowledge_base(dir.as_ref())
    }

    /// Returns the checkpoint of a directory's newest commit, without opening its knowledge base;
    /// `None` if it holds none.
    ///
    /// # Errors
    ///
    /// [`StoreError::Corrupt`], [`StoreError::Version`], I/O errors.
    pub fn checkpoint_of(dir: impl AsRef<Path>) -> Result<Option<Value>, StoreError> {
        let newest = newest_manifest(dir.as_ref())?;
        Ok(newest.map(|(manifest, _)| manifest.checkpoint))
    }

    /// Returns the files that a copy of a directory's newest commit consists of; `None` if it holds
    /// no knowledge base.
    ///
    /// Paths are relative to the directory, the manifest last. Segment files never change; a writer
    /// removes those that it has merged. The next commit replaces the manifest, which then names
    /// other files than these: no commit may come before the files are copied, or have second
    /// names.
    ///
    /// # Errors
    ///
    /// As [`checkpoint_of`](Self::checkpoint_of).
    pub fn files_of(dir: impl AsRef<Path>) -> Result<Option<Vec<PathBuf>>, StoreError> {
        let Some((manifest, file)) = newest_manifest(dir.as_ref())? else {
            return Ok(None);
        };
        let segments = segment_dir(Path::new(""));
        let files = manifest.files().map(|file| segments.join(file));
        Ok(Some(files.chain([file.into()]).collect()))
    }

    /// Returns what opening found damaged and opened all the same: nothing is lost, or it went back
    /// to the commit before the newest one, as its [`DamagePolicy`] allows.
    #[must_use]
    pub fn recovered(&self) -> Option<&Recovery> {
        self.recovery.as_ref()
    }

    /// Returns the directory.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the number of commits so far.
    #[must_use]
    pub fn n_commits(&self) -> u64 {
        self.state().newest.manifest.n_commits
    }

    /// Returns the number of segments that a look-up has to search.
    #[must_use]
    pub fn n_segments(&self) -> usize {
        self.state().newest.segments.len()
    }

    /// Creates the store of the generation that was opened in a directory.
    fn from_opened(
        dir: &Path,
        opened: OpenedGeneration,
        options: EmbeddedOptions,
        lock: Option<WriteLock>,
    ) -> Self {
        let OpenedGeneration {
            manifest,
            segments,
            previous,
            recovery,
            twin: _,
        } = opened;
        // The limits were fixed when the knowledge base was created. With other ones merging would
        // no longer be associative.
        let options = EmbeddedOptions {
            attribute_limits: manifest.attribute_limits,
            ..options
        };
        Self {
            dir: dir.to_owned(),
            options,
            nodes: manifest.nodes.clone(),
            configuration: manifest.configuration.clone(),
            next_segment: AtomicU64::new(manifest.next_segment),
            recovery,
            kept: Mutex::default(),
            merging_time: Arc::default(),
            flusher: Flusher::default(),
            state: Mutex::new(State {
                newest: Generation { manifest, segments },
                is_in_doubt: false,
                previous,
                retired: Vec::new(),
            }),
            writing: Mutex::default(),
            lock: lock.map(Arc::new),
        }
    }

    /// Locks the state.
    fn state(&self) -> MutexGuard<'_, State> {
        // A panic while the lock is held leaves the last complete state: it is replaced as a whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the digests of the segments that commits do not merge.
    fn kept(&self) -> MutexGuard<'_, Vec<ContentDigest>> {
        // Replaced as a whole.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until no other generation is being made. Merging takes minutes and the disk its time,
    /// so this is another lock than that of the state: readers do not wait for them.
    fn writing(&self) -> Writing<'_> {
        // Merges are put there and taken as a whole.
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the newest generation. It stays the newest for as long as [`writing`](Self::writing)
    /// is locked.
    fn newest(&self) -> Generation {
        self.state().newest.clone()
    }

    /// Returns the segments of the newest commit. Whoever reads from them needs no lock, and sees
    /// no later commit.
    fn segments(&self) -> Vec<Arc<Segment>> {
        self.state().newest.segments.clone()
    }

    /// Returns the file of a segment that is about to be written.
    fn next_segment_path(&self) -> PathBuf {
        segment_path(&self.dir, self.next_number())
    }

    /// Returns a number that no file has or had.
    fn next_number(&self) -> u64 {
        // Numbers only have to differ, so no ordering is needed.
        self.next_segment.fetch_add(1, Ordering::Relaxed)
    }

    /// Returns the writer's lock, or the error of a store that is open for reading only.
    fn writer(&self) -> Result<&Arc<WriteLock>, StoreError> {
        self.lock.as_ref().ok_or_else(|| StoreError::ReadOnly {
            place: Place::from_path(&self.dir),
        })
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

    fn check_writable(&self) -> Result<(), StoreError> {
        self.writer().map(drop)
    }

    fn checkpoint(&self) -> Value {
        self.state().newest.manifest.checkpoint.clone()
    }

    fn stage(&self, batch: SealedBatch) -> Result<StagedBatch, StoreError> {
        let writer = self.writer()?;
        check_node_count(&self.nodes, batch.n_nodes())?;
        // Every batch has a file of its own, so threads stage without waiting for each other.
        let path = self.next_segment_path();
        let write = || write_batch(&batch, &self.options.attribute_limits, &path);
        let staged = StagedSegment::write(&path, writer, write)?;
        staged.staged_by(writer)?.flush_ahead(&self.flusher);
        Ok(StagedBatch::new(staged))
    }

    fn commit(&self, staged: Vec<StagedBatch>, checkpoint: Value) -> Result<(), StoreError> {
        let writer = self.writer()?;
        let mut staged = staged
            .into_iter()
            .map(StagedBatch::into_prepared::<StagedSegment>)
            .collect::<Result<Vec<_>, _>>()?;
        let mut opened = Vec::with_capacity(staged.len());
        // Batches are checked, flushed and opened first: another commit need not wait for that,
        // and a foreign batch fails this one while nothing has changed.
        for segment in &staged {
            opened.push(open_durably(segment.staged_by(writer)?)?);
        }
        let mut writing = self.writing();
        // Changed in a copy: the newest generation stays what it is until the manifest is replaced.
        let mut next = self.newest();
        next.manifest.checkpoint = checkpoint;
        next.manifest.n_commits += 1;
        // A merge belongs to the commit: if that fails, the merged file is removed with the others.
        staged.extend(self.merge_if_needed(&mut writing, &mut next, opened.len())?);
        for (entry, segment) in opened {
            next.push(entry, segment);
        }
        // From here on the manifest on the disk may name the files, even if an error follows.
        for segment in &mut staged {
            segment.keep();
        }
        self.replace(&writing, next)?;
        // Behind the commit, so that what it brought can be merged as well.
        self.merge_beside_if_needed(&mut writing, writer);
        Ok(())
    }

    fn clear(&self, checkpoint: Value) -> Result<(), StoreError> {
        self.writer()?;
        let mut writing = self.writing();
        writing.clear();
        let newest = self.newest().manifest;
        let manifest = Manifest {
            checkpoint,
            n_commits: newest.n_commits + 1,
            segments: Vec::new(),
            deletions: Vec::new(),
            tombstones: Vec::new(),
            ..newest
        };
        let segments = Vec::new();
        self.replace(&writing, Generation { manifest, segments })?;
        self.drop_previous_generation(&writing);
        Ok(())
    }

    fn forget(
        &self,
        names_to_forget: &[Vec<PatternName>],
        checkpoint: Value,
    ) -> Result<(), StoreError> {
        self.forget_with(names_to_forget, None, checkpoint)
    }

    fn tombstones(&self, node_idx: usize) -> Result<Tombstones, StoreError> {
        check_node(&self.nodes, node_idx)?;
        let state = self.state();
        let of_node = state.newest.manifest.tombstones.get(node_idx);
        Ok(of_node.cloned().unwrap_or_default())
    }

    fn keeps_tombstones(&self) -> bool {
        true
    }

    fn bury(
        &self,
        tombstones: Vec<Tombstones>,
        names_to_forget: &[Vec<PatternName>],
        checkpoint: Value,
    ) -> Result<(), StoreError> {
        check_node_count(&self.nodes, tombstones.len())?;
        self.forget_with(names_to_forget, Some(tombstones), checkpoint)
    }

    fn totals(&self, node_idx: usize) -> Result<Totals, StoreError> {
        check_node(&self.nodes, node_idx)?;
        let mut totals = Totals::default();
        // The manifest holds the totals of every segment, so nothing is read.
        let state = self.state();
        let segments = state.newest.manifest.segments.iter();
        for node in segments.filter_map(|segment| segment.totals().nth(node_idx)) {
            totals.merge(Totals {
                learns: node.observations,
                learned_symbols: node.symbols,
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

    fn visit_beyond(
        &self,
        node_idx: usize,
        known: &[ContentDigest],
        visitor: &mut dyn PatternVisitor,
    ) -> Result<bool, StoreError> {
        check_node(&self.nodes, node_idx)?;
        let segments = self.segments();
        let Some(names) = visit::deleted_beyond(&segments, node_idx, known)? else {
            return Ok(false);
        };
        if !names.into_iter().all(|name| visitor.deleted(name)) {
            return Ok(false);
        }
        let beyond = visit::beyond(segments, known).unwrap_or_default();
        visit::visit(&beyond, node_idx, visitor)?;
        Ok(true)
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

    fn document(&self, document_idx: u64) -> Result<Option<String>, StoreError> {
        query::document(&self.segments(), document_idx)
    }

    fn disk_bytes(&self) -> Option<u64> {
        let state = self.state();
        let newest = &state.newest.manifest;
        let referenced: HashSet<&str> = newest.files().collect();
        let previous = state
            .previous
            .iter()
            .map(|(file, bytes)| (file.as_str(), *bytes));
        // Most segments belong to both generations and count once.
        let previous = previous.filter(|(file, _)| !referenced.contains(file));
        Some(
            newest
                .sized_files()
                .chain(previous)
                .map(|(_, bytes)| bytes)
                .sum(),
        )
    }

    fn recovered(&self) -> Option<&Recovery> {
        self.recovery.as_ref()
    }

    fn merging_time(&self) -> Duration {
        self.merging_time.get()
    }
}

impl Generation {
    /// Adds a segment.
    fn push(&mut self, entry: SegmentEntry, segment: Arc<Segment>) {
        self.manifest.segments.push(entry);
        self.segments.push(segment);
    }

    /// Keeps the segments for which it says so.
    fn retain(&mut self, is_kept: &[bool]) {
        // Segments and their entries in the manifest are parallel lists and lose the same
        // positions.
        let mut is_kept_of_each = is_kept.iter();
        self.segments
            .retain(|_| is_kept_of_each.next().is_none_or(|is_kept| *is_kept));
        let mut is_kept_of_each = is_kept.iter();
        self.manifest
            .segments
            .retain(|_| is_kept_of_each.next().is_none_or(|is_kept| *is_kept));
    }
}

/// Returns the newest manifest of a directory, and the file that holds it; `None` if it holds no
/// knowledge base.
fn newest_manifest(dir: &Path) -> Result<Option<(Manifest, &'static str)>, StoreError> {
    let manifests = match Manifests::read(dir) {
        Err(StoreError::Missing { .. }) => return Ok(None),
        manifests => manifests?,
    };
    match manifests.best() {
        Some((manifest, file, true)) => Ok(Some((manifest.clone(), file))),
        best => {
            let damaged = manifests.damaged(dir).swap_remove(0);
            let rescue = match best {
                Some(_) => Rescue::Unknown,
                None => Rescue::Nothing,
            };
            Err(StoreError::corrupt_with(
                &damaged.path,
                damaged.reason,
                rescue,
            ))
        }
    }
}

/// Waits until the disk holds a segment, and opens it.
fn open_durably(written: &WrittenSegment) -> Result<(SegmentEntry, Arc<Segment>), StoreError> {
    written.flush()?;
    Ok((
        manifest_entry(written),
        Arc::new(Segment::open(written.path())?),
    ))
}
