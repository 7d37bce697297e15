//! Measures how long the head takes to say what comes next, how long it takes to build, and its
//! memory.
//!
//! ```sh
//! cargo run --profile dist -p kato-benches --features programs --bin head_latency -- --kb KB --text FILE
//! ```
//!
//! `KB` is a knowledge base that `train` made with GPT-2 tokens, `FILE` a text that it has not
//! seen, of which every line is a history of its own. A distribution is that over the whole
//! vocabulary after each of its tokens; a price is the probability of the token that comes, with
//! learning whom to trust. One thread; times are wall-clock.

#![expect(clippy::print_stdout, reason = "a program that prints a table")]

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::Parser;
use kato_head::{Head, HeadOptions, SymbolId, Weights, disk};
use kato_store::{EmbeddedStore, PatternStore};
use kato_tokenizer::Tokenizer;

/// Time the head of a knowledge base.
#[derive(Debug, Parser)]
struct Arguments {
    /// Directory of a trained knowledge base.
    #[arg(long)]
    kb: PathBuf,
    /// A text that it has not seen.
    #[arg(long)]
    text: PathBuf,
    /// Tokens that are asked for.
    #[arg(long, default_value_t = 2_000)]
    tokens: usize,
    /// Symbols of the longest n-grams.
    #[arg(long, default_value_t = 5)]
    order: usize,
    /// Ask the counts on the disk, which are written first if they are not there, and not those in memory.
    #[arg(long)]
    disk: bool,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let store = EmbeddedStore::open_read_only(&arguments.kb)?;
    let tokenizer = kato_tokenizer::gpt2();
    let text = std::fs::read_to_string(&arguments.text)?;
    let mut n_tokens = 0;
    let mut lines = Vec::new();
    for line in text.lines() {
        let tokens = tokenizer.encode(line)?;
        n_tokens += tokens.len();
        lines.push(tokens);
        if n_tokens >= arguments.tokens {
            break;
        }
    }
    println!(
        "| levels | patterns of node0 | n-grams | ready in | memory | distribution p50 | p90 | p99 | max | prices/s | bits |"
    );
    println!("|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
    let n_levels = store.nodes().len();
    if arguments.disk {
        disk::build(&store, &disk::CountsOptions::default())?;
    }
    // Those of one level alone are on no disk.
    let asked = if arguments.disk {
        vec![n_levels]
    } else {
        vec![1, n_levels]
    };
    for levels in asked {
        let options = HeadOptions::default()
            .with_order(arguments.order)
            .with_levels(levels);
        let began = Instant::now();
        let mut vocabulary = tokenizer.vocabulary().iter().map(|(_, token)| token);
        let head = match arguments.disk {
            true => disk::open(&store, Some(&mut vocabulary), options)?,
            false => Some(Head::from_store_with_vocabulary(
                &store, vocabulary, options,
            )?),
        };
        let head = head.context("the counts on the disk are others")?;
        let built = began.elapsed();
        let symbol = |&id: &u32| head.symbol(tokenizer.vocabulary().get(id)?);
        let lines: Vec<Vec<Option<SymbolId>>> = lines
            .iter()
            .map(|line| line.iter().map(symbol).collect())
            .collect();
        let times = distributions(&head, &lines);
        let (bits, took) = prices(&head, &lines);
        println!(
            "| {levels} | {} | {} | {:.3} s | {:.0} MB | {} | {} | {} | {} | {:.0} | {:.3} |",
            store.count_patterns(0)?,
            head.n_ngrams(),
            built.as_secs_f64(),
            head.heap_bytes() as f64 / 1e6,
            milliseconds(quantile(&times, 0.5)),
            milliseconds(quantile(&times, 0.9)),
            milliseconds(quantile(&times, 0.99)),
            milliseconds(quantile(&times, 1.0)),
            times.len() as f64 / took.as_secs_f64(),
            bits / times.len() as f64,
        );
    }
    Ok(())
}

/// Returns how long each distribution took, the shortest time first.
fn distributions(head: &Head, lines: &[Vec<Option<SymbolId>>]) -> Vec<Duration> {
    let weights = Weights::new();
    let mut times = Vec::new();
    let mut sum = 0.0;
    for line in lines {
        let mut history = head.history();
        for &symbol in line {
            let began = Instant::now();
            let distribution = head.next(&history, &weights, None).distribution();
            times.push(began.elapsed());
            // Looked at, so that it has to be computed.
            sum += distribution.as_slice().first().copied().unwrap_or(0.0);
            head.read_id(&mut history, symbol);
        }
    }
    assert!(sum.is_finite(), "probabilities are numbers");
    times.sort_unstable();
    times
}

/// Returns the bits of all tokens, and how long it took to find them.
fn prices(head: &Head, lines: &[Vec<Option<SymbolId>>]) -> (f64, Duration) {
    let began = Instant::now();
    let (mut weights, mut bits) = (Weights::new(), 0.0);
    for line in lines {
        let mut scorer = head.scorer(weights);
        scorer.score_all(line, |price| bits -= price.unwrap_or(f64::NAN).log2());
        weights = scorer.into_weights();
    }
    (bits, began.elapsed())
}

/// Returns the smallest time that this share of the times, which are sorted, does not exceed.
fn quantile(times: &[Duration], share: f64) -> Duration {
    let rank = (times.len() as f64 * share).ceil() as usize;
    let time = times.get(rank.saturating_sub(1));
    time.copied().unwrap_or_default()
}

fn milliseconds(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}
