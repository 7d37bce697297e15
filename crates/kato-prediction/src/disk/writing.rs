//! Building an index: one walk along the store in name order, then the lists, in bounded memory.

mod columns;
mod lists;
mod node;
mod postings;
mod progress;
mod shapes;

use std::fs::{self, File, TryLockError};
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use crate::Cancel;
use kato_store::visit::{
    ContentDigest, OrderedNode, OrderedVisitor, StoredContent, VisitedPattern,
};
use kato_store::{EmbeddedStore, PatternStore};

use self::node::NodeBuilder;
pub use self::progress::BuildProgress;
use crate::disk::IndexFileError;
use crate::disk::files::{
    BUILDING, CHECKSUMS, FORMAT_VERSION, HEADER, Header, LOCK, NodeHeader, content_dir, index_dir,
    sync_dir,
};

/// How an index is built. The result does not depend on it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BuildOptions {
    /// Bytes of memory for sorting, beside which there are 4 bytes for each pattern of the largest
    /// node. The less, the more often the patterns are read. Default 256 MiB.
    pub sort_bytes: usize,
    /// Threads that collect and sort, beside one that writes. Default: as many as the system lets a
    /// program have.
    pub threads: NonZeroUsize,
    /// A flag that ends the building, which looks at it every few thousand patterns. Default: none.
    pub cancel: Cancel,
    /// Where the building tells how far it is. Default: nobody looks.
    pub progress: BuildProgress,
}

impl Default for BuildOptions {
    fn default() -> Self {
        Self {
            sort_bytes: 256 << 20,
            threads: thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
            cancel: Cancel::never(),
            progress: BuildProgress::default(),
        }
    }
}

impl BuildOptions {
    /// Sets the bytes of memory for sorting.
    #[must_use]
    pub fn with_sort_bytes(mut self, bytes: usize) -> Self {
        self.sort_bytes = bytes;
        self
    }

    /// Sets the number of threads that sort; more than 1,024 are as many.
    #[must_use]
    pub fn with_threads(mut self, threads: NonZeroUsize) -> Self {
        self.threads = threads.min(MAX_THREADS);
        self
    }

    /// Sets the flag that ends the building.
    #[must_use]
    pub fn with_cancel(mut self, cancel: Cancel) -> Self {
        self.cancel = cancel;
        self
    }

    /// Sets where the building tells how far it is.
    #[must_use]
    pub fn with_progress(mut self, progress: BuildProgress) -> Self {
        self.progress = progress;
        self
    }
}

/// Threads at most.
const MAX_THREADS: NonZeroUsize = NonZeroUsize::new(1024).expect("1024 is not 0");

/// Patterns between two looks whether the building is cancelled.
const CHECK_EVERY: u64 = 1 << 12;

/// The outcome of building an index.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BuildReport {
    /// The digest of what was indexed, by which the index is found.
    pub content: ContentDigest,
    /// Patterns of all nodes.
    pub patterns: u64,
    /// Bytes on the disk.
    pub bytes: u64,
    /// Time that it took.
    pub elapsed: Duration,
    /// Whether there was a whole index already, so that nothing was written.
    pub was_there: bool,
}

/// Builds the index of what a store holds beside the store, and removes those of what it held
/// before.
///
/// An index that is there and whole is kept. Until the new one is complete nobody sees it; a build
/// that fails or is cancelled removes what it wrote, and one that is cut off leaves files that the
/// next one removes. Programs that have an older one open go on with it.
///
/// ```
/// use kato_model::batch::BatchSymbol;
/// use kato_model::{LearnBatch, PatternName};
/// use kato_store::{EmbeddedStore, PatternStore};
/// use serde_json::Value;
///
/// let dir = tempfile::tempdir()?;
/// let store = EmbeddedStore::create(&dir.path().join("kb"), &["node0"], Value::Null)?;
/// let mut batch = LearnBatch::new(1);
/// let symbols = ["a", "b"].map(|text| BatchSymbol::Literal(batch.literal(text)));
/// batch.learn(0, PatternName::of_events(&[["a"], ["b"]]), symbols);
/// store.commit(vec![store.stage(batch.seal())?], Value::Null)?;
///
/// assert!(kato_prediction::disk::open(&store)?.is_none());
/// let report = kato_prediction::disk::build(&store, &kato_prediction::disk::BuildOptions::default())?;
/// assert_eq!(report.patterns, 1);
/// let index = kato_prediction::disk::open(&store)?.expect("it was just built");
/// assert_eq!(index.nodes().len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`IndexFileError`]; then an index that was there is as before.
pub fn build(store: &EmbeddedStore, options: &BuildOptions) -> Result<BuildReport, IndexFileError> {
    let began = Instant::now();
    let parent = index_dir(store.dir());
    fs::create_dir_all(&parent).map_err(IndexFileError::io("create", &parent))?;
    let _lock = lock(&parent)?;
    if let Some(report) = whole_index(store, began, &options.cancel)? {
        remove_others(&parent, report.content);
        return Ok(report);
    }
    let dir = parent.join(BUILDING);
    // What a build left behind that was cut off.
    remove_dir(&dir)?;
    let built = write(store, &dir, options, began);
    if built.is_err() {
        // A full disk is a reason to fail, and to leave nothing there. Should it stay all the same,
        // the next build removes it.
        drop(remove_dir(&dir));
    }
    let report = built?;
    remove_others(&parent, report.content);
    Ok(report)
}

/// Writes the index of what a store holds into a directory, and gives it its name.
fn write(
    store: &EmbeddedStore,
    dir: &Path,
    options: &BuildOptions,
    began: Instant,
) -> Result<BuildReport, IndexFileError> {
    fs::create_dir(dir).map_err(IndexFileError::io("create", dir))?;
    let nodes = 0..store.nodes().len();
    let stored = nodes.map(|node_idx| store.n_stored_beyond(node_idx, &[]));
    options.progress.begin(stored.fold(0, u64::saturating_add));
    let (content, patterns, bytes) = thread::scope(|scope| {
        let mut builder = Builder {
            dir: dir.to_owned(),
            options,
            names: store.nodes(),
            node: None,
            scope,
            lists: None,
            nodes: Vec::new(),
            checksums: Vec::new(),
            error: None,
            n_seen: 0,
        };
        let visited = store.visit_in_order(&mut builder);
        // The visitor's own error first: it is why the visit ended.
        if let Some(error) = builder.error.take() {
            return Err(error);
        }
        let content = visited?;
        builder.end_node()?;
        builder.end_lists()?;
        let Some(content) = content else {
            return Err(IndexFileError::damaged(dir, "building it was broken off"));
        };
        let (patterns, bytes) = builder.finish(&content)?;
        Ok((content, patterns, bytes))
    })?;
    options.cancel.check()?;
    publish(store.dir(), dir, content.digest)?;
    Ok(BuildReport {
        content: content.digest,
        patterns,
        bytes,
        elapsed: began.elapsed(),
        was_there: false,
    })
}

/// Removes the indexes beside a store that are of no use for what it holds now: those of what was
/// merged, rewritten or forgotten since. One that [`open`](crate::disk::open) finds stays.
///
/// # Errors
///
/// [`IndexFileError::Locked`] while one is being written, which removes them at its end, and
/// [`IndexFileError::Io`].
pub fn remove_stale(store: &EmbeddedStore) -> Result<(), IndexFileError> {
    let parent = index_dir(store.dir());
    // Where there never was one, no directory is made for the lock.
    if !parent.exists() {
        return Ok(());
    }
    let _lock = lock(&parent)?;
    let usable = crate::disk::open(store).ok().flatten();
    remove_all_but(&parent, usable.map(|index| index.content()));
    Ok(())
}

/// Returns the report of the index that is there, if it is whole.
fn whole_index(
    store: &EmbeddedStore,
    began: Instant,
    cancel: &Cancel,
) -> Result<Option<BuildReport>, IndexFileError> {
    let Ok(Some(index)) = crate::disk::open(store) else {
        return Ok(None);
    };
    // One of a part is not enough.
    let content = store.content_digest();
    if index.content() != content {
        return Ok(None);
    }
    match index.check_unless(cancel) {
        Ok(()) => {}
        Err(IndexFileError::Cancelled(cancelled)) => return Err(cancelled.into()),
        Err(_) => return Ok(None),
    }
    Ok(Some(BuildReport {
        content,
        patterns: index.n_patterns(),
        bytes: index.bytes(),
        elapsed: began.elapsed(),
        was_there: true,
    }))
}

/// Locks the directory of indexes for as long as the file lives.
fn lock(parent: &Path) -> Result<File, IndexFileError> {
    let path = parent.join(LOCK);
    let file = File::create(&path).map_err(IndexFileError::io("create", &path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(IndexFileError::Locked {
            path: parent.to_owned(),
        }),
        Err(TryLockError::Error(source)) => Err(IndexFileError::io("lock", &path)(source)),
    }
}

/// Gives a complete index its name.
fn publish(kb: &Path, built: &Path, content: ContentDigest) -> Result<(), IndexFileError> {
    sync_dir(built)?;
    let dir = content_dir(kb, content);
    // One that is there is damaged, or nothing would have been built. Without its header it is none.
    match fs::remove_file(dir.join(HEADER)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(IndexFileError::io("remove", &dir)(error));
        }
        _ => {}
    }
    remove_dir(&dir)?;
    fs::rename(built, &dir).map_err(IndexFileError::io("rename", &dir))?;
    sync_dir(&index_dir(kb))
}

fn remove_dir(dir: &Path) -> Result<(), IndexFileError> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(IndexFileError::io("remove", dir)(error))
        }
        _ => Ok(()),
    }
}

/// Removes the indexes of other content.
fn remove_others(parent: &Path, content: ContentDigest) {
    remove_all_but(parent, Some(content));
}

/// Removes all indexes but that of some content.
fn remove_all_but(parent: &Path, content: Option<ContentDigest>) {
    let keep = content.map(|content| content.to_string());
    let Ok(entries) = fs::read_dir(parent) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        // Nothing but our own: digests of 40 digits, and what was never finished.
        let is_ours = name
            .to_str()
            .is_some_and(|name| name == BUILDING || ContentDigest::from_hex(name).is_some());
        if is_ours && name.to_str() != keep.as_deref() {
            // Those that others have open may stay, on systems that do not remove them then.
            drop(fs::remove_dir_all(entry.path()));
        }
    }
}

/// A node whose lists are written, or why not.
type Finished = Result<(NodeHeader, Vec<u32>), IndexFileError>;

/// A visitor that writes what it sees.
struct Builder<'scope, 'env> {
    dir: PathBuf,
    options: &'env BuildOptions,
    names: &'env [String],
    node: Option<NodeBuilder>,
    scope: &'scope Scope<'scope, 'env>,
    /// The lists of the node below, which are written while the node's patterns are seen.
    lists: Option<ScopedJoinHandle<'scope, Finished>>,
    nodes: Vec<NodeHeader>,
    checksums: Vec<u32>,
    error: Option<IndexFileError>,
    /// Patterns of all nodes so far.
    n_seen: u64,
}

impl Builder<'_, '_> {
    /// Begins to write the lists of the node in progress.
    fn end_node(&mut self) -> Result<(), IndexFileError> {
        let Some(node) = self.node.take() else {
            return Ok(());
        };
        // One after the other, as each takes all memory for sorting.
        self.end_lists()?;
        let options = self.options;
        self.lists = Some(self.scope.spawn(move || node.finish(options)));
        Ok(())
    }

    /// Waits for the lists that are being written.
    fn end_lists(&mut self) -> Result<(), IndexFileError> {
        let Some(lists) = self.lists.take() else {
            return Ok(());
        };
        let finished = lists.join().unwrap_or_else(|panic| resume_unwind(panic));
        let (header, mut checksums) = finished?;
        self.nodes.push(header);
        self.checksums.append(&mut checksums);
        Ok(())
    }

    /// Fails where going on is of no use.
    fn check(&mut self) -> Result<(), IndexFileError> {
        self.options.cancel.check()?;
        // Lists may have failed, as on a full disk.
        match self.lists.as_ref().is_some_and(|lists| lists.is_finished()) {
            true => self.end_lists(),
            false => Ok(()),
        }
    }

    /// Writes the checksums and the header; returns the number of patterns and of bytes.
    fn finish(self, content: &StoredContent) -> Result<(u64, u64), IndexFileError> {
        let path = self.dir.join(CHECKSUMS);
        let bytes: Vec<u8> = self
            .checksums
            .iter()
            .flat_map(|crc| crc.to_le_bytes())
            .collect();
        let write = || {
            fs::write(&path, &bytes)?;
            File::options().write(true).open(&path)?.sync_all()
        };
        write().map_err(IndexFileError::io("write", &path))?;
        let header = Header {
            format_version: FORMAT_VERSION,
            content: content.digest.to_string(),
            sources: content.sources.iter().map(ToString::to_string).collect(),
            nodes: self.nodes,
            checksums_crc32: crc32fast::hash(&bytes),
        };
        header.write(&self.dir)?;
        let columns = header.nodes.iter().flat_map(|node| &node.column_bytes);
        let columns: u64 = columns.sum();
        Ok((header.n_patterns(), columns + bytes.len() as u64))
    }
}

impl OrderedVisitor for Builder<'_, '_> {
    fn node(&mut self, node: &OrderedNode<'_>) {
        if self.error.is_some() {
            return;
        }
        let begun = self.end_node().and_then(|()| {
            let name = self.names.get(node.node_idx).cloned().unwrap_or_default();
            NodeBuilder::new(&self.dir, name, node)
        });
        match begun {
            Ok(node) => self.node = Some(node),
            Err(error) => self.error = Some(error),
        }
    }

    fn pattern(&mut self, pattern: &VisitedPattern<'_>) -> ControlFlow<()> {
        let pushed = match (&self.error, &mut self.node) {
            (None, Some(node)) => node.push(pattern),
            _ => return ControlFlow::Break(()),
        };
        self.n_seen += 1;
        let pushed = match self.n_seen.is_multiple_of(CHECK_EVERY) {
            true => {
                self.options.progress.add(CHECK_EVERY);
                pushed.and_then(|()| self.check())
            }
            false => pushed,
        };
        match pushed {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.error = Some(error);
                ControlFlow::Break(())
            }
        }
    }
}
