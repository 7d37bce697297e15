//! Predictions and learning in memory. A comparison of two short sequences is bound by a few dozen
//! instructions; a prediction by the patterns that its bounds leave over, and by making the texts
//! of its answer; a full scan by comparing every pattern; learning by SHA-1 of the pattern's text,
//! and by making and interning the symbols' texts.
//!
//! Answers depend on the number of patterns, which is printed; their peer is the full scan of the same
//! patterns. Throughput counts comparisons, answers and learn calls. `src/bin/predict_latency.rs` has
//! distributions at any size.
#![expect(clippy::print_stderr, reason = "a bench reports to its user")]

use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use kato_benches::{sample_text, sized};
use kato_engine::{Engine, Observation, SessionConfig};
use kato_model::{Event, KatoGeneration};
use kato_prediction::matching::{character_similarity, lcs_length, matching_blocks};
use kato_prediction::{PatternIndex, PredictionConfig};
use kato_random::SplitMix64;
use kato_tokenizer::{Tokenizer, gpt2};

/// Tokens of a pattern: a chunk of the lowest level.
const CHUNK: usize = 5;

/// States that are asked for, spread over the held-out text.
const STATES: usize = 200;

/// Pairs of sequences that are compared.
const PAIRS: usize = 256;

fn compare(c: &mut Criterion) {
    let mut group = c.benchmark_group("predict/compare");
    group.throughput(Throughput::Elements(PAIRS as u64));
    let mut random = SplitMix64::from_seed(1);
    for length in [5, 15, 50] {
        let mut draw = || -> Vec<usize> { (0..length).map(|_| random.below(12)).collect() };
        let pairs: Vec<_> = (0..PAIRS).map(|_| (draw(), draw())).collect();
        let mut each = |name: &str, compare: &dyn Fn(&[usize], &[usize]) -> usize| {
            group.bench_function(format!("{name} {length}"), |b| {
                b.iter(|| {
                    let pairs = black_box(&pairs).iter();
                    pairs.map(|(a, b)| compare(a, b)).sum::<usize>()
                });
            });
        };
        each("blocks", &|a, b| matching_blocks(a, b).len());
        each("lcs", &|a, b| lcs_length(a, b));
        // The least that can be done with two sequences: look at every place of both.
        each("limit: equal places", &|a, b| {
            a.iter().zip(b).filter(|(a, b)| a == b).count()
        });
    }
    let texts: Vec<String> = (0..PAIRS)
        .map(|_| {
            (0..25)
                .map(|_| char::from(b'a' + random.below(12) as u8))
                .collect()
        })
        .collect();
    group.bench_function("characters 25", |b| {
        b.iter(|| {
            let pairs = black_box(&texts).iter().zip(texts.iter().rev());
            pairs.map(|(a, b)| character_similarity(a, b)).sum::<f64>()
        });
    });
    group.finish();
}

fn predict(c: &mut Criterion) {
    let ids = token_ids();
    let (learned, held_out) = ids.split_at(ids.len() - ids.len() / 20);
    let mut index = PatternIndex::new();
    for chunk in learned.chunks_exact(CHUNK) {
        index.learn(&events(chunk)).expect("there is room");
    }
    index.seal();
    // What the rates are of: the group's name stays, so that each run is compared with the last.
    eprintln!("predict: {} patterns", index.n_patterns());
    for length in [2, 3, 5, 9] {
        let states: Vec<Vec<Event>> = held_out
            .chunks_exact(length)
            .step_by((held_out.len() / length / STATES).max(1))
            .take(STATES)
            .map(events)
            .collect();
        answers(c, length, &index, &states);
    }
}

/// Rates of answers to states of so many symbols.
fn answers(c: &mut Criterion, length: usize, index: &PatternIndex, states: &[Vec<Event>]) {
    let default = PredictionConfig::default;
    let ten = PredictionConfig {
        max_predictions: 10,
        ..default()
    };
    let characters = PredictionConfig {
        use_token_matching: false,
        ..default()
    };
    let all = PredictionConfig {
        // Of later ones patterns that share nothing are no predictions.
        generation: KatoGeneration::V3_10,
        recall_threshold: 0.0,
        ..default()
    };
    let fuzzy = PredictionConfig {
        fuzzy_token_threshold: Some(0.8),
        ..default()
    };
    let mut configs = vec![("default", default()), ("10 predictions", ten)];
    // The others scale alike, so that one length is enough.
    if length == 3 {
        configs.extend([
            ("characters", characters),
            ("threshold 0", all),
            ("fuzzy 0.8", fuzzy),
        ]);
    }
    let mut group = c.benchmark_group(format!("predict/answer, {length} symbols"));
    group.sample_size(10);
    group.throughput(Throughput::Elements(states.len() as u64));
    for (name, config) in &configs {
        group.bench_function(*name, |b| {
            b.iter(|| {
                for state in states {
                    black_box(index.predict(state, config));
                }
            });
        });
    }
    group.bench_function("peer: full scan, default", |b| {
        b.iter(|| {
            for state in states {
                black_box(index.predict_by_full_scan(state, &configs[0].1));
            }
        });
    });
    group.finish();
}

fn learn(c: &mut Criterion) {
    let chunks: Vec<Vec<Event>> = token_ids().chunks_exact(CHUNK).map(events).collect();
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

/// The text's tokens.
fn token_ids() -> Vec<u32> {
    let tokenizer = gpt2();
    let mut ids = Vec::new();
    let text = sample_text();
    for line in text.lines() {
        tokenizer
            .encode_into(line, &mut ids)
            .expect("GPT-2 encodes any text");
    }
    // Of a trial the last part, in which every file of the sample has not to be.
    let n_tokens = sized(ids.len() as u64) as usize;
    ids.split_off(ids.len() - n_tokens)
}

/// One event a token.
fn events(ids: &[u32]) -> Vec<Event> {
    let tokenizer = gpt2();
    let vocabulary = tokenizer.vocabulary();
    ids.iter()
        .map(|&id| Event::new(vocabulary.get(id)))
        .collect()
}

criterion_group!(benches, compare, predict, learn);
criterion_main!(benches);
