//! Distances with the names of their samples.

use std::path::Path;

use crate::error::UnifracError;
use crate::{input, output};

/// Distances of all pairs of samples: symmetric, with zeros on the diagonal.
#[derive(Debug, Clone, PartialEq)]
pub struct DistanceMatrix {
    ids: Vec<String>,
    condensed: Vec<f64>,
}

/// Distances of a few samples to all samples, themselves included.
#[derive(Debug, Clone, PartialEq)]
pub struct DistanceRows {
    row_ids: Vec<String>,
    ids: Vec<String>,
    values: Vec<f64>,
}

impl DistanceMatrix {
    pub(crate) fn new(ids: Vec<String>, condensed: Vec<f64>) -> Self {
        Self { ids, condensed }
    }

    /// Creates a matrix from names and the upper triangle without the diagonal, row behind row.
    ///
    /// # Errors
    ///
    /// There are not n·(n − 1)/2 distances, or one is negative or not finite.
    pub fn from_condensed(ids: Vec<String>, condensed: Vec<f64>) -> Result<Self, UnifracError> {
        let n_pairs = ids.len() * ids.len().saturating_sub(1) / 2;
        let are_distances = condensed.iter().all(|d| d.is_finite() && *d >= 0.0);
        if condensed.len() != n_pairs || !are_distances {
            return Err(UnifracError::InvalidSetting {
                setting: "condensed",
                reason: "give one distance for each pair of samples, 0 or more",
            });
        }
        Ok(Self { ids, condensed })
    }

    /// Reads a matrix from a file, in the form that its name ends in: those of
    /// [`write`](Self::write), of `ssu` (`.h5`) and of scikit-bio and QIIME (`.tsv`, `.txt`; `.csv`
    /// with commas). Beside `.npy`, a file that ends in `.ids.txt` instead has the names.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or holds no matrix of distances: it is not symmetric to a millionth
    /// of its greatest, a distance is negative or not finite, or a name stands in it twice.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, UnifracError> {
        input::read(path.as_ref())
    }

    /// Returns the matrix of some samples, by their numbers, in the order given.
    ///
    /// # Panics
    ///
    /// There is no such sample.
    #[must_use]
    pub fn select(&self, samples: &[usize]) -> Self {
        let ids = samples.iter().map(|&i| self.ids[i].clone()).collect();
        let rows = samples.iter().enumerate();
        let condensed = rows
            .flat_map(|(at, &i)| samples[at + 1..].iter().map(move |&j| self.get(i, j)))
            .collect();
        Self { ids, condensed }
    }

    /// Returns the names of the samples, in the order of rows and columns.
    #[must_use]
    pub fn sample_ids(&self) -> &[String] {
        &self.ids
    }

    /// Returns the number of samples.
    #[must_use]
    pub fn n_samples(&self) -> usize {
        self.ids.len()
    }

    /// Returns the distance of two samples, by their numbers.
    ///
    /// # Panics
    ///
    /// There is no such sample.
    #[must_use]
    pub fn get(&self, i: usize, j: usize) -> f64 {
        let n = self.n_samples();
        assert!(i < n && j < n, "sample {} of {n}", i.max(j));
        let (row, column) = (i.min(j), i.max(j));
        if row == column {
            return 0.0;
        }
        self.condensed[row_start(n, row) + column - row - 1]
    }

    /// Returns the upper triangle without the diagonal, row behind row, as SciPy's `squareform`
    /// takes it; n·(n − 1)/2 distances.
    #[must_use]
    pub fn condensed(&self) -> &[f64] {
        &self.condensed
    }

    /// Returns a row of the whole matrix.
    pub(crate) fn row(&self, i: usize) -> impl Iterator<Item = f64> {
        let n = self.n_samples();
        let before = (0..i).map(move |j| self.condensed[row_start(n, j) + i - j - 1]);
        let start = row_start(n, i);
        let behind = self.condensed[start..start + n - 1 - i].iter().copied();
        before.chain([0.0]).chain(behind)
    }

    /// Returns the whole matrix, row behind row.
    pub(crate) fn square(&self) -> impl Iterator<Item = f64> {
        (0..self.n_samples()).flat_map(|i| self.row(i))
    }

    /// Writes the matrix to a file, in the form that its name ends in.
    ///
    /// - `.npy`: n × n numbers of 64 bits for NumPy, which has no names; they go into a file beside
    ///   it, one a line, whose name ends in `.ids.txt` instead.
    /// - `.h5`: data sets `matrix` (n × n) and `order` (names), in the form of unifrac-binaries. The
    ///   file is made in memory, which takes twice its size.
    /// - `.tsv`: a line of names, then a line for each sample, in full precision.
    ///
    /// The file appears whole or not at all, and replaces one of its name.
    ///
    /// # Errors
    ///
    /// The name ends otherwise, or the file cannot be written.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), UnifracError> {
        output::write(self, path.as_ref())
    }
}

impl DistanceRows {
    pub(crate) fn new(row_ids: Vec<String>, ids: Vec<String>, values: Vec<f64>) -> Self {
        Self {
            row_ids,
            ids,
            values,
        }
    }

    /// Returns the names of the samples asked for, in the order asked for.
    #[must_use]
    pub fn row_ids(&self) -> &[String] {
        &self.row_ids
    }

    /// Returns the names of all samples, in the order of columns.
    #[must_use]
    pub fn sample_ids(&self) -> &[String] {
        &self.ids
    }

    /// Returns the distances of a sample asked for to all samples.
    ///
    /// # Panics
    ///
    /// There is no such row.
    #[must_use]
    pub fn row(&self, row: usize) -> &[f64] {
        assert!(
            row < self.row_ids.len(),
            "row {row} of {}",
            self.row_ids.len()
        );
        &self.values[row * self.ids.len()..(row + 1) * self.ids.len()]
    }
}

/// Where a row of the upper triangle begins.
const fn row_start(n: usize, row: usize) -> usize {
    row * (2 * n - row - 1) / 2
}
