//! The largest singular values of a sparse matrix, by random projection.

use nalgebra::{DMatrix, DMatrixView, SymmetricEigen};
use rayon::prelude::*;

use super::Normal;

/// Columns beyond those asked for, which make the ones asked for exact.
const N_EXTRA: usize = 10;

/// Rounds that turn the projection towards the largest values. Two leave little to gain for the
/// slowly falling values of counts.
const N_ROUNDS: usize = 2;

/// Values below this share of the largest are rounding errors.
const NOTHING: f64 = 1e-7;

/// Parts that a sum over rows is cut into, whatever the number of threads.
const N_PARTS: usize = 32;

/// A sparse matrix by rows.
pub(super) struct Sparse {
    pub(super) offsets: Vec<usize>,
    pub(super) columns: Vec<u32>,
    pub(super) values: Vec<f32>,
}

/// A dense matrix by rows.
#[derive(Debug, Clone)]
pub(super) struct Dense {
    pub(super) n_columns: usize,
    pub(super) values: Vec<f64>,
}

/// Singular vectors of the left side as columns, with their values, the largest first.
#[derive(Debug)]
pub(super) struct Singular {
    pub(super) vectors: Dense,
    pub(super) values: Vec<f64>,
}

/// Returns at most `n_wanted` of the largest singular values of a square matrix, of which both forms
/// are given, and their left vectors. Fewer where the rank is smaller.
///
/// The result is a function of the seed, the same for any number of threads: rows are computed by
/// one thread each, and sums over rows in parts that are added in order.
///
/// Source: Halko, Martinsson and Tropp, "Finding structure with randomness", SIAM Review 53(2), 2011,
/// algorithms 4.4 and 5.1.
pub(super) fn largest(
    matrix: &Sparse,
    transposed: &Sparse,
    n_wanted: usize,
    seed: u64,
) -> Singular {
    let n_rows = matrix.n_rows();
    let n_columns = (n_wanted + N_EXTRA).min(n_rows);
    let mut normal = Normal::from_seed(seed);
    let values = (0..n_rows * n_columns).map(|_| normal.draw()).collect();
    let mut basis = matrix.times(&Dense { n_columns, values }).orthonormal();
    for _ in 0..N_ROUNDS {
        let other = transposed.times(&basis).orthonormal();
        basis = matrix.times(&other).orthonormal();
    }
    // Once more: what was nearly dependent is orthogonal only to a few digits after one pass.
    let basis = basis.orthonormal();
    let projected = transposed.times(&basis);
    // The squares of the values are the eigenvalues of the projection's products.
    let (squares, turns) = eigen(projected.products());
    let kept = squares
        .iter()
        .take(n_wanted)
        .take_while(|square| **square > squares[0] * NOTHING);
    let values: Vec<f64> = kept.map(|square| square.sqrt()).collect();
    let mut vectors = basis.times(&turns.columns(0, values.len()).into_owned());
    vectors.fix_signs();
    Singular { vectors, values }
}

/// Returns eigenvalues of a symmetric matrix, the largest first, and their vectors as columns.
fn eigen(matrix: DMatrix<f64>) -> (Vec<f64>, DMatrix<f64>) {
    let eigen = SymmetricEigen::new(matrix);
    let mut order: Vec<usize> = (0..eigen.eigenvalues.len()).collect();
    order.sort_by(|a, b| eigen.eigenvalues[*b].total_cmp(&eigen.eigenvalues[*a]));
    let values = order.iter().map(|at| eigen.eigenvalues[*at]).collect();
    (values, eigen.eigenvectors.select_columns(&order))
}

impl Sparse {
    /// Returns the number of rows.
    fn n_rows(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Returns the product with a dense matrix.
    fn times(&self, dense: &Dense) -> Dense {
        let n_columns = dense.n_columns;
        let mut values = vec![0.0; self.n_rows() * n_columns];
        let rows = values
            .par_chunks_mut(n_columns)
            .zip(self.offsets.par_windows(2));
        rows.for_each(|(row, ends)| {
            for at in ends[0]..ends[1] {
                let start = self.columns[at] as usize * n_columns;
                let factor = f64::from(self.values[at]);
                let other = &dense.values[start..start + n_columns];
                for (value, other) in row.iter_mut().zip(other) {
                    *value += factor * other;
                }
            }
        });
        Dense { n_columns, values }
    }
}

impl Dense {
    /// Returns a basis of the columns: orthogonal, of length 1, without those that depend on others.
    fn orthonormal(&self) -> Self {
        let (squares, turns) = eigen(self.products());
        let n_kept = squares
            .iter()
            .take_while(|square| **square > squares[0] * NOTHING)
            .count();
        let mut turns = turns.columns(0, n_kept).into_owned();
        for (mut column, square) in turns.column_iter_mut().zip(&squares) {
            column.scale_mut(1.0 / square.sqrt());
        }
        self.times(&turns)
    }

    /// Returns the products of all columns with each other.
    fn products(&self) -> DMatrix<f64> {
        let n = self.n_columns;
        // The parts depend on the number of rows alone.
        let part_rows = (self.values.len() / n.max(1)).div_ceil(N_PARTS).max(64);
        let parts = self.values.par_chunks(part_rows * n.max(1));
        let parts: Vec<DMatrix<f64>> = parts
            .map(|part| {
                // Rows of ours are columns of the library's.
                let part = DMatrixView::from_slice(part, n, part.len() / n);
                part * part.transpose()
            })
            .collect();
        parts
            .iter()
            .fold(DMatrix::zeros(n, n), |sum, part| sum + part)
    }

    /// Returns the product with a small matrix.
    fn times(&self, small: &DMatrix<f64>) -> Self {
        let (n, n_columns) = (self.n_columns, small.ncols());
        let flipped = small.transpose();
        let part_rows = 256;
        let mut values = vec![0.0; self.values.len() / n.max(1) * n_columns];
        if n_columns > 0 {
            let from = self.values.par_chunks(part_rows * n);
            let to = values.par_chunks_mut(part_rows * n_columns);
            from.zip(to).for_each(|(from, to)| {
                let from = DMatrixView::from_slice(from, n, from.len() / n);
                to.copy_from_slice((&flipped * from).as_slice());
            });
        }
        Self { n_columns, values }
    }

    /// Turns every column so that its largest number is positive: a sign is no information.
    fn fix_signs(&mut self) {
        let n = self.n_columns;
        for column in 0..n {
            let numbers = self.values.iter().skip(column).step_by(n);
            let largest = numbers.fold(0.0_f64, |a, b| if b.abs() > a.abs() { *b } else { a });
            if largest < 0.0 {
                self.values
                    .iter_mut()
                    .skip(column)
                    .step_by(n)
                    .for_each(|value| *value = -*value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A matrix of small rank with some order in it, both ways.
    fn sample(n: usize, rank: usize) -> (DMatrix<f64>, Sparse, Sparse) {
        let mut normal = Normal::from_seed(5);
        let mut draw = |rows, columns| DMatrix::from_fn(rows, columns, |_, _| normal.draw());
        let (left, right) = (draw(n, rank), draw(rank, n));
        // The values that the sparse form rounds to.
        let matrix = (left * right).map(|value| f64::from(value as f32));
        let transposed = sparse(&matrix.transpose());
        (matrix.clone(), sparse(&matrix), transposed)
    }

    fn sparse(matrix: &DMatrix<f64>) -> Sparse {
        let (n_rows, n_columns) = matrix.shape();
        let columns = (0..n_rows).flat_map(|_| 0..n_columns as u32).collect();
        let values = matrix
            .transpose()
            .iter()
            .map(|value| *value as f32)
            .collect();
        Sparse {
            offsets: (0..=n_rows).map(|row| row * n_columns).collect(),
            columns,
            values,
        }
    }

    #[test]
    fn values_and_vectors_are_those_of_the_whole_decomposition() {
        let (dense, matrix, transposed) = sample(60, 20);
        let found = largest(&matrix, &transposed, 30, 1);
        let whole = dense.clone().svd(true, false);
        let vectors = whole.u.expect("asked for");
        let mut order: Vec<usize> = (0..60).collect();
        order.sort_by(|a, b| whole.singular_values[*b].total_cmp(&whole.singular_values[*a]));
        // What comes after the rank is rounding: the sparse form has 24 bits.
        assert_eq!(found.values.len(), 20);
        for (index, at) in order.iter().take(20).enumerate() {
            let expected = whole.singular_values[*at];
            assert!(
                (found.values[index] / expected - 1.0).abs() < 1e-9,
                "value {index}"
            );
            let column = found.vectors.values.iter().skip(index).step_by(20);
            let product: f64 = column
                .zip(vectors.column(*at).iter())
                .map(|(a, b)| a * b)
                .sum();
            assert!(
                (product.abs() - 1.0).abs() < 1e-9,
                "vector {index}: {product}"
            );
        }
    }

    #[test]
    fn threads_change_no_bit() {
        let (_, matrix, transposed) = sample(150, 40);
        let with = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            pool.expect("threads")
                .install(|| largest(&matrix, &transposed, 12, 3))
        };
        let one = with(1);
        for threads in [2, 3, 7] {
            let more = with(threads);
            assert_eq!(one.values, more.values);
            assert_eq!(one.vectors.values, more.vectors.values);
        }
        assert_eq!(one.values.len(), 12);
    }
}
