//! Word vectors: read from a file, or made from the text.

mod cooccurrence;
mod file;
mod made;
mod normal;
mod options;
mod svd;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::error::PoetryError;
use crate::tokens::Special;
use crate::vocabulary::PoemVocabulary;

pub use file::reading_threads;
pub(crate) use normal::{Normal, seed_of};
pub use options::{UnknownWords, VectorOptions};

/// How vectors were come by.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct VectorReport {
    /// Where they come from, in words.
    pub origin: String,
    /// Words of the vocabulary, special tokens left out.
    pub n_words: usize,
    /// Words of these that had no vector.
    pub n_missing: usize,
    /// Share of the text's words that these stand for.
    pub missing_share: f64,
    /// Lines of the file that gave no vector: passed over.
    #[serde(default)]
    pub n_bad_lines: usize,
    /// The first of these, and what is wrong with it.
    #[serde(default)]
    pub first_bad_line: Option<String>,
}

/// A vector for every word of a vocabulary. That of [`Special::Pad`] is zeros.
#[derive(Debug, Clone, PartialEq)]
pub struct WordVectors {
    dims: usize,
    matrix: Vec<f32>,
    norms: Vec<f32>,
}

impl WordVectors {
    /// Creates vectors from rows, word after word.
    ///
    /// # Panics
    ///
    /// When the numbers are no whole rows: a mistake of the caller.
    #[must_use]
    pub fn from_rows(dims: usize, matrix: Vec<f32>) -> Self {
        assert!(
            dims > 0 && matrix.len().is_multiple_of(dims),
            "{} numbers are no rows of {dims}",
            matrix.len()
        );
        let norms = matrix
            .chunks_exact(dims)
            .map(|row| dot(row, row).sqrt())
            .collect();
        Self {
            dims,
            matrix,
            norms,
        }
    }

    /// Returns the vectors of a vocabulary, read or made as the options say. What is made depends on
    /// `train` alone, the tokens of the poems for training; the same for any number of threads.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or lacks too many words, or the text is too small to make any.
    pub fn prepare(
        vocabulary: &PoemVocabulary,
        train: &[&[u32]],
        options: &VectorOptions,
    ) -> Result<(Self, VectorReport), PoetryError> {
        options.check()?;
        match &options.file {
            Some(path) => file::read(path, vocabulary, options),
            None => made::make(vocabulary, train, options),
        }
    }

    /// Returns the numbers of a vector.
    #[must_use]
    pub fn dims(&self) -> usize {
        self.dims
    }

    /// Returns the number of words.
    #[must_use]
    pub fn len(&self) -> usize {
        self.norms.len()
    }

    /// Returns whether there is no word.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.norms.is_empty()
    }

    /// Returns all rows, word after word.
    #[must_use]
    pub fn matrix(&self) -> &[f32] {
        &self.matrix
    }

    /// Returns the vector of a word; one that is not there has that of the unknown word.
    ///
    /// # Panics
    ///
    /// When there are not even the special tokens.
    #[must_use]
    pub fn vector(&self, id: u32) -> &[f32] {
        let id = if (id as usize) < self.len() {
            id
        } else {
            Special::Unknown.id()
        };
        let start = id as usize * self.dims;
        &self.matrix[start..start + self.dims]
    }

    /// Returns the word whose vector is nearest to each row by cosine, with that cosine; of equals
    /// the first. [`Special::Pad`] is never nearest.
    ///
    /// # Panics
    ///
    /// When `rows` are no whole rows: a mistake of the caller.
    #[must_use]
    pub fn nearest(&self, rows: &[f32]) -> Vec<(u32, f32)> {
        assert!(
            rows.len().is_multiple_of(self.dims),
            "no rows of {}",
            self.dims
        );
        // Each row is searched by one thread alone, so threads decide nothing.
        let rows = rows.par_chunks_exact(self.dims);
        rows.map(|row| self.nearest_to_row(row)).collect()
    }

    /// Returns the word nearest to a row.
    fn nearest_to_row(&self, row: &[f32]) -> (u32, f32) {
        let norm = dot(row, row).sqrt();
        let words = self
            .matrix
            .chunks_exact(self.dims)
            .zip(&self.norms)
            .zip(0_u32..);
        let mut best = (Special::Unknown.id(), f32::NEG_INFINITY);
        for ((vector, vector_norm), id) in words.skip(1) {
            let scale = norm * vector_norm;
            // The cosine with nothing is none.
            let cosine = if scale > 0.0 {
                dot(row, vector) / scale
            } else {
                0.0
            };
            if cosine > best.1 {
                best = (id, cosine);
            }
        }
        best
    }
}

/// Returns the product of two vectors, summed in eight lanes: a fixed order that compilers turn into
/// wide instructions.
pub(crate) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut lanes = [0.0_f32; 8];
    let (a_eights, b_eights) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f32 = a_eights
        .remainder()
        .iter()
        .zip(b_eights.remainder())
        .map(|(a, b)| a * b)
        .sum();
    for (a, b) in a_eights.zip(b_eights) {
        for ((lane, a), b) in lanes.iter_mut().zip(a).zip(b) {
            *lane += a * b;
        }
    }
    lanes.iter().sum::<f32>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_the_one_of_the_largest_cosine() {
        // Pad, unknown and two words.
        let vectors = WordVectors::from_rows(2, vec![0.0, 0.0, -1.0, -1.0, 3.0, 0.0, 1.0, 1.0]);
        let nearest = vectors.nearest(&[1.0, 0.1, 0.1, 0.2, -5.0, -4.0, 0.0, 0.0]);
        let words: Vec<u32> = nearest.iter().map(|(word, _)| *word).collect();
        assert_eq!(words, [2, 3, 1, 1]);
        assert!((nearest[0].1 - 1.0 / 1.01_f32.sqrt()).abs() < 1e-6);
        assert_eq!(nearest[3].1, 0.0);
        assert_eq!(vectors.vector(99), vectors.vector(1));
    }

    #[test]
    fn products_have_all_their_terms() {
        let numbers: Vec<f32> = (1..=19_u8).map(f32::from).collect();
        assert_eq!(dot(&numbers, &numbers), 2470.0);
        assert_eq!(dot(&[], &[]), 0.0);
    }
}
