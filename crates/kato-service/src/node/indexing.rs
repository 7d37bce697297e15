//! The index beside a node's knowledge base: opening the node over it, and writing the next.

use std::error::Error;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::{Arc, MutexGuard, PoisonError};

use kato_engine::{Engine, EngineError, EngineOptions};
use kato_prediction::Cancel;
use kato_prediction::disk::{BuildOptions, IndexFileError, StoreIndex};
use kato_store::EmbeddedStore;
use kato_store::visit::ContentDigest;

use super::Disk;
use super::lazy_store::LazyStore;
use super::loaded::LoadedNode;
use crate::ServiceError;
use crate::clock::Micros;
use crate::indexes::WrittenIndex;

/// Segments of an index from which on they are merged before the next is written. Each index is of one
/// more than that before it, so that this stays of use until the next is there: they are never merged as
/// long as it is the newest, and take memory and look-ups beside those that folds add and merge.
const MAX_INDEXED_SEGMENTS: usize = 16;

/// Segments that are left then.
const MERGED_SEGMENTS: usize = 4;

/// Seconds after which writing an index that failed is tried again.
const RETRY_SECONDS: u64 = 600;

/// Share of the memory for knowledge, as a divisor, that a node may take before its next index is
/// written however little it learned.
const OVER_MEMORY: usize = 2;

/// What is known of the index on the disk of a node in memory.
#[derive(Debug, Default)]
pub(super) struct Indexing {
    /// The sources of the store that it covers; none without an index.
    covered: Vec<ContentDigest>,
    /// Patterns in it.
    n_patterns: u64,
    /// Whether the node lies above it.
    is_in_use: bool,
    /// Whether there was one that could not be used, so that it is written again at once.
    is_missed: bool,
    /// The flag that ends the writing that goes on.
    writing: Option<Cancel>,
    /// Before then writing is not tried again, after it failed.
    not_before: Option<Micros>,
}

impl Indexing {
    /// Notes the index that the node has from now on.
    fn found(&mut self, index: &StoreIndex, is_in_use: bool) {
        self.covered = index.covered().to_vec();
        self.n_patterns = index.n_patterns();
        self.is_in_use = is_in_use;
        self.is_missed = false;
        self.not_before = None;
    }
}

/// Opens the engine of a node over its index, if there is one that can be used, and otherwise loads
/// it. Where that takes more memory than nodes may, its index is written first.
pub(super) fn open_engine(
    store: &Arc<LazyStore>,
    node_id: &str,
    options: EngineOptions,
    disk: Disk<'_>,
) -> Result<(Engine, Indexing), ServiceError> {
    let embedded = store.embedded().filter(|_| disk.options.indexes);
    let Some(embedded) = embedded else {
        let engine = Engine::open_with(Arc::clone(store) as _, options)?;
        return Ok((engine, Indexing::default()));
    };
    let found = kato_prediction::disk::find(embedded);
    let mut indexing = Indexing::default();
    for fault in &found.faults {
        disk.index_writers.report(node_id, store.dir(), fault);
        indexing.is_missed = true;
    }
    if !indexing.is_missed {
        // What a crash left of one, and what was merged since. It takes place on the disk, and no
        // more, so that a failure has no consequence.
        let _ = kato_prediction::disk::remove_stale(embedded);
    }
    let mut limited = options;
    let most = disk.options.max_knowledge_memory;
    limited.max_load_bytes = (most != usize::MAX).then_some(most);
    let opened = open_over(store, found.index.as_ref(), limited);
    let (engine, index) = match opened {
        Err(EngineError::LoadMemoryFull { .. }) => {
            let index = write_before_opening(embedded, node_id, disk)?;
            // What has emotives is in no index, and has to be loaded whatever it takes.
            (open_over(store, Some(&index), options)?, Some(index))
        }
        opened => (opened?, found.index),
    };
    if let Some(index) = &index {
        embedded.keep_segments(index.covered());
        let node = engine.nodes().next();
        indexing.found(index, node.is_some_and(|node| node.n_indexed() > 0));
    }
    Ok((engine, indexing))
}

/// Opens an engine over an index.
fn open_over(
    store: &Arc<LazyStore>,
    index: Option<&StoreIndex>,
    options: EngineOptions,
) -> Result<Engine, EngineError> {
    let nodes: Vec<_> = index.into_iter().flat_map(StoreIndex::nodes).collect();
    let covered = index.map(StoreIndex::covered).unwrap_or_default();
    Engine::open_indexed(Arc::clone(store) as _, nodes, covered, options)
}

/// Writes the index of a node that does not fit into memory without one.
fn write_before_opening(
    store: &EmbeddedStore,
    node_id: &str,
    disk: Disk<'_>,
) -> Result<StoreIndex, ServiceError> {
    let writing = disk.index_writers.begin_in_turn();
    let built = kato_prediction::disk::build(store, &build_options(disk, writing.cancel()));
    if built.as_ref().is_ok_and(|report| !report.was_there) {
        disk.index_writers.n_written.add(1);
    }
    let opened = built.and_then(|_| kato_prediction::disk::open(store));
    match opened {
        Ok(Some(index)) => Ok(index),
        // Nobody else changes the store, as it is locked and its node is just coming.
        Ok(None) => Err(ServiceError::Index {
            source: IndexFileError::Damaged {
                path: store.dir().to_owned(),
                reason: "it is gone as soon as it was written".to_owned(),
            },
        }),
        Err(IndexFileError::Cancelled(_)) => Err(ServiceError::Closed),
        Err(error) => {
            disk.index_writers.report(node_id, store.dir(), &error);
            Err(ServiceError::Index { source: error })
        }
    }
}

fn build_options(disk: Disk<'_>, cancel: &Cancel) -> BuildOptions {
    BuildOptions::default()
        .with_sort_bytes(disk.options.index_sort_memory)
        // The others answer meanwhile.
        .with_threads(NonZeroUsize::MIN)
        .with_cancel(cancel.clone())
}

impl LoadedNode {
    /// Returns whether the node has learned so much that its index is to be written.
    pub(crate) fn is_index_due(&self, node_id: &str, disk: Disk<'_>, now: Micros) -> bool {
        let options = disk.options;
        let Some(store) = self.embedded().filter(|_| options.indexes) else {
            return false;
        };
        let mut indexing = self.indexing();
        self.notice_damage(&mut indexing, node_id, store.dir(), disk);
        if indexing.not_before.is_some_and(|time| now < time) || !self.node().is_indexable() {
            return false;
        }
        let n_beyond = store.n_stored_beyond(0, &indexing.covered);
        let percent = u64::from(options.index_after_percent);
        let share = indexing.n_patterns.saturating_mul(percent) / 100;
        let enough = options.index_after_patterns.max(share).max(1);
        let limit = options.max_knowledge_memory / OVER_MEMORY;
        let is_over_memory = !self.node().is_finalized() && self.memory_bytes() > limit;
        n_beyond >= enough || n_beyond > 0 && (indexing.is_missed || is_over_memory)
    }

    /// Notes and reports that the node has left its index, or would have to, as that is damaged.
    fn notice_damage(&self, indexing: &mut Indexing, node_id: &str, dir: &Path, disk: Disk<'_>) {
        let is_damaged = self.node().is_damaged();
        if indexing.is_in_use && (is_damaged || self.node().n_indexed() == 0) {
            *indexing = Indexing {
                is_missed: true,
                writing: indexing.writing.take(),
                ..Indexing::default()
            };
            let reason = match is_damaged {
                true => {
                    "it is damaged, and the node does not fit into memory: it is not answered until the next index is written"
                }
                false => "it is damaged; the node was loaded into memory instead",
            };
            disk.index_writers.report_reason(node_id, dir, reason);
        }
    }

    /// Writes the index of what the node's store holds, and lets the node go over to it; `None` if that
    /// was cancelled or failed, which is reported. Learning and asking go on.
    pub(crate) fn write_index(
        &self,
        (processor_id, node_id): (&str, &str),
        disk: Disk<'_>,
        now: Micros,
    ) -> Option<WrittenIndex> {
        let store = self.embedded()?;
        let writing = disk.index_writers.begin();
        self.indexing().writing = Some(writing.cancel().clone());
        let written = self.write_index_unless((processor_id, node_id), disk, writing.cancel());
        let mut indexing = self.indexing();
        indexing.writing = None;
        // Also where it was cancelled: those of before are merged again.
        store.keep_segments(&indexing.covered);
        if !matches!(written, Ok(Some(_))) {
            // A node that was cleared meanwhile has no use for the one before either.
            let _ = kato_prediction::disk::remove_stale(store);
        }
        match written {
            Ok(written) => {
                let n_written = u64::from(written.is_some());
                disk.index_writers.n_written.add(n_written);
                written
            }
            Err(_) if writing.cancel().is_cancelled() => None,
            Err(error) => {
                indexing.not_before = Some(now.plus_seconds(RETRY_SECONDS));
                disk.index_writers.report(node_id, store.dir(), &*error);
                None
            }
        }
    }

    /// Writes the index, and goes over to it; `None` if it is of no use any more when it is written.
    fn write_index_unless(
        &self,
        (processor_id, node_id): (&str, &str),
        disk: Disk<'_>,
        cancel: &Cancel,
    ) -> Result<Option<WrittenIndex>, Box<dyn Error + Send + Sync>> {
        let Some(store) = self.embedded() else {
            return Ok(None);
        };
        // All that was learned so far, so that the index has it.
        self.fold(processor_id, disk.journal)?;
        cancel.check()?;
        if store.n_stored_beyond(0, &[]) == 0 {
            // It was cleared.
            return Ok(None);
        }
        {
            let _changing = disk.journal.changing_store();
            let is_cancelled = || cancel.is_cancelled();
            let n_covered = self.indexing().covered.len();
            match n_covered < MAX_INDEXED_SEGMENTS {
                true => store.compact_unkept_unless(&is_cancelled)?,
                // Seldom: should the service be killed before the next index is there, the one that
                // there is covers what was merged, and the node is loaded as without it.
                false => store.compact_to_unless(MERGED_SEGMENTS, &is_cancelled)?,
            };
            cancel.check()?;
        }
        // From here on: a fold that merges one of them would make the index void while it is written.
        store.keep_segments(&store.content().sources);
        // What was found damaged is not added to.
        let is_missed = self.indexing().is_missed;
        let options = build_options(disk, cancel).with_checked_units(is_missed);
        let report = kato_prediction::disk::build(store, &options)?;
        // What was learned meanwhile, of which as little as possible is to be learned again above it.
        self.fold(processor_id, disk.journal)?;
        cancel.check()?;
        // No clearing comes between, nor a fold.
        let _folding = self.folding.lock().unwrap_or_else(PoisonError::into_inner);
        let index = kato_prediction::disk::open(store)?;
        let Some(index) = index.filter(|index| index.content() == report.content) else {
            // It was cleared, or a segment was merged before the build had begun.
            return Ok(None);
        };
        let mut indexing = self.indexing();
        if cancel.is_cancelled() {
            return Ok(None);
        }
        let n_adopted = self
            .engine()
            .adopt_indexes(index.nodes(), index.covered())?;
        // One whose training was finalized may go on over the one before.
        indexing.found(&index, self.node().n_indexed() > 0);
        drop(indexing);
        self.measure();
        Ok(Some(WrittenIndex {
            node_id: node_id.to_owned(),
            patterns: report.patterns,
            bytes: report.bytes,
            elapsed: report.elapsed,
            is_in_use: n_adopted > 0,
        }))
    }

    /// Ends the writing of the node's index, and forgets the one that there is: the node is about to
    /// be emptied.
    pub(super) fn forget_index(&self) {
        let mut indexing = self.indexing();
        if let Some(cancel) = &indexing.writing {
            cancel.cancel();
        }
        *indexing = Indexing {
            writing: indexing.writing.take(),
            ..Indexing::default()
        };
        if let Some(store) = self.embedded() {
            store.keep_segments(&[]);
        }
    }

    /// Removes the indexes that are of no use any more.
    pub(super) fn remove_stale_indexes(&self) {
        if let Some(store) = self.embedded() {
            // While one is written it is locked, and who writes it removes them.
            let _ = kato_prediction::disk::remove_stale(store);
        }
    }

    /// Locks what is known of the index.
    fn indexing(&self) -> MutexGuard<'_, Indexing> {
        self.indexing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the store on the disk; `None` in memory, and before it is created.
    fn embedded(&self) -> Option<&EmbeddedStore> {
        self.store.as_ref()?.embedded()
    }
}
