//! Measures how fast documents come out of files: rows, bytes of text, seconds and peak memory for
//! each file.
//!
//! ```text
//! cargo run --profile dist -p kato-benches --features parquet,programs --bin load_speed -- corpus.parquet corpus.jsonl
//! ```
//!
//! Prints one JSON object a file. Peak memory is that of the process so far: measure one file a run
//! to have its own. `benches/compare/load_vs_datasets.py` reads the same files with Python's
//! `datasets`.
#![expect(clippy::print_stdout, reason = "a program reports to its user")]

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, Result};
use clap::Parser;
use kato_loader::{Order, StreamingDatasetLoader};
use serde_json::{Value, json};

/// Measure reading documents from files.
#[derive(Debug, Parser)]
struct Args {
    /// Files that the loader can read
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Field that holds the text
    #[arg(long, default_value = "text")]
    field: String,
    /// Bytes of text handed out at once
    #[arg(long, default_value_t = 512 << 10)]
    batch_bytes: usize,
    /// Threads that decode ahead; 0 reads on one thread
    #[arg(long, default_value_t = 0)]
    workers: usize,
    /// Reads in shuffled order
    #[arg(long, value_name = "SEED")]
    shuffle: Option<u64>,
}

fn main() -> Result<()> {
    let args = Args::parse();
    for file in &args.files {
        let figures = measure(file, &args)
            .with_context(|| format!("{} cannot be measured", file.display()))?;
        println!("{figures}");
    }
    Ok(())
}

/// Reads a file once.
fn measure(file: &Path, args: &Args) -> Result<Value> {
    let started = Instant::now();
    let mut loader = StreamingDatasetLoader::builder()
        .with_input(file)
        .with_text_field(&args.field)
        .with_workers(args.workers)
        .with_order(args.shuffle.map_or(Order::Sequential, Order::shuffled))
        .build()?;
    let (mut rows, mut bytes) = (0_u64, 0_u64);
    while let Some(batch) = loader.next_batch(args.batch_bytes)? {
        rows += batch.len() as u64;
        bytes += batch.text_bytes() as u64;
    }
    let seconds = started.elapsed().as_secs_f64();
    Ok(json!({
        "file": file.display().to_string(),
        "workers": args.workers,
        "shuffled": args.shuffle.is_some(),
        "rows": rows,
        "bytes": bytes,
        "seconds": seconds,
        "mb_per_s": bytes as f64 / 1e6 / seconds,
        "peak_resident": kato_probe::process::peak_bytes(),
    }))
}
