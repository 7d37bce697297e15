//! The embedded store on patterns of random tokens. Sealing is bound by memory (a radix sort and
//! one gather), staging by formatting records and the page cache, a commit by the disk's flush;
//! look-ups by one system call and one checksum a segment; scans and merges by the heap that puts
//! segments in order; visits, which keep no order, by the checksums.
//!
//! Each group has its limit (the same bytes written, flushed or read, and nothing else) or a peer.
//! Throughput counts learn calls for writes and patterns for reads. Tokens are drawn evenly, so the
//! codings that make real text small are not at work; what is read is in the page cache, and its
//! size is printed. docs/benchmarks.md says what was measured.
#![expect(clippy::print_stderr, reason = "a bench reports to its user")]

use std::collections::HashMap;
use std::fs::{self, File};
use std::hint::black_box;
use std::io::{Read as _, Write as _};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use criterion::{
    BatchSize, BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main,
    measurement::WallTime,
};
use kato_benches::{RandomPatterns, sized};
use kato_store::visit::{SourceSymbols, VisitedPattern};
use kato_store::{EmbeddedStore, KnowledgeBase, PatternStore, PatternVisitor};
use serde_json::json;
use tempfile::TempDir;

/// Learn calls of the batch that is sealed and staged.
const BATCH_CALLS: u64 = 1_000_000;
/// Learn calls of the batch that is committed: its file is too small for the store to flush it
/// ahead, so that the commit has to.
const COMMIT_CALLS: u64 = 10_000;
/// Learn calls of the stores that are read, whatever their number of segments.
const STORE_CALLS: u64 = 1_000_000;
const N_LOOK_UPS: u64 = 4_000;

fn write(c: &mut Criterion) {
    let n_calls = sized(BATCH_CALLS);
    let sealed = || RandomPatterns::default().batch(n_calls).seal();
    let mut group = group(c, "store/write", n_calls);
    group.bench_function("seal", |b| {
        b.iter_batched(
            || RandomPatterns::default().batch(n_calls),
            |batch| batch.seal(),
            BatchSize::PerIteration,
        );
    });
    group.bench_function("peer of seal: sort the names alone", |b| {
        b.iter_batched(
            || {
                let mut patterns = RandomPatterns::default();
                drop(patterns.batch(n_calls));
                patterns.names(n_calls)
            },
            |mut names| {
                names.sort_unstable();
                names
            },
            BatchSize::PerIteration,
        );
    });
    group.bench_function("stage", |b| {
        b.iter_batched(
            || (new_store(), sealed()),
            // What is handed back is dropped outside the measured time.
            |((dir, store), batch)| (store.stage(batch).expect("the disk has room"), store, dir),
            BatchSize::PerIteration,
        );
    });
    let content = content(&filled(1, n_calls).0.1);
    bench_write(
        &mut group,
        "limit of stage: write the bytes",
        &content,
        false,
    );
    group.finish();
}

fn commit(c: &mut Criterion) {
    let n_calls = sized(COMMIT_CALLS);
    let mut group = group(c, "store/commit", n_calls);
    group.bench_function("commit", |b| {
        b.iter_batched(
            || {
                let (dir, store) = new_store();
                let staged = store.stage(RandomPatterns::default().batch(n_calls).seal());
                (dir, store, staged.expect("the disk has room"))
            },
            |(dir, store, staged)| {
                store
                    .commit(vec![staged], json!({"position": n_calls}))
                    .expect("the disk has room");
                (dir, store)
            },
            BatchSize::PerIteration,
        );
    });
    let content = content(&filled(1, n_calls).0.1);
    bench_write(
        &mut group,
        "limit: write and flush one file",
        &content,
        true,
    );
    group.finish();
}

fn merge(c: &mut Criterion) {
    let n_calls = sized(STORE_CALLS);
    let mut group = group(c, "store/merge", n_calls);
    group.bench_function("merge 8 segments", |b| {
        b.iter_batched(
            || filled(8, n_calls).0,
            |(dir, store)| {
                store.compact().expect("the disk has room");
                (dir, store)
            },
            BatchSize::PerIteration,
        );
    });
    let content = content(&filled(8, n_calls).0.1);
    bench_write(
        &mut group,
        "limit: write and flush the bytes",
        &content,
        true,
    );
    group.finish();
}

fn read(c: &mut Criterion) {
    for n_segments in [1, 64] {
        let ((_dir, store), mut patterns) = filled(n_segments, sized(STORE_CALLS));
        let node = KnowledgeBase::new(&store, "node0").expect("the store has this node");
        let n_patterns = node.count_patterns().expect("the store can be read");
        let n_bytes = content(&store).len();
        eprintln!("{n_segments} segments: {n_patterns} patterns in {n_bytes} bytes");
        let mut group = group(c, &format!("store/read {n_segments} segments"), N_LOOK_UPS);
        look_up(&mut group, &node, &mut patterns);
        group.throughput(Throughput::Elements(n_patterns));
        // Of one segment the footer has the number.
        if n_segments > 1 {
            group.bench_function("count_patterns", |b| {
                b.iter(|| node.count_patterns().expect("the store can be read"));
            });
        }
        scan(&mut group, &node);
        group.bench_function("visit", |b| {
            b.iter(|| {
                let mut sum = SumFrequencies(0);
                store.visit(0, &mut sum).expect("the store can be read");
                sum.0
            });
        });
        let mut buffer = vec![0; 1 << 16];
        group.bench_function("limit: read the bytes", |b| {
            b.iter(|| {
                for file in files(&store) {
                    let mut file = File::open(file).expect("the store can be read");
                    while file.read(&mut buffer).expect("the store can be read") > 0 {}
                }
            });
        });
        group.finish();
    }
}

/// Asks for other patterns each time: what was read a moment ago is in a cache.
fn look_up(
    group: &mut BenchmarkGroup<'_, WallTime>,
    node: &KnowledgeBase<'_>,
    patterns: &mut RandomPatterns,
) {
    group.bench_function("look-up", |b| {
        b.iter_batched(
            || patterns.names(N_LOOK_UPS),
            |names| {
                for name in &names {
                    black_box(node.pattern(name).expect("the store can be read"))
                        .expect("it was learned");
                }
            },
            BatchSize::PerIteration,
        );
    });
    let frequencies: HashMap<_, u64> = node
        .scan_frequencies()
        .expect("the store can be read")
        .map(|pattern| pattern.expect("the store can be read"))
        .collect();
    group.bench_function("peer of look-up: a map in memory", |b| {
        b.iter_batched(
            || patterns.names(N_LOOK_UPS),
            |names| {
                for name in &names {
                    black_box(frequencies.get(name)).expect("it was learned");
                }
            },
            BatchSize::PerIteration,
        );
    });
}

fn scan(group: &mut BenchmarkGroup<'_, WallTime>, node: &KnowledgeBase<'_>) {
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
    group.bench_function("export", |b| {
        b.iter(|| node.export(std::io::sink()).expect("the store can be read"));
    });
}

/// Writes bytes into a new file each time, and waits for the disk if asked to.
fn bench_write(
    group: &mut BenchmarkGroup<'_, WallTime>,
    name: &str,
    content: &[u8],
    is_flushed: bool,
) {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let path = dir.path().join("bytes");
    group.bench_function(name, |b| {
        b.iter_batched(
            || drop(fs::remove_file(&path)),
            |()| {
                let mut file = File::create(&path).expect("the disk has room");
                file.write_all(content).expect("the disk has room");
                if is_flushed {
                    file.sync_all().expect("the disk has room");
                }
            },
            BatchSize::PerIteration,
        );
    });
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
    let store = EmbeddedStore::create(kb(dir.path()), &["node0"], json!(null))
        .expect("the folder is empty");
    (dir, store)
}

fn kb(dir: &Path) -> PathBuf {
    dir.join("kb")
}

/// The files of a store's last commit.
fn files(store: &EmbeddedStore) -> Vec<PathBuf> {
    let files = EmbeddedStore::files_of(store.dir()).expect("the store can be read");
    let files = files.expect("something was committed");
    files.iter().map(|file| store.dir().join(file)).collect()
}

/// The bytes of all files of a store.
fn content(store: &EmbeddedStore) -> Vec<u8> {
    let read = |path| fs::read(path).expect("the store can be read");
    files(store).into_iter().flat_map(read).collect()
}

/// A store of so many segments, and the patterns in it.
fn filled(n_segments: u64, n_calls: u64) -> ((TempDir, EmbeddedStore), RandomPatterns) {
    let (dir, store) = new_store();
    let mut patterns = RandomPatterns::default();
    for _ in 0..n_segments {
        let staged = store
            .stage(patterns.batch(n_calls / n_segments).seal())
            .expect("the disk has room");
        store
            .commit(vec![staged], json!(null))
            .expect("the disk has room");
    }
    assert_eq!(store.n_segments() as u64, n_segments);
    ((dir, store), patterns)
}

criterion_group!(benches, write, commit, merge, read);
criterion_main!(benches);
