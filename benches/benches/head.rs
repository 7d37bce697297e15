//! What comes next, by the head. Making it is bound by counting the n-grams inside all patterns; a
//! distribution by writing one number for each of the vocabulary's tokens, which is its limit; the price
//! of one token by looking up a dozen n-grams in memory.
//!
//! Histories are of text that was held out, and move on from one iteration to the next. The number of
//! patterns and n-grams is printed. `src/bin/head_latency.rs` has distributions of times at any size.
#![expect(clippy::print_stderr, reason = "a bench reports to its user")]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use kato_benches::Knowledge;
use kato_head::{Head, HeadOptions, SymbolId, Weights};
use kato_store::PatternStore;
use kato_tokenizer::{Tokenizer, gpt2};

/// Tokens of an iteration.
const N_TOKENS: usize = 100;

fn head(c: &mut Criterion) {
    let knowledge = Knowledge::new();
    let store = knowledge.open();
    let tokenizer = gpt2();
    let build = || {
        let vocabulary = tokenizer.vocabulary().iter().map(|(_, token)| token);
        Head::from_store_with_vocabulary(&store, vocabulary, HeadOptions::default())
            .expect("the store can be read")
    };
    let head = build();
    let n_patterns: u64 = (0..store.nodes().len())
        .map(|level| store.count_patterns(level).expect("the store can be read"))
        .sum();
    let n_ngrams = head.n_ngrams();
    eprintln!("head: {n_patterns} patterns, {n_ngrams} n-grams");
    let text = knowledge.held_out_texts().join("\n\n");
    let symbols: Vec<Option<SymbolId>> = tokenizer
        .encode(&text)
        .expect("GPT-2 has ids for all text")
        .iter()
        .map(|&id| head.symbol(tokenizer.vocabulary().get(id)?))
        .collect();

    let mut group = c.benchmark_group("head");
    group.sample_size(10);
    group.throughput(Throughput::Elements(n_patterns));
    group.bench_function("make", |b| b.iter(|| black_box(build())));
    group.throughput(Throughput::Elements(N_TOKENS as u64));
    let mut weights = Weights::new();
    each_token(&mut group, "distribution", &head, &symbols, |history, _| {
        black_box(head.next(history, &weights, None).distribution());
    });
    group.bench_function("limit of distribution: write the numbers", |b| {
        b.iter(|| {
            for token in 0..N_TOKENS {
                black_box(vec![black_box(token as f64); head.n_outcomes()]);
            }
        });
    });
    let price = |history: &_, symbol| {
        black_box(head.learn_weights(&mut weights, history, None, symbol));
    };
    each_token(&mut group, "price and trust", &head, &symbols, price);
    group.finish();
}

/// Reads the next tokens of a text in each iteration, and asks something before each of them.
fn each_token(
    group: &mut criterion::BenchmarkGroup<'_, criterion::measurement::WallTime>,
    name: &str,
    head: &Head,
    symbols: &[Option<SymbolId>],
    mut ask: impl FnMut(&kato_head::History, Option<SymbolId>),
) {
    let mut next = symbols.iter().cycle();
    let mut history = head.history();
    group.bench_function(name, |b| {
        b.iter(|| {
            for &symbol in next.by_ref().take(N_TOKENS) {
                ask(&history, symbol);
                head.read_id(&mut history, symbol);
            }
        });
    });
}

criterion_group!(benches, head);
criterion_main!(benches);
