//! Measures what batching costs, and what ordering by length saves: lines of a text file as batches
//! of 16,384 tokens, padding included.
//!
//! ```text
//! cargo run --profile dist -p kato-benches --features programs --bin token_batches -- PATH
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what it finds")]

use std::convert::Infallible;
use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use kato_loader::{LoadError, StreamingDatasetLoader, TextUnit};
use kato_token_batches::options::SequenceOrder;
use kato_token_batches::{TokenBatchOptions, TokenBatches};

/// Rounds of hashing a word: about what looking words up costs a fast subword tokenizer.
const ROUNDS: u32 = 12;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: token_batches PATH")?;

    for (order, window) in [
        (SequenceOrder::AsRead, 1_024),
        (SequenceOrder::ByLength, 256),
        (SequenceOrder::ByLength, 1_024),
        (SequenceOrder::ByLength, 4_096),
        (SequenceOrder::ByLength, 16_384),
    ] {
        let (mut tokens, mut cells, mut batches) = (0, 0, 0);
        let options = options().with_order(order).with_window_documents(window);
        for batch in TokenBatches::new(open(&path)?, options, words)? {
            let batch = batch?;
            tokens += batch.tokens.len();
            // A batch is a rectangle; what is not a token in it is padding.
            cells += batch.len() * batch.max_len();
            batches += 1;
        }
        let padding = 100.0 * (1.0 - tokens as f64 / cells as f64);
        println!("{order:?}, windows of {window}: {batches} batches, {padding:.1} % padding");
    }

    for n_workers in 0..=2 {
        let options = options().with_workers(n_workers);
        let trivial = rate(TokenBatches::new(open(&path)?, options.clone(), words)?)?;
        let working = rate(TokenBatches::new(open(&path)?, options, hashed)?)?;
        println!(
            "{n_workers} workers: {trivial:.1} M tokens/s, working encoder {working:.1} M tokens/s"
        );
    }
    let start = Instant::now();
    let mut n_tokens = 0;
    for document in open(&path)? {
        // Otherwise the compiler may leave out tokens that nobody looks at.
        n_tokens += black_box(words(&document?.text)?).len();
    }
    let rate = n_tokens as f64 / start.elapsed().as_secs_f64() / 1e6;
    println!("loader and trivial encoder alone: {rate:.1} M tokens/s");
    Ok(())
}

/// Opens the file, a document a line.
fn open(path: &str) -> Result<StreamingDatasetLoader, LoadError> {
    let builder = StreamingDatasetLoader::builder().with_input(path);
    builder.with_text_unit(TextUnit::Line).build()
}

/// Returns the options that all batches share.
fn options() -> TokenBatchOptions {
    TokenBatchOptions::new(16_384).with_max_sequence_tokens(1_024)
}

/// Returns millions of tokens a second.
fn rate(batches: TokenBatches) -> Result<f64, Box<dyn Error>> {
    let (start, mut n_tokens) = (Instant::now(), 0);
    for batch in batches {
        n_tokens += black_box(batch?).tokens.len();
    }
    Ok(n_tokens as f64 / start.elapsed().as_secs_f64() / 1e6)
}

/// Returns a token per word: its first letter.
fn words(text: &str) -> Result<Vec<u32>, Infallible> {
    let first = |word: &str| word.bytes().next().map_or(0, u32::from);
    Ok(text.split_ascii_whitespace().map(first).collect())
}

/// Returns a token per word: a hash that takes its time.
fn hashed(text: &str) -> Result<Vec<u32>, Infallible> {
    let step = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    let hash = |word: &str| (0..ROUNDS).fold(0, |hash, _| word.bytes().fold(hash, step));
    Ok(text.split_ascii_whitespace().map(hash).collect())
}
