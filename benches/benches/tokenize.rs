//! GPT-2's tokenizer over documents. Bound by splitting text into words, by the look-ups of the
//! word cache, and by merging words that are not in it.
//!
//! Two texts: made ones, another one each time, whose frequent words are in the cache and whose rare
//! ones (2 %) were never seen; and the sample again and again, all words of which are in the cache. The
//! peer of each is `tiktoken-rs` on the same text. docs/benchmarks.md says what was measured.

use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use kato_benches::{MadeText, sample_text, sized};
use kato_tokenizer::{Gpt2, Tokenizer, gpt2};

/// Size of a made text.
const TEXT_BYTES: u64 = 4_000_000;
/// About one paragraph: what the learner tokenizes at once.
const PIECE_BYTES: usize = 500;

fn tokenize(c: &mut Criterion) {
    let tokenizer = gpt2();
    let peer = tiktoken_rs::r50k_base_singleton();
    let peer_encode = |pieces: &[&str]| -> u64 {
        let n_tokens = |piece: &&str| peer.encode_ordinary(piece).len() as u64;
        pieces.iter().map(n_tokens).sum()
    };
    let mut ids = Vec::new();
    let mut group = c.benchmark_group("tokenize");
    group.sample_size(10);

    let mut made = MadeText::new();
    let mut next = || made.documents(sized(TEXT_BYTES)).concat();
    // Texts of other seeds have as many tokens within a hundredth: only the order of their words
    // differs.
    let first = next();
    let elements = encode(&tokenizer, &pieces(&first), &mut ids);
    assert_eq!(elements, peer_encode(&pieces(&first)));
    group.throughput(throughput(elements, &first));
    group.bench_function("made text, new each time", |b| {
        b.iter_batched(
            &mut next,
            |text| black_box(encode(&tokenizer, &pieces(&text), &mut ids)),
            BatchSize::PerIteration,
        );
    });
    group.bench_function("peer of made text: tiktoken", |b| {
        b.iter_batched(
            &mut next,
            |text| black_box(peer_encode(&pieces(&text))),
            BatchSize::PerIteration,
        );
    });

    let sample = sample_text();
    let pieces = pieces(beginning(&sample, sized(TEXT_BYTES)));
    let elements = encode(&tokenizer, &pieces, &mut ids);
    group.throughput(throughput(elements, &pieces.concat()));
    group.bench_function("sample, its words met before", |b| {
        b.iter(|| black_box(encode(&tokenizer, &pieces, &mut ids)));
    });
    group.bench_function("peer of sample: tiktoken", |b| {
        b.iter(|| black_box(peer_encode(&pieces)));
    });
    group.finish();
}

fn throughput(elements: u64, text: &str) -> Throughput {
    Throughput::ElementsAndBytes {
        elements,
        bytes: text.len() as u64,
    }
}

/// The first bytes of a text, to the end of a character.
fn beginning(text: &str, n_bytes: u64) -> &str {
    let end = usize::try_from(n_bytes).unwrap_or(usize::MAX);
    &text[..text.ceil_char_boundary(end.min(text.len()))]
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
