//! The learner on documents in memory, one thread. Bound by the tokenizer and SHA-1: the limit
//! tokenizes each document and names its chunks, and does nothing else. What `learn` adds to `plan` is
//! counting into the batch, bound by memory.
//!
//! Documents are others in every iteration, as in a run. Throughput counts tokens that are part of a
//! pattern. docs/benchmarks.md says what was measured.

use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use kato_benches::{MadeText, sized};
use kato_learner::{HierarchicalConceptLearner, TextDocument};
use kato_model::PatternName;
use kato_model::naming::{LiteralTable, NameScratch, name_of_ids, name_of_names};
use kato_tokenizer::{Gpt2, Tokenizer, gpt2};

const CORPUS_BYTES: u64 = 4_000_000;
const CHUNK_SIZES: [usize; 3] = [5, 7, 9];

fn learn(c: &mut Criterion) {
    let learner = HierarchicalConceptLearner::builder(gpt2())
        .with_chunk_sizes(CHUNK_SIZES)
        .build()
        .expect("three levels are a hierarchy");
    let mut made = MadeText::new();
    let mut next = || made.documents(sized(CORPUS_BYTES));
    let mut scratch = learner.new_scratch();
    let mut plan = |text: &str| {
        let plan = learner
            .plan(&TextDocument::from(text), &mut scratch)
            .expect("GPT-2 has ids for all text");
        plan.n_tokens() as u64
    };
    let first = next();
    let bytes = first.iter().map(String::len).sum::<usize>() as u64;
    // Documents of other seeds have as many within a hundredth.
    let elements = first.iter().map(|text| plan(text)).sum();

    let mut group = c.benchmark_group("learn");
    group.sample_size(10);
    group.throughput(Throughput::ElementsAndBytes { elements, bytes });
    group.bench_function("plan", |b| {
        b.iter_batched(
            &mut next,
            |texts| texts.iter().map(|text| plan(black_box(text))).sum::<u64>(),
            BatchSize::PerIteration,
        );
    });
    let mut scratch = learner.new_scratch();
    group.bench_function("learn into a batch", |b| {
        b.iter_batched(
            || (learner.new_batch(), next()),
            |(mut batch, texts)| {
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
    let mut limit = TokenizeAndName::new();
    group.bench_function("limit: tokenize and name", |b| {
        b.iter_batched(
            &mut next,
            |texts| texts.iter().for_each(|text| limit.document(text)),
            BatchSize::PerIteration,
        );
    });
    group.finish();
}

/// What no learner can avoid: the tokens of a document, and the names of its chunks.
struct TokenizeAndName {
    tokenizer: Gpt2,
    literals: LiteralTable,
    scratch: NameScratch,
    ids: Vec<u32>,
    names: [Vec<PatternName>; CHUNK_SIZES.len()],
}

impl TokenizeAndName {
    fn new() -> Self {
        let tokenizer = gpt2();
        let tokens = tokenizer.vocabulary().iter().map(|(_, token)| token);
        Self {
            literals: LiteralTable::new(tokens),
            tokenizer,
            scratch: NameScratch::default(),
            ids: Vec::new(),
            names: Default::default(),
        }
    }

    fn document(&mut self, text: &str) {
        self.ids.clear();
        self.tokenizer
            .encode_into(black_box(text), &mut self.ids)
            .expect("GPT-2 has ids for all text");
        let [lowest, middle, highest] = &mut self.names;
        lowest.clear();
        lowest.extend(self.ids.chunks(CHUNK_SIZES[0]).map(|chunk| {
            name_of_ids(&self.literals, chunk, &mut self.scratch).expect("ids of the vocabulary")
        }));
        let mut name = |below: &[PatternName], size, above: &mut Vec<PatternName>| {
            above.clear();
            let chunks = below.chunks(size);
            above.extend(chunks.map(|chunk| name_of_names(chunk, &mut self.scratch)));
        };
        name(lowest, CHUNK_SIZES[1], middle);
        name(middle, CHUNK_SIZES[2], highest);
        black_box(&self.names);
    }
}

criterion_group!(benches, learn);
criterion_main!(benches);
