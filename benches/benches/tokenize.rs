//! GPT-2's tokenizer over documents. Bound by splitting text into words and the look-ups of the
//! word cache.
//!
//! Two texts: the sample, whose words repeat and stay cached, and a corpus made like it, which has
//! 2 % of words that no cache has seen. docs/benchmarks.md says what was measured.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use kato_benches::{json_lines, sample_text};
use kato_tokenizer::{Gpt2, Tokenizer, gpt2};

/// Size of the corpus made like the sample.
const CORPUS_BYTES: u64 = 4_000_000;
/// About one paragraph: what the learner tokenizes at once.
const PIECE_BYTES: usize = 500;

fn tokenize(c: &mut Criterion) {
    let tokenizer = gpt2();
    let sample = sample_text();
    let corpus: String = String::from_utf8(json_lines(CORPUS_BYTES))
        .expect("a corpus is UTF-8")
        .lines()
        .filter_map(|line| {
            serde_json::from_str::<serde_json::Value>(line).ok()?["text"]
                .as_str()
                .map(str::to_owned)
        })
        .collect();
    let mut group = c.benchmark_group("tokenize");
    group.sample_size(10);
    for (name, text) in [("sample text", &sample), ("corpus like it", &corpus)] {
        let pieces = pieces(text);
        let mut ids = Vec::new();
        let elements = encode(&tokenizer, &pieces, &mut ids);
        group.throughput(Throughput::ElementsAndBytes {
            elements,
            bytes: text.len() as u64,
        });
        group.bench_function(format!("gpt2/{name}"), |b| {
            b.iter(|| black_box(encode(&tokenizer, &pieces, &mut ids)))
        });
    }
    group.finish();
}

/// Tokens of all pieces.
fn encode(tokenizer: &Gpt2, pieces: &[&str], ids: &mut Vec<u32>) -> u64 {
    let mut n_tokens = 0;
    for piece in pieces {
        ids.clear();
        tokenizer
            .encode_into(piece, ids)
            .expect("GPT-2 has ids for all text");
        n_tokens += ids.len() as u64;
    }
    n_tokens
}

/// The text in pieces of about a paragraph, cut before blanks.
fn pieces(mut text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    while text.len() > PIECE_BYTES {
        let from = text.ceil_char_boundary(PIECE_BYTES);
        let cut = text[from..]
            .find(' ')
            .map_or(text.len(), |blank| from + blank);
        let (piece, rest) = text.split_at(cut);
        pieces.push(piece);
        text = rest;
    }
    pieces.push(text);
    pieces
}

criterion_group!(benches, tokenize);
criterion_main!(benches);
