//! A trained hierarchy asked: activation, unravelling, generation, and an evaluation on documents that were
//! held out. Bound by the predictions of each level. The peers: the head, which continues and scores the
//! same texts by counts, without a search.
//!
//! Prompts are others in every iteration, and several, as one takes many times as long as another. The number
//! of patterns is printed.
#![expect(clippy::print_stderr, reason = "a bench reports to its user")]

use std::hint::black_box;
use std::ops::ControlFlow;
use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use kato_benches::{Knowledge, sized};
use kato_engine::Engine;
use kato_evaluation::{Corpora, EvaluationOptions, evaluate};
use kato_hierarchy::head::WriteOptions;
use kato_hierarchy::{ActivationOptions, GenerationOptions, HeadOptions, Hierarchy};
use kato_store::{EmbeddedStore, PatternStore};
use kato_tokenizer::gpt2;

/// Prompts of an iteration.
const N_PROMPTS: u64 = 20;
/// Characters of a prompt.
const PROMPT: usize = 60;
/// Patterns that are unravelled in an iteration, others each time.
const N_PATTERNS: u64 = 400;
/// Tokens that are generated.
const N_TOKENS: usize = 40;
/// Documents and questions of an evaluation.
const N_DOCUMENTS: u64 = 20;
const N_QUESTIONS: u64 = 200;

fn hierarchy(c: &mut Criterion) {
    let knowledge = Knowledge::new();
    let store = Arc::new(knowledge.open());
    let shared: Arc<dyn PatternStore> = Arc::<EmbeddedStore>::clone(&store);
    let engine = Engine::open(shared).expect("it can be read");
    let learner = knowledge.learner();
    let settings = learner.config().clone();
    let hierarchy =
        Hierarchy::new(engine.clone(), gpt2(), settings).expect("the nodes it was trained with");
    let n_patterns: u64 = engine.nodes().map(|node| node.totals().patterns).sum();
    eprintln!("hierarchy: {n_patterns} patterns");
    let texts = knowledge.held_out_texts();
    let prompts: Vec<String> = texts
        .iter()
        .map(|text| text.chars().take(PROMPT).collect())
        .collect();
    let n_prompts = sized(N_PROMPTS);
    let mut next = prompts.iter().cycle();
    let mut each_prompt = |ask: &dyn Fn(&str)| {
        let prompts = next.by_ref().take(n_prompts as usize);
        prompts.for_each(|prompt| ask(prompt));
    };

    let mut group = c.benchmark_group("hierarchy");
    group.sample_size(10);
    group.throughput(Throughput::Elements(n_prompts));
    let options = ActivationOptions::default();
    let activate = |prompt: &str| {
        black_box(hierarchy.activate(prompt, &options)).expect("it can be read");
    };
    group.bench_function("activate", |b| b.iter(|| each_prompt(&activate)));
    let options = GenerationOptions::default().with_max_tokens(N_TOKENS);
    let generate = |prompt: &str| {
        black_box(hierarchy.generate(prompt, &options)).expect("it can be read");
    };
    group.bench_function("generate", |b| b.iter(|| each_prompt(&generate)));
    let head = hierarchy
        .head(HeadOptions::default())
        .expect("it can be read");
    let written = WriteOptions::default().with_max_tokens(N_TOKENS);
    let write = |prompt: &str| {
        black_box(head.write(prompt, &written)).expect("it can be read");
    };
    group.bench_function("peer of generate: the head", |b| {
        b.iter(|| each_prompt(&write));
    });
    let n_patterns = sized(N_PATTERNS);
    group.throughput(Throughput::Elements(n_patterns));
    let highest = hierarchy.nodes().len() - 1;
    let names: Vec<_> = store
        .scan_frequencies(highest)
        .expect("it can be read")
        .map(|pattern| pattern.expect("it can be read").0)
        .collect();
    let mut names = names.iter().cycle();
    group.bench_function("unravel a pattern of the highest level", |b| {
        b.iter(|| {
            for name in names.by_ref().take(n_patterns as usize) {
                black_box(hierarchy.unravel(highest, name)).expect("it can be read");
            }
        });
    });

    let mut options = EvaluationOptions::default();
    options.max_documents = Some(N_DOCUMENTS);
    options.max_questions = N_QUESTIONS;
    group.throughput(Throughput::Elements(N_DOCUMENTS));
    let corpora = Corpora::new(|| knowledge.trained(), || knowledge.held_out());
    group.bench_function("evaluate", |b| {
        b.iter(|| {
            evaluate(&engine, &learner, &corpora, &options, |_| {
                ControlFlow::Continue(())
            })
            .expect("documents were held out")
        });
    });
    group.bench_function("peer of evaluate: the head's score", |b| {
        b.iter(|| {
            for text in texts.iter().take(N_DOCUMENTS as usize) {
                black_box(head.score(text).expect("GPT-2 has ids for all text"));
            }
        });
    });
    group.finish();
}

criterion_group!(benches, hierarchy);
criterion_main!(benches);
