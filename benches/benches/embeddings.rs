//! Word vectors: from text, from the cache, and nearest words. Text is bound by parsing numbers,
//! the cache by its checksums, nearest words by reading the matrix from memory. The numbers take 160 MB,
//! more than the caches of most processors, and look-ups come in random order. docs/embeddings.md says
//! what was measured.

use std::fs::File;
use std::hint::black_box;
use std::io::{BufWriter, Read as _, Write as _};
use std::path::Path;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use kato_benches::{sized, write_glove};
use kato_embeddings::Embeddings;
use kato_embeddings::report::Origin;
use kato_random::SplitMix64;

const N_WORDS: u64 = 400_000;
const DIMS: u64 = 100;
/// Words of a small vocabulary: one in four hundred.
const N_WANTED: usize = 1_000;

fn embeddings(c: &mut Criterion) {
    let n_words = sized(N_WORDS);
    let dir = tempfile::tempdir().expect("a temporary folder");
    let path = dir.path().join("vectors.txt");
    let mut file = BufWriter::new(File::create(&path).expect("the temporary folder has room"));
    write_glove(n_words, DIMS, &mut file).expect("the temporary folder has room");
    file.flush().expect("the temporary folder has room");
    let cache = dir.path().join("cache");
    let open = |workers| {
        Embeddings::builder(&path)
            .with_workers(workers)
            .open()
            .expect("the text is one of vectors")
    };
    // One thread, as its limits have.
    let cached = || {
        Embeddings::builder(&path)
            .with_cache(&cache)
            .with_workers(1)
            .open()
            .expect("the text is one of vectors")
    };
    cached();
    let all = cached();
    assert_eq!(all.report().origin, Origin::Cache);

    let mut buffer = vec![0; 1 << 19];
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
        .step_by((N_WORDS as usize) / N_WANTED)
        .map(|(word, _)| word)
        .collect();
    group.bench_function("limit of parse: read the text", |b| {
        b.iter(|| black_box(read(&path, &mut buffer)));
    });
    group.bench_function("parse, one word in four hundred", |b| {
        let few = || Embeddings::builder(&path).with_vocabulary(&wanted).open();
        b.iter(|| black_box(few().expect("the text is one of vectors")));
    });
    let cache_bytes = std::fs::metadata(&cache).expect("it was written").len();
    group.throughput(Throughput::Bytes(cache_bytes));
    group.bench_function("open the cache", |b| b.iter(|| black_box(cached())));
    group.bench_function("limit of open: read the cache's bytes", |b| {
        b.iter(|| black_box(read(&cache, &mut buffer)));
    });
    let mut words: Vec<&str> = all.iter().map(|(word, _)| word).collect();
    shuffle(&mut words);
    group.throughput(Throughput::Elements(n_words));
    group.bench_function("look up every word", |b| {
        b.iter(|| {
            let found = words.iter().filter_map(|word| all.get(word));
            black_box(found.map(|vector| vector[0]).sum::<f32>())
        });
    });
    group.bench_function("ten nearest words", |b| {
        let mut random = SplitMix64::from_seed(2);
        b.iter(|| {
            let target = all
                .vector(random.below(all.len()))
                .expect("a word's number");
            black_box(
                all.nearest(target, 10)
                    .expect("the dimension is the same")
                    .len(),
            )
        });
    });
    // Bits, as sums of floating-point numbers wait for each other.
    group.bench_function("limit of nearest: read the numbers", |b| {
        b.iter(|| {
            let bits = |vector: &[f32]| vector.iter().fold(0, |bits, x| bits ^ x.to_bits());
            let read = all.iter().map(|(_, vector)| bits(vector));
            black_box(read.fold(0, |bits, more| bits ^ more))
        });
    });
    group.finish();
}

/// Reads a file through one buffer. Returns its bytes.
fn read(path: &Path, buffer: &mut [u8]) -> usize {
    let mut file = File::open(path).expect("it was written");
    let mut total = 0;
    loop {
        match file.read(buffer).expect("it was written") {
            0 => return total,
            n_read => total += n_read,
        }
    }
}

fn shuffle(words: &mut [&str]) {
    let mut random = SplitMix64::from_seed(1);
    for last in (1..words.len()).rev() {
        words.swap(last, random.below(last + 1));
    }
}

criterion_group!(benches, embeddings);
criterion_main!(benches);
