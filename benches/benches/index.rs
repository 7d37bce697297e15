//! The index on the disk: writing it, opening it, and questions of 2, 5 and 9 symbols. Opening is bound by
//! headers and checksums; a first question by reading and checking the blocks that it leads to; later ones
//! are those of memory, whose index is the peer.
//!
//! A cold question comes after opening, when the system has been asked to give up the files' pages: then
//! each block is read from the disk. It is one question an iteration, a warm one is one of 100. The number
//! of patterns is printed.
#![expect(clippy::print_stderr, reason = "a bench reports to its user")]

use std::fs::File;
use std::hint::black_box;
use std::path::Path;

use criterion::measurement::WallTime;
use criterion::{
    BatchSize, BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main,
};
use kato_benches::Knowledge;
use kato_engine::Engine;
use kato_model::Event;
use kato_prediction::disk::{self, BuildOptions};
use kato_prediction::{PatternIndex, PredictionConfig};
use kato_store::EmbeddedStore;
use kato_tokenizer::{Tokenizer, gpt2};
use rustix::fs::{Advice, fadvise};

/// States that are asked for, spread over the held-out text.
const STATES: usize = 100;

fn index(c: &mut Criterion) {
    let knowledge = Knowledge::new();
    let store = knowledge.open();
    let mut group = c.benchmark_group("index");
    group.sample_size(10);
    group.bench_function("write", |b| {
        b.iter_batched(
            || drop(std::fs::remove_dir_all(knowledge.kb().join("index"))),
            |()| disk::build(&store, &BuildOptions::default()).expect("the disk has room"),
            BatchSize::PerIteration,
        );
    });
    disk::build(&store, &BuildOptions::default()).expect("the disk has room");
    let found = disk::open(&store)
        .expect("it can be read")
        .expect("written");
    let (n_patterns, n_bytes, dir) = (found.n_patterns(), found.bytes(), found.dir().to_owned());
    eprintln!("index: {n_patterns} patterns in {n_bytes} bytes");
    drop(found);
    group.bench_function("open", |b| b.iter(|| black_box(opened(&store))));
    // What opening spares.
    group.bench_function("peer of open: load the patterns into memory", |b| {
        b.iter(|| Engine::open(std::sync::Arc::new(knowledge.open())).expect("it can be read"));
    });
    group.finish();

    let memory = loaded(&knowledge);
    let ids = gpt2()
        .encode(&knowledge.held_out_texts().join("\n\n"))
        .expect("GPT-2 has ids for all text");
    for length in [2, 5, 9] {
        let states = states(&ids, length);
        let mut group = c.benchmark_group(format!("index, {length} symbols"));
        group.sample_size(10);
        cold(&mut group, &store, &dir, &states);
        // Opened after the cold questions: pages that are mapped are not given up.
        let warm = opened(&store);
        group.throughput(Throughput::Elements(states.len() as u64));
        for (name, index) in [("warm", &warm), ("peer: in memory", &memory)] {
            group.bench_function(name, |b| {
                b.iter(|| {
                    for state in &states {
                        black_box(index.predict(state, &PredictionConfig::default()));
                    }
                });
            });
        }
        group.finish();
    }
}

/// Asks one question of an index that was just opened, another one each time.
fn cold(
    group: &mut BenchmarkGroup<'_, WallTime>,
    store: &EmbeddedStore,
    dir: &Path,
    states: &[Vec<Event>],
) {
    let mut next = states.iter().cycle();
    group.throughput(Throughput::Elements(1));
    group.bench_function("cold", |b| {
        b.iter_batched(
            || {
                give_up_pages(dir);
                (opened(store), next.next().expect("there are states"))
            },
            |(index, state)| {
                let answer = index.predict(state, &PredictionConfig::default());
                (index, answer)
            },
            BatchSize::PerIteration,
        );
    });
}

/// The index of the lowest node, of which nothing has been read.
fn opened(store: &EmbeddedStore) -> PatternIndex {
    let index = disk::open(store).expect("it can be read").expect("written");
    let frozen = index.nodes().next().flatten().expect("no emotives");
    PatternIndex::over(frozen)
}

/// The same patterns in memory.
fn loaded(knowledge: &Knowledge) -> PatternIndex {
    let mut index = PatternIndex::new();
    let store = knowledge.open();
    let node = kato_store::KnowledgeBase::new(&store, "node0").expect("the lowest node");
    for pattern in node.scan().expect("it can be read") {
        let pattern = pattern.expect("it can be read");
        let events: Vec<Event> = pattern
            .symbols
            .iter()
            .map(|symbol| Event::new([symbol.to_string()]))
            .collect();
        index.learn(&events).expect("there is room");
    }
    index.seal();
    index
}

/// Asks the system to forget what it keeps of files in memory. It does so where nobody maps them and they are
/// on the disk.
fn give_up_pages(dir: &Path) {
    for entry in std::fs::read_dir(dir).expect("it was written") {
        let path = entry.expect("it was written").path();
        let file = File::open(path).expect("it was written");
        if file.metadata().is_ok_and(|data| data.is_file()) {
            file.sync_all().expect("the disk has room");
            fadvise(&file, 0, None, Advice::DontNeed).expect("the system takes advice");
        }
    }
}

fn states(ids: &[u32], length: usize) -> Vec<Vec<Event>> {
    let tokenizer = gpt2();
    let event = |&id: &u32| Event::new(tokenizer.vocabulary().get(id));
    ids.chunks_exact(length)
        .step_by((ids.len() / length / STATES).max(1))
        .take(STATES)
        .map(|chunk| chunk.iter().map(event).collect())
        .collect()
}

criterion_group!(benches, index);
criterion_main!(benches);
