//! Merging beside commits: threads write what segments are together while others go on being
//! learned and committed, and a later commit puts it in their place.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::lock::WriteLock;
use super::manifest::SegmentEntry;
use super::merge::merge_segments;
use super::segment::Segment;
use super::staged::StagedSegment;
use super::{EmbeddedStore, Generation, open_durably};
use crate::StoreError;

/// A merge that goes on; dropping it abandons it and removes what it wrote.
#[derive(Debug)]
pub(super) struct BackgroundMerge {
    /// What is merged, all of it in the newest generation.
    inputs: Vec<Arc<Segment>>,
    is_cancelled: Arc<AtomicBool>,
    /// Taken when it is waited for.
    thread: Option<JoinHandle<Result<Option<MergedSegment>, StoreError>>>,
}

/// A time that threads add up.
#[derive(Debug, Default)]
pub(super) struct StageTime(AtomicU64);

impl StageTime {
    /// Returns the time so far.
    pub(super) fn get(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Relaxed))
    }

    fn add(&self, time: Duration) {
        // 2⁶⁴ nanoseconds are 584 years.
        let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.0.fetch_add(nanoseconds, Ordering::Relaxed);
    }
}

/// A merged segment that the disk holds and no commit names yet.
#[derive(Debug)]
pub(super) struct MergedSegment {
    pub(super) staged: StagedSegment,
    pub(super) entry: SegmentEntry,
    pub(super) segment: Arc<Segment>,
}

impl BackgroundMerge {
    /// Returns whether waiting for it takes no time.
    pub(super) fn is_finished(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Returns what is merged.
    pub(super) fn inputs(&self) -> &[Arc<Segment>] {
        &self.inputs
    }

    /// Waits for it, and puts the merged segment into a generation in place of what was merged.
    pub(super) fn finish(
        mut self,
        next: &mut Generation,
    ) -> Result<Option<StagedSegment>, StoreError> {
        let Some(thread) = self.thread.take() else {
            return Ok(None);
        };
        let merged = thread.join().unwrap_or_else(|panic| resume_unwind(panic))?;
        Ok(merged.map(|merged| {
            let is_input = |segment: &Arc<Segment>| {
                self.inputs.iter().any(|input| Arc::ptr_eq(input, segment))
            };
            let is_left: Vec<bool> = next.segments.iter().map(|it| !is_input(it)).collect();
            next.retain(&is_left);
            next.push(merged.entry, merged.segment);
            merged.staged
        }))
    }
}

impl Drop for BackgroundMerge {
    fn drop(&mut self) {
        self.is_cancelled.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // What it wrote goes with its result, whatever that is: nobody waits for it any more.
            let _ = thread.join();
        }
    }
}

impl EmbeddedStore {
    /// Starts merging segments of the newest generation; `None` where the system has no thread for
    /// it.
    pub(super) fn merge_beside(
        &self,
        writer: &Arc<WriteLock>,
        inputs: Vec<Arc<Segment>>,
    ) -> Option<BackgroundMerge> {
        let is_cancelled = Arc::new(AtomicBool::new(false));
        let cancel = Arc::clone(&is_cancelled);
        let (writer, segments) = (Arc::clone(writer), inputs.clone());
        let path = self.next_segment_path();
        let (n_nodes, limits) = (self.nodes.len(), self.options.attribute_limits);
        let time = Arc::clone(&self.merging_time);
        let merge = move || -> Result<Option<MergedSegment>, StoreError> {
            let is_cancelled = || cancel.load(Ordering::Relaxed);
            let write = || merge_segments(&segments, n_nodes, &limits, &path, &is_cancelled);
            let Some(staged) = StagedSegment::write_unless(&path, &writer, write)? else {
                return Ok(None);
            };
            let (entry, segment) = open_durably(staged.staged_by(&writer)?)?;
            Ok(Some(MergedSegment {
                staged,
                entry,
                segment,
            }))
        };
        let merge = move || {
            let start = Instant::now();
            let merged = merge();
            time.add(start.elapsed());
            merged
        };
        let thread = thread::Builder::new()
            .name("merger".to_owned())
            .spawn(merge);
        Some(BackgroundMerge {
            inputs,
            is_cancelled,
            thread: Some(thread.ok()?),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::num::NonZeroUsize;
    use std::path::Path;

    use kato_model::batch::BatchSymbol;
    use kato_model::{LearnBatch, PatternName};
    use kato_test_needs::wait_until;
    use serde_json::{Value, json};

    use super::*;
    use crate::PatternStore;
    use crate::contract::StagedBatch;
    use crate::embedded::{EmbeddedOptions, Merging};

    fn name(number: u32) -> PatternName {
        PatternName::of_events(&[["a".to_owned()], [number.to_string()]])
    }

    /// Stages a pattern in a batch of its own.
    fn stage(store: &EmbeddedStore, number: u32) -> Result<StagedBatch, StoreError> {
        let mut batch = LearnBatch::new(1);
        let symbols = ["a".to_owned(), number.to_string()];
        let symbols = symbols.map(|text| BatchSymbol::Literal(batch.literal(&text)));
        batch.learn(0, name(number), symbols);
        store.stage(batch.seal())
    }

    /// Learns a pattern in a commit of its own.
    fn learn(store: &EmbeddedStore, number: u32) -> Result<(), StoreError> {
        store.commit(vec![stage(store, number)?], json!(number))
    }

    fn create(dir: &Path, max_segments: usize) -> EmbeddedStore {
        let options = EmbeddedOptions {
            max_segments,
            merging: Merging::Beside,
            ..Default::default()
        };
        EmbeddedStore::create_with(dir, &["node0"], Value::Null, options).unwrap()
    }

    /// Waits until the merge that goes on is finished, and returns whether there is one.
    fn wait_for_merge(store: &EmbeddedStore) -> bool {
        wait_until("the merge is finished", || {
            store.writing().iter().all(|it| it.is_finished())
        });
        !store.writing().is_empty()
    }

    fn n_files(dir: &Path) -> usize {
        fs::read_dir(dir.join("segments")).unwrap().count()
    }

    #[test]
    fn a_commit_begins_a_merge_and_a_later_one_puts_it_in_place() {
        let dir = tempfile::tempdir().unwrap();
        let store = create(dir.path(), 4);
        for number in 0..5 {
            assert!(!wait_for_merge(&store));
            learn(&store, number).unwrap();
        }
        assert!(wait_for_merge(&store));
        // Until then no commit names it: a crash would leave what was committed.
        assert_eq!((store.n_segments(), n_files(dir.path())), (5, 6));
        let copy = EmbeddedStore::open_read_only(dir.path()).unwrap();
        assert_eq!((copy.n_segments(), copy.count_patterns(0).unwrap()), (5, 5));
        learn(&store, 5).unwrap();
        // All five became one.
        assert_eq!(store.n_segments(), 2);
        assert!(!wait_for_merge(&store));
        assert_eq!(store.count_patterns(0).unwrap(), 6);
        // The files of what was merged go with the commit after.
        assert_eq!(n_files(dir.path()), 7);
        learn(&store, 6).unwrap();
        assert_eq!(n_files(dir.path()), 3);
    }

    #[test]
    fn there_are_never_more_than_twice_as_many_segments() {
        let dir = tempfile::tempdir().unwrap();
        let store = create(dir.path(), 2);
        for number in 0..60 {
            learn(&store, number).unwrap();
            assert!(
                store.n_segments() <= 4,
                "{} at {number}",
                store.n_segments()
            );
        }
        assert_eq!(store.count_patterns(0).unwrap(), 60);
    }

    #[test]
    fn several_merges_go_on_at_once_where_a_commit_brings_many_segments() {
        for max_merges in [1, 2, 8] {
            let dir = tempfile::tempdir().unwrap();
            let options = EmbeddedOptions {
                max_segments: 4,
                max_segment_patterns: 5,
                merging: Merging::Beside,
                max_merges: NonZeroUsize::new(max_merges),
                ..Default::default()
            };
            let store =
                EmbeddedStore::create_with(dir.path(), &["node0"], Value::Null, options).unwrap();
            let staged = (0..12).map(|number| stage(&store, number).unwrap());
            store.commit(staged.collect(), json!(11)).unwrap();
            // Two times five into one leave four, which are not too many.
            let n_merges = max_merges.min(2);
            assert_eq!(store.writing().len(), n_merges);
            wait_for_merge(&store);
            learn(&store, 12).unwrap();
            assert_eq!(store.n_segments(), 12 - 4 * n_merges + 1);
            assert_eq!(store.count_patterns(0).unwrap(), 13);
        }
    }

    #[test]
    fn what_is_forgotten_cleared_or_compacted_does_not_come_back_with_a_merge() {
        type Change<'a> = (&'a str, &'a dyn Fn(&EmbeddedStore));
        let change: [Change<'_>; 4] = [
            ("forget", &|store| {
                store.forget(&[vec![name(1)]], Value::Null).unwrap();
            }),
            ("clear", &|store| store.clear(Value::Null).unwrap()),
            ("compact", &|store| store.compact().unwrap()),
            ("compact to 2", &|store| {
                store.compact_to(2).unwrap();
            }),
        ];
        for (what, change) in change {
            let dir = tempfile::tempdir().unwrap();
            let store = create(dir.path(), 4);
            (0..5).for_each(|number| learn(&store, number).unwrap());
            assert!(wait_for_merge(&store));
            change(&store);
            let n_left = store.count_patterns(0).unwrap();
            for number in 5..7 {
                wait_for_merge(&store);
                learn(&store, number).unwrap();
            }
            assert_eq!(store.count_patterns(0).unwrap(), n_left + 2, "{what}");
            let is_known = |number| store.pattern(0, &name(number)).unwrap().is_some();
            assert_eq!(is_known(1), what.starts_with("compact"), "{what}");
            assert!(is_known(6), "{what}");
        }
    }

    #[test]
    fn segments_that_are_kept_meanwhile_stay() {
        let dir = tempfile::tempdir().unwrap();
        let store = create(dir.path(), 4);
        (0..5).for_each(|number| learn(&store, number).unwrap());
        let kept = store.content().sources;
        assert!(wait_for_merge(&store));
        store.keep_segments(&kept);
        learn(&store, 5).unwrap();
        let sources = store.content().sources;
        assert!(kept.iter().all(|digest| sources.contains(digest)));
        assert_eq!(store.count_patterns(0).unwrap(), 6);
    }

    #[test]
    fn a_merge_that_fails_fails_a_commit_and_loses_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let store = create(dir.path(), 4);
        // The number that the merge will take: it never writes over a file.
        (0..4).for_each(|number| learn(&store, number).unwrap());
        let taken = dir.path().join("segments/0000000005.seg");
        fs::write(&taken, "in the way").unwrap();
        learn(&store, 4).unwrap();
        assert!(wait_for_merge(&store));
        let failed = learn(&store, 5);
        assert!(matches!(failed, Err(StoreError::Io { .. })), "{failed:?}");
        assert_eq!(store.checkpoint(), json!(4));
        assert_eq!(store.count_patterns(0).unwrap(), 5);
        learn(&store, 6).unwrap();
        assert_eq!(store.count_patterns(0).unwrap(), 6);
    }

    #[test]
    fn a_store_that_is_closed_abandons_its_merge() {
        let dir = tempfile::tempdir().unwrap();
        let store = create(dir.path(), 4);
        (0..5).for_each(|number| learn(&store, number).unwrap());
        drop(store);
        assert_eq!(n_files(dir.path()), 5);
        let store = EmbeddedStore::open(dir.path()).unwrap();
        assert_eq!(
            (store.n_segments(), store.count_patterns(0).unwrap()),
            (5, 5)
        );
    }
}
