//! The learner on documents in memory, one thread. Bound by the tokenizer and SHA-1: the limit is
//! their sum, measured by `tokenize` and `names`; what `learn` adds to `plan` is counting into the
//! batch, bound by memory.
//!
//! Throughput counts tokens that are part of a pattern. docs/benchmarks.md says what was measured.

use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use kato_benches::json_lines;
use kato_learner::{HierarchicalConceptLearner, TextDocument};
use kato_tokenizer::gpt2;

const CORPUS_BYTES: u64 = 4_000_000;

fn learn(c: &mut Criterion) {
    let learner = HierarchicalConceptLearner::builder(gpt2())
        .with_chunk_sizes([5, 7, 9])
        .build()
        .expect("three levels are a hierarchy");
    let texts: Vec<String> = json_lines(CORPUS_BYTES)
        .split(|&byte| byte == b'\n')
        .filter_map(|line| {
            serde_json::from_slice::<serde_json::Value>(line).ok()?["text"]
                .as_str()
                .map(str::to_owned)
        })
        .collect();
    let bytes = texts.iter().map(String::len).sum::<usize>() as u64;
    let mut scratch = learner.new_scratch();
    let mut plan = |text: &str| {
        let plan = learner
            .plan(&TextDocument::from(text), &mut scratch)
            .expect("GPT-2 has ids for all text");
        plan.n_tokens() as u64
    };
    let elements = texts.iter().map(|text| plan(text)).sum();

    let mut group = c.benchmark_group("learn");
    group.sample_size(10);
    group.throughput(Throughput::ElementsAndBytes { elements, bytes });
    group.bench_function("plan", |b| {
        b.iter(|| texts.iter().map(|text| plan(black_box(text))).sum::<u64>())
    });
    let mut scratch = learner.new_scratch();
    group.bench_function("learn into a batch", |b| {
        b.iter_batched(
            || learner.new_batch(),
            |mut batch| {
                for text in &texts {
                    let document = black_box(text.as_str());
                    learner
                        .learn(document, &mut batch, &mut scratch)
                        .expect("GPT-2 has ids for all text");
                }
                batch
            },
            BatchSize::PerIteration,
        );
    });
    group.finish();
}

criterion_group!(benches, learn);
criterion_main!(benches);
