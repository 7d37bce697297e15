//! Reads the vectors of a vocabulary from a text of vectors.

use std::path::Path;

use kato_embeddings::Embeddings;
use kato_embeddings::options::OnBadLine;
use kato_embeddings::report::BadLine;

use super::{Normal, UnknownWords, VectorOptions, VectorReport, WordVectors, seed_of};
use crate::error::PoetryError;
use crate::tokens::Special;
use crate::vocabulary::PoemVocabulary;

/// Words without a vector that an error names.
const N_EXAMPLES: usize = 8;

/// Threads that read a file of vectors at most: what its reader takes.
const MAX_THREADS: usize = 1024;

/// Returns how many threads read a file of vectors: as many as compute.
#[must_use]
pub fn reading_threads() -> usize {
    rayon::current_num_threads().min(MAX_THREADS)
}

/// Reads the vectors of the words of a vocabulary; a word that the file lacks is looked for in lower
/// case, and else treated as the options say.
pub(super) fn read(
    path: &Path,
    vocabulary: &PoemVocabulary,
    options: &VectorOptions,
) -> Result<(WordVectors, VectorReport), PoetryError> {
    let words = &vocabulary.words()[Special::ALL.len()..];
    let lower: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
    // Only rows that are needed are parsed. GloVe's own files have lines that give no vector.
    let embeddings = Embeddings::builder(path)
        .with_vocabulary(words.iter().chain(&lower))
        .on_bad_line(OnBadLine::Skip)
        .with_workers(reading_threads())
        .open()?;
    let found: Vec<Option<&[f32]>> = words
        .iter()
        .zip(&lower)
        .map(|(word, lower)| embeddings.get(word).or_else(|| embeddings.get(lower)))
        .collect();
    let bad_lines = &embeddings.report().bad_lines;
    let report = report(path, vocabulary, &found, bad_lines, options)?;

    let fill = Fill::new(&found, embeddings.dims(), options);
    let mut matrix = vec![0.0; embeddings.dims()];
    for special in &Special::ALL[1..] {
        // Zeros and means would make all breaks one.
        matrix.extend(fill.random(special.name()));
    }
    for (word, vector) in words.iter().zip(&found) {
        match vector {
            Some(vector) => matrix.extend_from_slice(vector),
            None => matrix.extend(fill.vector(word)),
        }
    }
    Ok((WordVectors::from_rows(embeddings.dims(), matrix), report))
}

/// Counts the words without a vector, and refuses too many.
fn report(
    path: &Path,
    vocabulary: &PoemVocabulary,
    found: &[Option<&[f32]>],
    bad_lines: &[BadLine],
    options: &VectorOptions,
) -> Result<VectorReport, PoetryError> {
    let n_specials = Special::ALL.len();
    let words = vocabulary.words()[n_specials..]
        .iter()
        .zip(&vocabulary.counts()[n_specials..]);
    let missing: Vec<(&String, u64)> = words
        .zip(found)
        .filter(|(_, vector)| vector.is_none())
        .map(|((word, count), _)| (word, *count))
        .collect();
    let n_tokens: u64 = vocabulary.counts()[n_specials..].iter().sum();
    let n_missing_tokens: u64 = missing.iter().map(|(_, count)| count).sum();
    let missing_share = n_missing_tokens as f64 / n_tokens.max(1) as f64;
    // Without a single vector there is nothing to take a mean of.
    if missing_share > options.max_unknown_share || missing.len() == found.len() {
        let examples = missing
            .iter()
            .take(N_EXAMPLES)
            .map(|(word, _)| format!("“{word}”"));
        return Err(PoetryError::UnknownWords {
            path: path.to_owned(),
            n_missing: missing.len(),
            n_words: found.len(),
            percent: missing_share * 100.0,
            examples: examples.collect(),
        });
    }
    Ok(VectorReport {
        origin: path.display().to_string(),
        n_words: found.len(),
        n_missing: missing.len(),
        missing_share,
        n_bad_lines: bad_lines.len(),
        first_bad_line: bad_lines.first().map(ToString::to_string),
    })
}

/// Vectors for words that have none.
struct Fill {
    mean: Vec<f32>,
    /// Mean and standard deviation of all numbers of the known vectors.
    moments: (f64, f64),
    options: VectorOptions,
}

impl Fill {
    /// Measures the known vectors.
    fn new(found: &[Option<&[f32]>], dims: usize, options: &VectorOptions) -> Self {
        let mut sums = vec![0.0_f64; dims];
        let mut squares = 0.0;
        for vector in found.iter().flatten() {
            for (sum, value) in sums.iter_mut().zip(*vector) {
                *sum += f64::from(*value);
                squares += f64::from(*value).powi(2);
            }
        }
        let n_vectors = found.iter().flatten().count().max(1) as f64;
        let n_values = n_vectors * dims as f64;
        let mean = sums.iter().sum::<f64>() / n_values;
        let deviation = (squares / n_values - mean * mean).max(0.0).sqrt();
        Self {
            mean: sums.iter().map(|sum| (sum / n_vectors) as f32).collect(),
            moments: (mean, deviation),
            options: options.clone(),
        }
    }

    /// Returns the vector of a word that the file lacks.
    fn vector(&self, word: &str) -> Vec<f32> {
        match self.options.unknown {
            UnknownWords::RandomNormal => self.random(word),
            UnknownWords::Zero => vec![0.0; self.mean.len()],
            UnknownWords::Mean => self.mean.clone(),
        }
    }

    /// Draws a vector for a word, as a function of seed and word.
    fn random(&self, word: &str) -> Vec<f32> {
        let mut normal = Normal::from_seed(seed_of(self.options.seed, word));
        let (mean, deviation) = self.moments;
        let draws = self
            .mean
            .iter()
            .map(|_| (mean + deviation * normal.draw()) as f32);
        draws.collect()
    }
}
