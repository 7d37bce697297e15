//! How fast a file of word vectors is read, and its cache opened.

use std::path::Path;
use std::time::Instant;

use kato_embeddings::Embeddings;
use kato_embeddings::options::OnBadLine;
use serde::Serialize;

use crate::error::PoetryError;

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
}

/// Reads all of a file of word vectors with so many threads, and takes the time.
///
/// # Errors
///
/// When the file cannot be read.
pub fn vector_speed(path: &Path, n_threads: usize) -> Result<VectorSpeed, PoetryError> {
    let n_bytes = std::fs::metadata(path)
        .map_err(PoetryError::file("read", path))?
        .len();
    let begun = Instant::now();
    let builder = Embeddings::builder(path).on_bad_line(OnBadLine::Skip);
    let embeddings = builder.with_workers(n_threads).open()?;
    Ok(VectorSpeed {
        n_threads,
        n_words: embeddings.len(),
        dims: embeddings.dims(),
        mb_per_s: n_bytes as f64 / 1e6 / begun.elapsed().as_secs_f64(),
    })
}
