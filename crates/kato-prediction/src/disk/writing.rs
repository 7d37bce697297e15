//! Building an index: one walk along the store in name order, then the lists, in bounded memory.

mod buckets;
mod columns;
mod counts;
mod directories;
mod lists;
mod node;
mod numbers;
mod posting;
mod postings;
mod progress;
mod shapes;
mod sorting;
mod threads;

use std::fs::{self, File};
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use crate::Cancel;
use crate::frozen::FrozenIndex;
use kato_columns::files;
use kato_store::visit::{
    ContentDigest, OrderedNode, OrderedVisitor, StoredContent, VisitedPattern,
};
use kato_store::{EmbeddedStore, PatternStore};

use self::node::NodeBuilder;
use self::numbers::{Children, Numbers};
pub use self::progress::BuildProgress;
use crate::disk::files::{CHECKSUMS, FORMAT_VERSION, HEADER, Header, NodeHeader, index_dir};
use crate::disk::open::open_unit;
use crate::disk::policy::{is_worn, n_stored_beyond};
use crate::disk::{IndexFileError, StoreIndex, keep_deleted};

/// How an index is built. Answers do not depend on it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BuildOptions {
    /// Bytes of memory for sorting, beside which there are 4 bytes for each pattern of two neighbouring
    /// nodes. The less, the more often the patterns are read. Default 256 MiB.
    pub sort_bytes: usize,
    /// Threads that collect and sort, beside one that writes. Default: as many as the system lets a
    /// program have.
    pub threads: NonZeroUsize,
    /// A flag that ends the building, which looks at it every few thousand patterns. Default: none.
    pub cancel: Cancel,
    /// Where the building tells how far it is. Default: nobody looks.
    pub progress: BuildProgress,
    /// How many times as large as what is written an index must be that is added to: a smaller one is
    /// written again, together with what is new. With 0 all are added to as long as they are few.
    /// Default 2.
    pub unit_ratio: u64,
    /// Patterns of one kind that hold a symbol, from which on its pairs are listed, where lists have signatures:
    /// a walk along fewer takes microseconds. Default 1,024; tests list those of few.
    #[doc(hidden)]
    pub least_pair_list: u64,
    /// Whether an index is read and compared with its checksums before it is added to, for those who know
    /// or fear that it is damaged. Default: no more of it than is needed.
    pub checks_units: bool,
}

impl Default for BuildOptions {
    fn default() -> Self {
        Self {
            sort_bytes: 256 << 20,
            threads: thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
            cancel: Cancel::never(),
            progress: BuildProgress::default(),
            unit_ratio: 2,
            least_pair_list: 1 << 10,
            checks_units: false,
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

    /// Sets how many times as large as what is written an index must be that is added to.
    #[must_use]
    pub fn with_unit_ratio(mut self, ratio: u64) -> Self {
        self.unit_ratio = ratio;
        self
    }

    /// Sets from how many patterns that hold a symbol on its pairs are listed.
    #[doc(hidden)]
    #[must_use]
    pub fn with_least_pair_list(mut self, n_patterns: u64) -> Self {
        self.least_pair_list = n_patterns;
        self
    }

    /// Sets whether an index is read and compared with its checksums before it is added to.
    #[must_use]
    pub fn with_checked_units(mut self, are_checked: bool) -> Self {
        self.checks_units = are_checked;
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

/// Indexes that together hold what a store holds, at most: a question asks each.
const MAX_UNITS: usize = 8;

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
    /// Whether there was a whole index already, so that none was written.
    pub was_there: bool,
}

/// Builds the index of what a store holds beside the store, and removes those of what it held
/// before.
///
/// Where there is an index of a part of it, what is new is indexed, with the last
/// [units](StoreIndex::units) of that one that are not much larger, and adds to the others.
///
/// An index of all that the store holds is kept where it is whole, unless much of what it is of was
/// deleted since, or some of that was learned again: then all is indexed anew. Until the new one is complete nobody sees it; a build
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
    let report = build_locked(store, options, None)?;
    keep_deleted(store);
    Ok(report)
}

/// Builds the index as [`build()`] does, and shows another visitor what it reads for that, as
/// [`EmbeddedStore::visit_in_order`] would: a store is walked along once for both. Where it does not read all, the
/// other is shown nothing.
///
/// # Errors
///
/// Those of [`build()`]; the other may have been shown a part then.
pub fn build_beside(
    store: &EmbeddedStore,
    options: &BuildOptions,
    other: &mut dyn OrderedVisitor,
) -> Result<BuildReport, IndexFileError> {
    let report = build_locked(store, options, Some(other))?;
    keep_deleted(store);
    Ok(report)
}

/// Builds it while nobody else does.
fn build_locked(
    store: &EmbeddedStore,
    options: &BuildOptions,
    other: Option<&mut dyn OrderedVisitor>,
) -> Result<BuildReport, IndexFileError> {
    let began = Instant::now();
    let parent = index_dir(store.dir());
    let _lock = files::lock(&parent).map_err(IndexFileError::of_files)?;
    let lower = match crate::disk::open(store).ok().flatten() {
        Some(index)
            if store.n_sources_beyond(index.covered()) == Some(0) && !is_worn(store, &index)? =>
        {
            if is_whole(&index, &options.cancel)? {
                remove_others(&parent, &index);
                return Ok(BuildReport::of(&index, began, true));
            }
            None
        }
        index => index.and_then(|index| to_add_to(store, index, options.unit_ratio)),
    };
    let lower = match lower {
        Some(index) if options.checks_units && !is_whole(&index, &options.cancel)? => None,
        lower => lower,
    };
    // The other has no use for a part.
    let added = lower
        .as_ref()
        .map(|lower| build_over(store, &parent, options, Some(lower), None));
    let built = match added {
        Some(built) if !is_lower_lost(lower.as_ref(), &built) => built,
        // There is nothing to add to, or it is damaged, or no longer what the store holds.
        _ => build_over(store, &parent, options, None, other),
    };
    drop(lower);
    let content = built?;
    let index = open_unit(store, content)?;
    remove_others(&parent, &index);
    Ok(BuildReport::of(&index, began, false))
}

/// Returns whether an index is as it was written.
fn is_whole(index: &StoreIndex, cancel: &Cancel) -> Result<bool, IndexFileError> {
    match index.check_unless(cancel) {
        Ok(()) => Ok(true),
        Err(IndexFileError::Cancelled(cancelled)) => Err(cancelled.into()),
        Err(_) => Ok(false),
    }
}

/// Returns whether building failed, or is worth nothing, because of what it adds to.
fn is_lower_lost(
    lower: Option<&StoreIndex>,
    built: &Result<ContentDigest, IndexFileError>,
) -> bool {
    let is_damaged = lower.is_some_and(StoreIndex::is_damaged);
    is_damaged || matches!(built, Err(IndexFileError::Damaged { .. }))
}

/// Returns the part of an index that the next adds to; `None` if everything is to be indexed anew.
///
/// What is new is written, and with it the last ones that are not `ratio` times as large as all that is
/// written: so there are few, and a pattern is written again only when there is much beside it.
fn to_add_to(store: &EmbeddedStore, index: StoreIndex, ratio: u64) -> Option<StoreIndex> {
    if is_worn(store, &index).unwrap_or(true) {
        return None;
    }
    let mut n_written = n_stored_beyond(store, index.covered());
    let units: Vec<(ContentDigest, u64)> = index.units().collect();
    let mut n_kept = units.len();
    while let Some((_, n_patterns)) = n_kept.checked_sub(1).map(|last| units[last]) {
        if n_kept < MAX_UNITS && n_patterns >= n_written.saturating_mul(ratio) {
            break;
        }
        n_written = n_written.saturating_add(n_patterns);
        n_kept -= 1;
    }
    let lower = match units.get(n_kept.checked_sub(1)?) {
        Some(_) if n_kept == units.len() => return Some(index),
        last => open_unit(store, last?.0).ok()?,
    };
    // Of fewer patterns fewer may be gone: it would be found out when all is written.
    let is_worn = is_worn(store, &lower).unwrap_or(true);
    (!is_worn).then_some(lower)
}

/// Writes the index of what a store holds beyond another, into a directory first, and returns its digest.
fn build_over(
    store: &EmbeddedStore,
    parent: &Path,
    options: &BuildOptions,
    lower: Option<&StoreIndex>,
    other: Option<&mut dyn OrderedVisitor>,
) -> Result<ContentDigest, IndexFileError> {
    let dir = files::begin(parent).map_err(IndexFileError::of_files)?;
    let built = write(store, &dir, options, lower, other);
    if built.is_err() {
        // A full disk is a reason to fail, and to leave nothing there. Should it stay all the same,
        // the next build removes it.
        drop(files::remove(&dir));
    }
    built
}

/// Writes the index of what a store holds beyond another into a directory, and gives it its name.
fn write(
    store: &EmbeddedStore,
    dir: &Path,
    options: &BuildOptions,
    lower: Option<&StoreIndex>,
    other: Option<&mut dyn OrderedVisitor>,
) -> Result<ContentDigest, IndexFileError> {
    let known = lower.map(StoreIndex::covered).unwrap_or_default();
    options.progress.begin(n_stored_beyond(store, known));
    let content = thread::scope(|scope| {
        let mut builder = Builder {
            dir: dir.to_owned(),
            options,
            names: store.nodes(),
            lower: lower.map(StoreIndex::frozen).unwrap_or_default(),
            node: None,
            end_rank: 0,
            children: Children::default(),
            scope,
            lists: None,
            nodes: Vec::new(),
            checksums: Vec::new(),
            error: None,
            n_seen: 0,
        };
        let mut both = Both {
            builder: &mut builder,
            other,
        };
        let visited = store.visit_in_order_beyond(known, &mut both);
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
        builder.finish(&content, lower.map(StoreIndex::content))
    })?;
    options.cancel.check()?;
    // Nothing that was made of damage is ever published.
    if lower.is_some_and(StoreIndex::is_damaged) {
        return Err(IndexFileError::damaged(dir, "what it adds to is damaged"));
    }
    // Nor what has patterns that were deleted below while it was written, and learned again: they would go
    // with those.
    if let Some(lower) = lower
        && is_worn(store, lower)?
    {
        return Err(IndexFileError::damaged(dir, "what it adds to is worn"));
    }
    // One of that name that is there is damaged, or nothing would have been built.
    files::publish(dir, &content.to_string(), HEADER).map_err(IndexFileError::of_files)?;
    Ok(content)
}

impl BuildReport {
    fn of(index: &StoreIndex, began: Instant, was_there: bool) -> Self {
        Self {
            content: index.content(),
            patterns: index.n_patterns(),
            bytes: index.bytes(),
            elapsed: began.elapsed(),
            was_there,
        }
    }
}

/// Removes the indexes beside a store that are of no use for what it holds now: those of what was
/// merged or rewritten since. One that [`open`](crate::disk::open) finds stays.
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
    let _lock = files::lock(&parent).map_err(IndexFileError::of_files)?;
    match crate::disk::open(store).ok().flatten() {
        Some(usable) => remove_others(&parent, &usable),
        None => remove_all_but(&parent, &[]),
    }
    Ok(())
}

/// Removes the indexes that are no part of one.
fn remove_others(parent: &Path, index: &StoreIndex) {
    let kept: Vec<String> = index.units().map(|(unit, _)| unit.to_string()).collect();
    remove_all_but(parent, &kept);
}

/// Removes all indexes but those of these names.
fn remove_all_but(parent: &Path, kept: &[String]) {
    // Nothing but our own: digests of 40 digits, and what was never finished.
    files::remove_stale(parent, |name| {
        ContentDigest::from_hex(name).is_some() && !kept.iter().any(|kept| kept == name)
    });
}

/// A node whose lists are written, or why not.
type Finished = Result<(NodeHeader, Vec<u32>), IndexFileError>;

/// A visitor that writes what it sees.
struct Builder<'scope, 'env> {
    dir: PathBuf,
    options: &'env BuildOptions,
    names: &'env [String],
    /// The indexes of the nodes that are added to; none where everything is indexed anew.
    lower: Vec<Arc<FrozenIndex>>,
    node: Option<NodeBuilder>,
    /// Patterns of the node before, those of lower indexes included.
    end_rank: u32,
    /// Those that were shown, as symbols of the node after it.
    children: Children,
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
        let Some(mut node) = self.node.take() else {
            return Ok(());
        };
        self.end_rank = node.end_rank();
        self.children = node.take_children();
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

    /// Writes the checksums and the header; returns the digest of the index.
    fn finish(
        self,
        content: &StoredContent,
        lower: Option<ContentDigest>,
    ) -> Result<ContentDigest, IndexFileError> {
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
        let digest = match &lower {
            Some(lower) => content.digest.over(lower),
            None => content.digest,
        };
        let header = Header {
            format_version: FORMAT_VERSION,
            content: digest.to_string(),
            lower: lower.map(|lower| lower.to_string()),
            sources: content.sources.iter().map(ToString::to_string).collect(),
            nodes: self.nodes,
            checksums_crc32: crc32fast::hash(&bytes),
        };
        header.write(&self.dir)?;
        Ok(digest)
    }
}

/// The builder, and another visitor that is shown the same until it breaks off.
struct Both<'a, 'b, 'o> {
    builder: &'a mut (dyn OrderedVisitor + 'b),
    other: Option<&'a mut (dyn OrderedVisitor + 'o)>,
}

impl OrderedVisitor for Both<'_, '_, '_> {
    fn node(&mut self, node: &OrderedNode<'_>) {
        self.builder.node(node);
        if let Some(other) = &mut self.other {
            other.node(node);
        }
    }

    fn pattern(&mut self, pattern: &VisitedPattern<'_>) -> ControlFlow<()> {
        if let Some(other) = &mut self.other
            && other.pattern(pattern).is_break()
        {
            self.other = None;
        }
        self.builder.pattern(pattern)
    }

    fn end(&mut self, content: &StoredContent) {
        if let Some(other) = &mut self.other {
            other.end(content);
        }
    }
}

impl OrderedVisitor for Builder<'_, '_> {
    fn node(&mut self, node: &OrderedNode<'_>) {
        if self.error.is_some() {
            return;
        }
        let begun = self.end_node().and_then(|()| {
            let node_idx = node.node_idx;
            let name = self.names.get(node_idx).cloned().unwrap_or_default();
            let below = std::mem::take(&mut self.children);
            let lower = self.lower.get(node_idx).cloned();
            let numbers = Numbers::new(lower, below, self.end_rank, node);
            let children = Children::new(self.lower.get(node_idx + 1).cloned());
            NodeBuilder::new(&self.dir, name, node_idx, numbers, children)
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
