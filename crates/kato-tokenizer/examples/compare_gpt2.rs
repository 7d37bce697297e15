//! Compares the speed of GPT-2 as built in with that of the engine of `huggingface`, which reads
//! the same tokenizer from its `tokenizer.json`: the best of five rounds each, by turns, over
//! pieces of about a paragraph of one text after the other. `cargo run --profile dist -p kato-tokenizer --features
//! huggingface --example compare_gpt2 -- tokenizer.json FILE...`

use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use kato_tokenizer::{HfTokenizer, Tokenizer, gpt2};

/// About one paragraph: what the learner tokenizes at once.
const PIECE_BYTES: usize = 500;
/// Text of a round, so that short files are read more than once.
const ROUND_BYTES: usize = 40_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [definition, files @ ..] = &arguments[..] else {
        return Err("usage: compare_gpt2 TOKENIZER_JSON FILE...".into());
    };
    let (built_in, from_json) = (
        gpt2(),
        HfTokenizer::from_file("gpt2", Path::new(definition))?,
    );
    for file in files {
        let text = std::fs::read_to_string(file)?;
        let pieces = pieces(&text);
        let times = 1 + ROUND_BYTES / text.len().max(1);
        let mut best = [Duration::MAX; 2];
        for _ in 0..5 {
            best[0] = best[0].min(round(&built_in, &pieces, times)?);
            best[1] = best[1].min(round(&from_json, &pieces, times)?);
        }
        let [built_in, engine] =
            best.map(|best| (text.len() * times) as f64 / best.as_secs_f64() / 1e6);
        let ratio = built_in / engine;
        let out = std::io::stdout();
        writeln!(
            out.lock(),
            "{file}: {built_in:.0} MB/s built in, {engine:.0} MB/s by the engine, {ratio:.2} times as fast"
        )?;
    }
    Ok(())
}

/// Returns the time in which a tokenizer encodes all pieces so many times.
fn round(
    tokenizer: &dyn Tokenizer,
    pieces: &[&str],
    times: usize,
) -> Result<Duration, Box<dyn Error>> {
    let mut ids = Vec::new();
    let start = Instant::now();
    for piece in (0..times).flat_map(|_| pieces) {
        ids.clear();
        tokenizer.encode_into(piece, &mut ids)?;
    }
    Ok(start.elapsed())
}

/// Cuts a text before blanks.
fn pieces(mut text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    while text.len() > PIECE_BYTES {
        let from = text.ceil_char_boundary(PIECE_BYTES);
        let blank = text[from..].find(' ');
        let (piece, rest) = text.split_at(blank.map_or(text.len(), |blank| from + blank));
        pieces.push(piece);
        text = rest;
    }
    pieces.push(text);
    pieces
}
