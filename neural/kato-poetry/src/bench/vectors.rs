//! How fast a file of word vectors is read, and its cache opened.

use std::path::Path;
use std::time::Instant;

use kato_embeddings::Embeddings;
use kato_embeddings::options::OnBadLine;
use kato_neural::run::{RunError, processor_seconds};
use serde::Serialize;

use crate::error::PoetryError;
use crate::vectors::reading_threads;

/// How fast a file of word vectors is read.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct VectorSpeed {
    /// Threads that read.
    pub n_threads: usize,
    /// Words of the file.
    pub n_words: usize,
    /// Numbers of a vector.
    pub dims: usize,
    /// Megabytes (10⁶ bytes) of text a second.
    pub mb_per_s: f64,
    /// Megabytes a second of processor time, all threads together; `None` where the system does not
    /// tell it, or the file is too small to measure.
    pub mb_per_processor_s: Option<f64>,
}

/// Reads all of a file of word vectors with so many threads, and takes the time.
///
/// # Errors
///
/// When the file cannot be read.
pub fn vector_speed(path: &Path, n_threads: usize) -> Result<VectorSpeed, PoetryError> {
    let n_bytes = std::fs::metadata(path)
        .map_err(RunError::file("read", path))?
        .len();
    let (begun, processor) = (Instant::now(), processor_seconds());
    let builder = Embeddings::builder(path).on_bad_line(OnBadLine::Skip);
    let embeddings = builder.with_workers(n_threads).open()?;
    let (wall, megabytes) = (begun.elapsed().as_secs_f64(), n_bytes as f64 / 1e6);
    let processor = processor
        .zip(processor_seconds())
        .map(|(before, after)| after - before);
    Ok(VectorSpeed {
        n_threads,
        n_words: embeddings.len(),
        dims: embeddings.dims(),
        mb_per_s: megabytes / wall,
        mb_per_processor_s: processor.filter(|s| *s > 0.0).map(|s| megabytes / s),
    })
}

/// Writes the cache of a file of word vectors, opens it so many times but at least 20, and returns the
/// fewest milliseconds that an opening took.
///
/// # Errors
///
/// When the file cannot be read, or there is no room for its cache.
pub fn cache_opening_ms(path: &Path, n_rounds: usize) -> Result<f64, PoetryError> {
    let folder = tempfile::tempdir().map_err(RunError::file("create a folder for", path))?;
    let cache = folder.path().join("vectors.cache");
    let open = || {
        let builder = Embeddings::builder(path).on_bad_line(OnBadLine::Skip);
        let builder = builder.with_workers(reading_threads());
        builder.with_cache(&cache).open()
    };
    // The first opening writes it.
    open()?;
    let mut least = f64::INFINITY;
    // Many, as an opening is shorter than the turns that others have on a busy machine.
    for _ in 0..n_rounds.max(20) {
        let begun = Instant::now();
        let embeddings = open()?;
        least = least.min(begun.elapsed().as_secs_f64() * 1e3);
        drop(embeddings);
    }
    Ok(least)
}
