//! Stores and lessons that several tests use.

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};

use kato_model::{AttributeLimits, VectorName};
use kato_store::conformance::{Fixture, LearnCall, Lessons};
use kato_store::embedded::{EmbeddedOptions, Merging};
use kato_store::slice::{self, NameRanges, SliceSource};
use kato_store::{EmbeddedStore, MemoryStore, PatternStore};
use proptest::test_runner::Config as ProptestConfig;
use serde_json::Value;
use tempfile::TempDir;

pub(crate) struct InMemory;

impl Fixture for InMemory {
    type Store = MemoryStore;

    fn create(&self, nodes: &[&str], configuration: Value, limits: AttributeLimits) -> MemoryStore {
        MemoryStore::with_limits(nodes, configuration, limits)
    }
}

/// Embedded stores in folders of one temporary folder.
pub(crate) struct Embedded {
    root: TempDir,
    made: Cell<usize>,
    options: EmbeddedOptions,
}

impl Embedded {
    pub(crate) fn new(options: EmbeddedOptions) -> Self {
        Self {
            root: tempfile::tempdir().unwrap(),
            made: Cell::new(0),
            options,
        }
    }

    /// A path where nothing is yet.
    pub(crate) fn fresh_dir(&self) -> PathBuf {
        self.made.set(self.made.get() + 1);
        self.root.path().join(format!("kb{}", self.made.get()))
    }
}

impl Default for Embedded {
    fn default() -> Self {
        Self::new(EmbeddedOptions::default())
    }
}

impl Fixture for Embedded {
    type Store = EmbeddedStore;

    fn create(
        &self,
        nodes: &[&str],
        configuration: Value,
        limits: AttributeLimits,
    ) -> EmbeddedStore {
        let mut options = self.options;
        options.attribute_limits = limits;
        EmbeddedStore::create_with(self.fresh_dir(), nodes, configuration, options).unwrap()
    }

    fn reopen(&self, store: EmbeddedStore) -> EmbeddedStore {
        let dir = store.dir().to_owned();
        drop(store);
        EmbeddedStore::open_with(&dir, self.options).unwrap()
    }
}

/// Options under which nearly every commit merges segments.
pub(crate) fn always_merging() -> EmbeddedOptions {
    let mut options = EmbeddedOptions::default();
    options.max_segments = 2;
    options.max_segment_patterns = 40;
    options
}

/// Options under which no segment is written again for what is deleted of it.
pub(crate) fn never_rewriting(mut options: EmbeddedOptions) -> EmbeddedOptions {
    options.max_deleted_percent = 100;
    options
}

/// Options under which segments are merged nearly all the time, beside commits.
pub(crate) fn merging_beside() -> EmbeddedOptions {
    let mut options = always_merging();
    options.merging = Merging::Beside;
    options
}

/// Lessons of `n` different patterns and `n / 2` parents of two of them each.
pub(crate) fn without_vectors(n: usize) -> Lessons {
    Lessons::new(2, two_levels_of(n))
}

fn two_levels_of(n: usize) -> Vec<LearnCall> {
    use kato_store::conformance::CallSymbol::Learned;

    let mut lessons: Vec<LearnCall> = (0..n)
        .map(|idx| LearnCall::text(0, &["a", &idx.to_string()]))
        .collect();
    lessons
        .extend((0..n / 2).map(|idx| LearnCall::new(1, [Learned(2 * idx), Learned(2 * idx + 1)])));
    lessons
}

/// The same, and a vector with every fourth.
pub(crate) fn two_levels(n: usize) -> Lessons {
    let mut lessons = two_levels_of(n);
    for (idx, lesson) in lessons.iter_mut().enumerate().step_by(4) {
        let vector = vec![idx as f64, 0.5];
        lesson.vectors = vec![(VectorName::of_vector(&vector), vector)];
    }
    Lessons::new(2, lessons)
}

pub(crate) fn commit(
    store: &dyn PatternStore,
    lessons: &Lessons,
    picked: &[usize],
    checkpoint: Value,
) {
    let staged = store.stage(lessons.batch(picked)).unwrap();
    store.commit(vec![staged], checkpoint).unwrap();
}

/// A knowledge base of a segment for each range of names, whose children are in other segments; of
/// batches of lessons without vectors and with the default limits.
pub(crate) fn sealed(
    dir: &Path,
    lessons: &Lessons,
    batches: &[Vec<usize>],
    n_ranges: u32,
) -> EmbeddedStore {
    let work = tempfile::tempdir().unwrap();
    let at = |name: String| work.path().join(name);
    let limits = AttributeLimits::default();
    let ranges = NameRanges::new(n_ranges).unwrap();
    let mut documents = Vec::new();
    let mut inputs = vec![Vec::new(); lessons.n_nodes()];
    for (number, picked) in batches.iter().enumerate() {
        let batch = lessons.batch(picked);
        documents.extend_from_slice(batch.documents());
        for (node_idx, inputs) in inputs.iter_mut().enumerate() {
            let path = at(format!("{number}.{node_idx}"));
            slice::write_batch(&batch, node_idx, &limits, ranges, &path).unwrap();
            inputs.push(path.into());
        }
    }
    documents.sort_unstable();
    documents.dedup();
    let mut parts: Vec<Vec<Vec<SliceSource>>> = vec![Vec::new(); n_ranges as usize];
    for (node_idx, inputs) in inputs.iter().enumerate() {
        let merged = at(format!("merged.{node_idx}"));
        let summary = slice::merge(inputs, &limits, ranges, &merged).unwrap();
        for (range, parts) in parts.iter_mut().enumerate() {
            let ranges = summary.ranges_of(range).unwrap();
            parts.push(vec![SliceSource::from_ranges(&merged, ranges)]);
        }
    }
    let segments: Vec<PathBuf> = (0..parts.len())
        .map(|number| dir.with_extension(format!("{number}.seg")))
        .collect();
    for (number, (levels, segment)) in parts.iter().zip(&segments).enumerate() {
        let documents = if number == 0 {
            documents.as_slice()
        } else {
            &[]
        };
        slice::seal(levels, documents, &limits, work.path(), segment).unwrap();
    }
    let nodes: Vec<String> = (0..lessons.n_nodes())
        .map(|node_idx| format!("node{node_idx}"))
        .collect();
    EmbeddedStore::create_from_segments(dir, &nodes, Value::Null, &segments, Value::Null).unwrap()
}

/// Copies a folder with its files and folders.
pub(crate) fn copy_dir(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_dir(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Random cases of a property; `PROPTEST_CASES` overrides the number. Commits wait for the disk, so
/// there are few.
pub(crate) fn cases(cases: u32) -> ProptestConfig {
    let cases = match std::env::var("PROPTEST_CASES") {
        Ok(text) => text.parse().unwrap(),
        Err(_) => cases,
    };
    ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}
