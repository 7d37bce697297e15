//! Measures how long it takes to open word vectors: from text, from the cache, and beside it to
//! read the cache's bytes.
//!
//! ```text
//! cargo run --profile dist -p kato-benches --features programs --bin embeddings_speed -- --make vectors.txt
//! cargo run --profile dist -p kato-benches --features programs --bin embeddings_speed -- vectors.txt
//! ```
//!
//! Prints one JSON object. `benches/compare/embeddings.sh` runs it beside Python;
//! `docs/embeddings.md` has the results.
#![expect(clippy::print_stdout, reason = "a program reports to its user")]

use std::fs::File;
use std::io::{BufWriter, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use clap::Parser;
use kato_embeddings::Embeddings;
use kato_embeddings::report::Origin;
use serde_json::json;

/// Measure opening word vectors.
#[derive(Debug, Parser)]
struct Args {
    /// Text of vectors
    file: PathBuf,
    /// Write the text instead of measuring
    #[arg(long)]
    make: bool,
    /// Words of the text to write
    #[arg(long, default_value_t = 400_000)]
    words: u64,
    /// Numbers of a vector to write
    #[arg(long, default_value_t = 100)]
    dims: u64,
    /// Threads [default: as many as the processor runs at once]
    #[arg(long)]
    workers: Option<usize>,
}

fn main() -> Result<()> {
    let args = Args::parse();
    if args.make {
        let mut file = BufWriter::new(File::create(&args.file)?);
        kato_benches::write_glove(args.words, args.dims, &mut file)?;
        return Ok(file.flush()?);
    }
    // On the disk of the text, not on a temporary one, which may be memory.
    let folder = tempfile::tempdir_in(args.file.parent().unwrap_or(Path::new(".")))?;
    let cache = folder.path().join("cache");
    let builder = || {
        let builder = Embeddings::builder(&args.file);
        match args.workers {
            Some(workers) => builder.with_workers(workers),
            None => builder,
        }
    };
    let (parse_s, embeddings) = timed(|| builder().open())?;
    // Compared with Python's sum, to show that both have read the same numbers.
    let sum: f64 = embeddings.matrix().iter().map(|&x| f64::from(x)).sum();
    let (words, dims, bytes) = (
        embeddings.len(),
        embeddings.dims(),
        embeddings.report().bytes,
    );
    // Otherwise the peak memory would be that of two texts.
    drop(embeddings);
    let (parse_and_cache_s, _) = timed(|| builder().with_cache(&cache).open())?;
    // Everything is in the page cache by now: this is the least that opening the cache could take.
    let (read_s, cache_bytes) = timed(|| read(&cache))?;
    let (cached_s, cached) = timed(|| builder().with_cache(&cache).open())?;
    ensure!(
        cached.report().origin == Origin::Cache,
        "the cache was not used"
    );
    let word = cached.word(words / 2).context("the text has words")?;
    let (nearest_s, nearest) = timed(|| cached.nearest_to(word, 10))?;
    let figures = json!({
        "words": words,
        "dims": dims,
        "bytes": bytes,
        "sum": sum,
        "parse_s": parse_s,
        "parse_mb_per_s": bytes as f64 / parse_s / 1e6,
        "parse_and_write_cache_s": parse_and_cache_s,
        "cache_bytes": cache_bytes,
        "cached_open_s": cached_s,
        "read_cache_bytes_s": read_s,
        "nearest_s": nearest_s,
        "nearest_similarity": nearest[0].similarity,
        "peak_resident": kato_probe::process::peak_bytes(),
    });
    println!("{figures}");
    Ok(())
}

/// Does some work, and returns how many seconds it took as well.
fn timed<T, E>(work: impl FnOnce() -> std::result::Result<T, E>) -> Result<(f64, T)>
where
    anyhow::Error: From<E>,
{
    let started = Instant::now();
    let done = work()?;
    Ok((started.elapsed().as_secs_f64(), done))
}

/// Reads a file from front to back into one small buffer: the least that any use of its bytes
/// costs.
fn read(path: &Path) -> std::io::Result<u64> {
    let mut file = File::open(path)?;
    let mut buffer = vec![0; 1 << 20];
    let mut bytes = 0;
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(bytes),
            read => bytes += read as u64,
        }
    }
}
