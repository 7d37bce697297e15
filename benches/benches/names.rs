//! Naming patterns. Bound by SHA-1: the limit is `sha1/compress`, the raw compression function over
//! as many blocks.
//!
//! Throughput counts names, and as bytes the padded blocks that SHA-1 has to compress: dividing two
//! rates gives the ratio to the limit. docs/benchmarks.md says what was measured.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use kato_benches::sample_text;
use kato_model::PatternName;
use kato_model::naming::{LiteralTable, NameScratch, name_of_ids, name_of_names};
use kato_tokenizer::{Tokenizer, gpt2};

/// Names made by one iteration.
const N_NAMES: usize = 20_000;
const CHUNK_TOKENS: usize = 5;
const CHUNK_NAMES: usize = 7;
const BLOCK_BYTES: usize = 64;
/// A one bit and the length, which SHA-1 adds to a text.
const PADDING_BYTES: usize = 9;
/// Bytes of an event that is a pattern name, with its separator.
const NAME_EVENT_BYTES: usize = "['PTRN|0123456789012345678901234567890123456789'], ".len();

fn names(c: &mut Criterion) {
    let tokenizer = gpt2();
    let ids = tokenizer
        .encode(&sample_text())
        .expect("GPT-2 has ids for all text");
    let chunks: Vec<&[u32]> = ids
        .chunks_exact(CHUNK_TOKENS)
        .cycle()
        .take(N_NAMES)
        .collect();
    let vocabulary = tokenizer.vocabulary();
    let table =
        LiteralTable::new((0..vocabulary.len() as u32).map(|id| vocabulary.get(id).unwrap_or("")));
    let fragment = |id: &u32| table.fragment(*id).map_or(0, <[u8]>::len) + ", ".len();
    let token_blocks: usize = chunks
        .iter()
        .map(|chunk| n_blocks(chunk.iter().map(fragment).sum()))
        .sum();
    let mut scratch = NameScratch::default();
    let children: Vec<PatternName> = chunks
        .iter()
        .map(|chunk| name_of_ids(&table, chunk, &mut scratch).expect("ids of the vocabulary"))
        .collect();
    let name_blocks = N_NAMES * n_blocks(CHUNK_NAMES * NAME_EVENT_BYTES);

    let mut group = c.benchmark_group("names");
    group.throughput(hashed(token_blocks));
    group.bench_function("name_of_ids, 5 tokens", |b| {
        b.iter(|| {
            for chunk in &chunks {
                black_box(name_of_ids(&table, chunk, &mut scratch).expect("ids of the vocabulary"));
            }
        });
    });
    group.bench_function("limit of 5 tokens: sha1 compress", |b| {
        b.iter(|| compress(&chunks, token_blocks))
    });
    group.throughput(hashed(name_blocks));
    group.bench_function("name_of_names, 7 children", |b| {
        b.iter(|| {
            for start in 0..N_NAMES {
                // Neighbours overlap, so that every call has children of its own without more of
                // them.
                let start = start.min(N_NAMES - CHUNK_NAMES);
                black_box(name_of_names(
                    &children[start..start + CHUNK_NAMES],
                    &mut scratch,
                ));
            }
        });
    });
    group.bench_function("limit of 7 children: sha1 compress", |b| {
        b.iter(|| compress(&chunks, name_blocks))
    });
    group.finish();
}

fn hashed(n_blocks: usize) -> Throughput {
    Throughput::ElementsAndBytes {
        elements: N_NAMES as u64,
        bytes: (n_blocks * BLOCK_BYTES) as u64,
    }
}

/// Blocks of a text whose events, with a separator each, have this many bytes.
fn n_blocks(events_bytes: usize) -> usize {
    ("[".len() + events_bytes - ", ".len() + "]".len() + PADDING_BYTES).div_ceil(BLOCK_BYTES)
}

/// What no way of naming can avoid: the compression of that many blocks, shared evenly among the
/// names.
fn compress(names: &[&[u32]], n_blocks: usize) {
    let text = [[b'x'; BLOCK_BYTES]; 16];
    let (each, mut rest) = (n_blocks / names.len(), n_blocks % names.len());
    for _ in names {
        let blocks = each + usize::from(rest > 0);
        rest = rest.saturating_sub(1);
        let mut state = [
            0x6745_2301,
            0xefcd_ab89,
            0x98ba_dcfe,
            0x1032_5476,
            0xc3d2_e1f0,
        ];
        sha1::block_api::compress(&mut state, black_box(&text[..blocks]));
        black_box(state);
    }
}

criterion_group!(benches, names);
criterion_main!(benches);
