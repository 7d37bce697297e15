//! Predictions and learning in memory. A comparison of two short sequences is bound by a few dozen
//! instructions; a prediction by the patterns that its bounds leave over, and by making the texts
//! of its answer; a full scan by comparing every pattern; learning by SHA-1 of the pattern's text,
//! and by making and interning the symbols' texts.
//!
//! Throughput counts comparisons, answers and learn calls. `src/bin/predict_latency.rs` has
//! distributions at any size.

use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use kato_benches::sample_text;
use kato_engine::{Engine, Observation, SessionConfig};
use kato_model::Event;
use kato_prediction::matching::{character_similarity, lcs_length, matching_blocks};
use kato_prediction::{PatternIndex, PredictionConfig};
use kato_tokenizer::{Tokenizer, gpt2};

/// Tokens of a pattern: a chunk of the lowest level.
const CHUNK: usize = 5;

const STATES: usize = 200;

fn compare(c: &mut Criterion) {
    let mut group = c.benchmark_group("predict/compare");
    for length in [5, 15, 50] {
        let pattern: Vec<usize> = (0..length).map(|idx| idx * 7 % 12).collect();
        let state: Vec<usize> = (0..length).map(|idx| idx * 5 % 12).collect();
        group.throughput(Throughput::Elements(1));
        group.bench_function(format!("blocks {length}"), |b| {
            b.iter(|| matching_blocks(black_box(&pattern), black_box(&state)));
        });
        group.bench_function(format!("lcs {length}"), |b| {
            b.iter(|| lcs_length(black_box(&pattern), black_box(&state)));
        });
    }
    group.bench_function("characters 25", |b| {
        b.iter(|| {
            character_similarity(
                black_box("the quick brown fox jumps"),
                "over a lazy dog or so, it",
            )
        });
    });
    group.finish();
}

fn predict(c: &mut Criterion) {
    let chunks = chunks();
    let (learned, held_out) = chunks.split_at(chunks.len() - chunks.len() / 20);
    let mut index = PatternIndex::new();
    for chunk in learned {
        index.learn(chunk).expect("there is room");
    }
    index.seal();
    let states: Vec<&[Event]> = held_out
        .iter()
        .take(STATES)
        .map(|chunk| &chunk[..CHUNK - 2])
        .collect();
    let configs = [
        ("default", PredictionConfig::default()),
        (
            "10 predictions",
            PredictionConfig {
                max_predictions: 10,
                ..PredictionConfig::default()
            },
        ),
        (
            "characters",
            PredictionConfig {
                use_token_matching: false,
                ..PredictionConfig::default()
            },
        ),
        (
            "threshold 0",
            PredictionConfig {
                recall_threshold: 0.0,
                ..PredictionConfig::default()
            },
        ),
        (
            "fuzzy 0.8",
            PredictionConfig {
                fuzzy_token_threshold: Some(0.8),
                ..PredictionConfig::default()
            },
        ),
    ];
    let mut group = c.benchmark_group(format!("predict/answer of {} patterns", index.n_patterns()));
    group.sample_size(10);
    group.throughput(Throughput::Elements(states.len() as u64));
    for (name, config) in &configs {
        group.bench_function(*name, |b| {
            b.iter(|| {
                for state in &states {
                    black_box(index.predict(state, config));
                }
            });
        });
    }
    group.bench_function("default, full scan", |b| {
        b.iter(|| {
            for state in &states {
                black_box(index.predict_by_full_scan(state, &configs[0].1));
            }
        });
    });
    group.finish();
}

fn learn(c: &mut Criterion) {
    let chunks = chunks();
    let mut group = c.benchmark_group("predict/learn");
    group.sample_size(10);
    group.throughput(Throughput::Elements(chunks.len() as u64));
    group.bench_function("index", |b| {
        b.iter_batched_ref(
            PatternIndex::new,
            |index| {
                for chunk in &chunks {
                    index.learn(chunk).expect("there is room");
                }
            },
            BatchSize::PerIteration,
        );
    });
    group.bench_function("observe and learn in a session", |b| {
        b.iter_batched_ref(
            || {
                let engine = Engine::in_memory(&["node0"]);
                engine
                    .node("node0")
                    .expect("it was just named")
                    .session(SessionConfig::default())
            },
            |session| {
                for chunk in &chunks {
                    for event in chunk {
                        let observation = Observation::strings(event.symbols());
                        session.observe(observation).expect("symbols are short");
                    }
                    session.learn().expect("there is room");
                }
            },
            BatchSize::PerIteration,
        );
    });
    group.finish();
}

/// The text's tokens in chunks, one event a token.
fn chunks() -> Vec<Vec<Event>> {
    let tokenizer = gpt2();
    let mut ids = Vec::new();
    for line in sample_text().lines() {
        tokenizer
            .encode_into(line, &mut ids)
            .expect("GPT-2 encodes any text");
    }
    let vocabulary = tokenizer.vocabulary();
    let event = |id: &u32| Event::new(vocabulary.get(*id));
    ids.chunks_exact(CHUNK)
        .map(|chunk| chunk.iter().map(event).collect())
        .collect()
}

criterion_group!(benches, compare, predict, learn);
criterion_main!(benches);
