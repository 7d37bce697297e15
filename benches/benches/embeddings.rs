//! Word vectors: from text, from the cache, and nearest words. Text is bound by parsing numbers,
//! the cache by its checksums, nearest words by reading the matrix from memory. docs/embeddings.md
//! says what was measured.

use std::fs::File;
use std::hint::black_box;
use std::io::{BufWriter, Write as _};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use kato_benches::write_glove;
use kato_embeddings::Embeddings;
use kato_embeddings::report::Origin;

const N_WORDS: u64 = 40_000;
const DIMS: u64 = 100;
/// Words of a small vocabulary.
const N_WANTED: u64 = 1_000;

fn embeddings(c: &mut Criterion) {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let path = dir.path().join("vectors.txt");
    let mut file = BufWriter::new(File::create(&path).expect("the temporary folder has room"));
    write_glove(N_WORDS, DIMS, &mut file).expect("the temporary folder has room");
    file.flush().expect("the temporary folder has room");
    let cache = dir.path().join("cache");
    let open = |workers| {
        Embeddings::builder(&path)
            .with_workers(workers)
            .open()
            .expect("the text is one of vectors")
    };
    let cached = || {
        Embeddings::builder(&path)
            .with_cache(&cache)
            .open()
            .expect("the text is one of vectors")
    };
    cached();
    let all = cached();
    assert_eq!(all.report().origin, Origin::Cache);

    let mut group = c.benchmark_group("embeddings");
    group.sample_size(10);
    group.throughput(Throughput::Bytes(all.report().bytes));
    for workers in [1, 2] {
        group.bench_function(format!("parse, workers: {workers}"), |b| {
            b.iter(|| black_box(open(workers)));
        });
    }
    let wanted: Vec<&str> = all
        .iter()
        .step_by((N_WORDS / N_WANTED) as usize)
        .map(|(word, _)| word)
        .collect();
    group.bench_function("parse, one word in forty", |b| {
        let few = || Embeddings::builder(&path).with_vocabulary(&wanted).open();
        b.iter(|| black_box(few().expect("the text is one of vectors")));
    });
    let cache_bytes = std::fs::metadata(&cache).expect("it was written").len();
    group.throughput(Throughput::Bytes(cache_bytes));
    group.bench_function("open the cache", |b| b.iter(|| black_box(cached())));
    group.bench_function("limit: read the cache's bytes", |b| {
        b.iter(|| black_box(std::fs::read(&cache).expect("it was written")));
    });
    group.throughput(Throughput::Elements(N_WORDS));
    group.bench_function("look up every word", |b| {
        b.iter(|| {
            let found = all.iter().filter_map(|(word, _)| all.get(word));
            black_box(found.map(|vector| vector[0]).sum::<f32>())
        });
    });
    group.bench_function("ten nearest words", |b| {
        let target = all.vector(7).expect("there are more words");
        b.iter(|| {
            black_box(
                all.nearest(target, 10)
                    .expect("the dimension is the same")
                    .len(),
            )
        });
    });
    group.finish();
}

criterion_group!(benches, embeddings);
criterion_main!(benches);
