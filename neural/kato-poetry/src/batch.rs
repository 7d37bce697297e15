//! Chunks as rows of one length, with their words' vectors.

use std::ops::Range;

use crate::chunks::Chunk;
use crate::tokens::Special;
use crate::vectors::WordVectors;

/// Chunks side by side, each padded behind its end to the length of the longest.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Batch {
    /// Vectors, `n_rows × n_steps × dims`; zeros behind a chunk's end.
    pub vectors: Vec<f32>,
    /// Numbers of the words, `n_rows × n_steps`; 0 behind a chunk's end.
    pub ids: Vec<u32>,
    /// Tokens of each chunk.
    pub lengths: Vec<usize>,
    /// Tokens of the longest chunk.
    pub n_steps: usize,
    /// Numbers of a vector.
    pub dims: usize,
}

impl Batch {
    /// Puts chunks side by side, of each at most `max_length` tokens.
    #[must_use]
    pub fn new<'a>(
        chunks: impl IntoIterator<Item = &'a Chunk>,
        words: &WordVectors,
        max_length: usize,
    ) -> Self {
        let cut = |chunk: &'a Chunk| &chunk.ids[..chunk.ids.len().min(max_length)];
        let rows: Vec<&[u32]> = chunks.into_iter().map(cut).collect();
        let n_steps = rows.iter().map(|ids| ids.len()).max().unwrap_or(0);
        let dims = words.dims();
        let mut vectors = vec![0.0; rows.len() * n_steps * dims];
        let mut numbers = vec![Special::Pad.id(); rows.len() * n_steps];
        for (row, ids) in rows.iter().enumerate() {
            numbers[row * n_steps..][..ids.len()].copy_from_slice(ids);
            let places = vectors[row * n_steps * dims..].chunks_exact_mut(dims);
            for (place, id) in places.zip(ids.iter()) {
                place.copy_from_slice(words.vector(*id));
            }
        }
        Self {
            vectors,
            ids: numbers,
            lengths: rows.iter().map(|ids| ids.len()).collect(),
            n_steps,
            dims,
        }
    }

    /// Returns some of the chunks, cut to the longest of them.
    #[must_use]
    pub(crate) fn part(&self, rows: Range<usize>) -> Self {
        let lengths = self.lengths[rows.clone()].to_vec();
        let n_steps = lengths.iter().copied().max().unwrap_or(0);
        let (mut vectors, mut ids) = (Vec::new(), Vec::new());
        for row in rows {
            let first = row * self.n_steps;
            ids.extend_from_slice(&self.ids[first..first + n_steps]);
            let numbers = first * self.dims..(first + n_steps) * self.dims;
            vectors.extend_from_slice(&self.vectors[numbers]);
        }
        Self {
            vectors,
            ids,
            lengths,
            n_steps,
            dims: self.dims,
        }
    }

    /// Returns the number of chunks.
    #[must_use]
    pub fn n_rows(&self) -> usize {
        self.lengths.len()
    }

    /// Returns the number of tokens, padding left out.
    #[must_use]
    pub fn n_tokens(&self) -> usize {
        self.lengths.iter().sum()
    }

    /// Returns 1 for every token and 0 for padding, `n_rows × n_steps`.
    #[must_use]
    pub fn mask(&self) -> Vec<f32> {
        let rows = self.lengths.iter();
        rows.flat_map(|length| {
            (0..self.n_steps).map(move |step| f32::from(u8::from(step < *length)))
        })
        .collect()
    }

    /// Returns the vectors of a chunk's tokens.
    ///
    /// # Panics
    ///
    /// When there is no such row.
    #[must_use]
    pub fn row<'a>(&self, row: usize, vectors: &'a [f32]) -> &'a [f32] {
        let start = row * self.n_steps * self.dims;
        &vectors[start..start + self.lengths[row] * self.dims]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_chunks_are_padded_and_long_ones_cut() {
        let words = WordVectors::from_rows(1, vec![0.0, 1.0, 2.0, 3.0]);
        let chunk = |ids: &[u32]| Chunk {
            poem: 0,
            start: 0,
            ids: ids.to_vec(),
        };
        let chunks = [chunk(&[1, 2, 3]), chunk(&[3])];
        let batch = Batch::new(&chunks, &words, 2);
        assert_eq!((batch.n_rows(), batch.n_steps, batch.n_tokens()), (2, 2, 3));
        assert_eq!(batch.vectors, [1.0, 2.0, 3.0, 0.0]);
        assert_eq!(batch.ids, [1, 2, 3, 0]);
        assert_eq!(batch.mask(), [1.0, 1.0, 1.0, 0.0]);
        assert_eq!(batch.row(1, &batch.vectors), [3.0]);
        let whole = Batch::new(&chunks, &words, usize::MAX);
        assert_eq!(whole.n_steps, 3);
        // A part is what its chunks alone would be.
        for at in 0..2 {
            let alone = Batch::new(&chunks[at..=at], &words, usize::MAX);
            assert_eq!(whole.part(at..at + 1), alone);
        }
    }
}
