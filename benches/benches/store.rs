//! The embedded store on patterns of random tokens. Sealing is bound by memory (a radix sort and
//! one gather), staging by formatting records and the page cache, a commit by the disk's flush;
//! look-ups by one system call and one checksum a segment; scans and merges by the heap that puts
//! segments in order; visits, which keep no order, by the checksums.
//!
//! Throughput counts learn calls for writes and patterns for reads. docs/benchmarks.md says what
//! was measured.

use std::hint::black_box;
use std::ops::ControlFlow;
use std::path::Path;

use criterion::{
    BatchSize, BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main,
    measurement::WallTime,
};
use kato_benches::RandomPatterns;
use kato_store::visit::{SourceSymbols, VisitedPattern};
use kato_store::{EmbeddedStore, KnowledgeBase, PatternStore, PatternVisitor};
use serde_json::json;
use tempfile::TempDir;

/// Learn calls of the batch that is sealed, staged and committed.
const BATCH_CALLS: u64 = 1_000_000;
/// Learn calls of the stores that are read, whatever their number of segments.
const STORE_CALLS: u64 = 1_000_000;
const N_LOOK_UPS: u64 = 1_000;

fn write(c: &mut Criterion) {
    let mut group = group(c, "store/write", BATCH_CALLS);
    group.bench_function("seal", |b| {
        b.iter_batched(
            || RandomPatterns::default().batch(BATCH_CALLS),
            |batch| batch.seal(),
            BatchSize::PerIteration,
        );
    });
    group.bench_function("stage", |b| {
        b.iter_batched(
            || {
                (
                    new_store(),
                    RandomPatterns::default().batch(BATCH_CALLS).seal(),
                )
            },
            // What is handed back is dropped outside the measured time.
            |((dir, store), batch)| (store.stage(batch).expect("the disk has room"), store, dir),
            BatchSize::PerIteration,
        );
    });
    group.bench_function("commit", |b| {
        b.iter_batched(
            || {
                let (dir, store) = new_store();
                let staged = store.stage(RandomPatterns::default().batch(BATCH_CALLS).seal());
                (dir, store, staged.expect("the disk has room"))
            },
            |(dir, store, staged)| {
                store
                    .commit(vec![staged], json!({"position": BATCH_CALLS}))
                    .expect("the disk has room");
                (dir, store)
            },
            BatchSize::PerIteration,
        );
    });
    group.throughput(Throughput::Elements(STORE_CALLS));
    group.bench_function("merge 8 segments", |b| {
        b.iter_batched(
            || filled(8).0,
            |(dir, store)| {
                store.compact().expect("the disk has room");
                (dir, store)
            },
            BatchSize::PerIteration,
        );
    });
    group.finish();
}

fn read(c: &mut Criterion) {
    for n_segments in [1, 64] {
        let ((_dir, store), patterns) = filled(n_segments);
        let node = KnowledgeBase::new(&store, "node0").expect("the store has this node");
        let n_patterns = node.count_patterns().expect("the store can be read");
        let mut group = group(c, &format!("store/read {n_segments} segments"), N_LOOK_UPS);
        let names = patterns.names(N_LOOK_UPS);
        group.bench_function("look-up", |b| {
            b.iter(|| {
                for name in &names {
                    black_box(node.pattern(name).expect("the store can be read"))
                        .expect("it was learned");
                }
            });
        });
        group.throughput(Throughput::Elements(n_patterns));
        group.bench_function("count_patterns", |b| {
            b.iter(|| node.count_patterns().expect("the store can be read"))
        });
        group.bench_function("scan_frequencies", |b| {
            b.iter(|| {
                let scan = node.scan_frequencies().expect("the store can be read");
                scan.map(|item| item.expect("the store can be read").1)
                    .sum::<u64>()
            });
        });
        group.bench_function("scan", |b| {
            b.iter(|| {
                let scan = node.scan().expect("the store can be read");
                scan.map(|item| item.expect("the store can be read").frequency)
                    .sum::<u64>()
            });
        });
        group.bench_function("visit", |b| {
            b.iter(|| {
                let mut sum = SumFrequencies(0);
                store.visit(0, &mut sum).expect("the store can be read");
                sum.0
            });
        });
        group.bench_function("export", |b| {
            b.iter(|| node.export(std::io::sink()).expect("the store can be read"))
        });
        group.finish();
    }
}

/// The least that a visitor can do.
struct SumFrequencies(u64);

impl PatternVisitor for SumFrequencies {
    fn pattern(&mut self, _: &SourceSymbols<'_>, pattern: &VisitedPattern<'_>) -> ControlFlow<()> {
        self.0 += pattern.frequency;
        ControlFlow::Continue(())
    }
}

fn group<'a>(c: &'a mut Criterion, name: &str, elements: u64) -> BenchmarkGroup<'a, WallTime> {
    let mut group = c.benchmark_group(name);
    group.sample_size(10);
    group.throughput(Throughput::Elements(elements));
    group
}

fn new_store() -> (TempDir, EmbeddedStore) {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let store = EmbeddedStore::create(&kb(dir.path()), &["node0"], json!(null))
        .expect("the folder is empty");
    (dir, store)
}

fn kb(dir: &Path) -> std::path::PathBuf {
    dir.join("kb")
}

/// A store of so many segments, and the patterns in it.
fn filled(n_segments: u64) -> ((TempDir, EmbeddedStore), RandomPatterns) {
    let (dir, store) = new_store();
    let mut patterns = RandomPatterns::default();
    for _ in 0..n_segments {
        let staged = store
            .stage(patterns.batch(STORE_CALLS / n_segments).seal())
            .expect("the disk has room");
        store
            .commit(vec![staged], json!(null))
            .expect("the disk has room");
    }
    assert_eq!(store.n_segments() as u64, n_segments);
    ((dir, store), patterns)
}

criterion_group!(benches, write, read);
criterion_main!(benches);
