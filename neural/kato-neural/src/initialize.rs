//! Weights at the start, a function of a seed: Xavier, orthogonal, normal.

use burn::module::{Param, ParamId};
use burn::tensor::{Device, Tensor, TensorData};
use kato_random::SplitMix64;

/// Makes initial weights from one stream of random numbers.
///
/// The same seed and the same order of calls give the same bits, whatever the back end.
///
/// ```
/// use kato_neural::Initializer;
///
/// let mut first = Initializer::from_seed(1);
/// let mut second = Initializer::from_seed(1);
/// assert_eq!(first.xavier_uniform(3, 2, 1.0), second.xavier_uniform(3, 2, 1.0));
/// ```
#[derive(Debug, Clone)]
pub struct Initializer {
    generator: SplitMix64,
}

impl Initializer {
    /// Begins a stream.
    #[must_use]
    pub const fn from_seed(seed: u64) -> Self {
        Self {
            generator: SplitMix64::from_seed(seed),
        }
    }

    /// Returns a matrix of `n_out` rows and `n_in` columns, uniform in ± gain · √(6 / (in + out)).
    ///
    /// Source: Glorot and Bengio, "Understanding the difficulty of training deep feedforward neural
    /// networks", 2010.
    pub fn xavier_uniform(&mut self, n_out: usize, n_in: usize, gain: f64) -> Vec<f32> {
        let bound = gain * (6.0 / (n_in + n_out) as f64).sqrt();
        self.uniform(n_out * n_in, bound)
    }

    /// Returns `n` numbers uniform in ± `bound`.
    pub fn uniform(&mut self, n: usize, bound: f64) -> Vec<f32> {
        (0..n)
            .map(|_| ((2.0 * self.generator.unit() - 1.0) * bound) as f32)
            .collect()
    }

    /// Returns `n` normal numbers of mean 0 and the given standard deviation.
    pub fn normal(&mut self, n: usize, deviation: f64) -> Vec<f32> {
        (0..n)
            .map(|_| (self.standard_normal() * deviation) as f32)
            .collect()
    }

    /// Returns a matrix of `n_rows` rows and `n_columns` columns whose shorter side is orthonormal.
    ///
    /// Source: Saxe, McClelland and Ganguli, "Exact solutions to the nonlinear dynamics of learning
    /// in deep linear neural networks", 2014; by Gram and Schmidt, twice, on normal numbers.
    pub fn orthogonal(&mut self, n_rows: usize, n_columns: usize) -> Vec<f32> {
        let (n_vectors, length) = (n_rows.min(n_columns), n_rows.max(n_columns));
        let mut vectors: Vec<Vec<f32>> = Vec::with_capacity(n_vectors);
        while vectors.len() < n_vectors {
            let mut vector: Vec<f32> = (0..length).map(|_| self.standard_normal() as f32).collect();
            // Once would leave errors of some 1e-4 among hundreds of vectors; twice is enough.
            for _ in 0..2 {
                for earlier in &vectors {
                    let projection = dot(&vector, earlier);
                    for (entry, other) in vector.iter_mut().zip(earlier) {
                        *entry -= projection * other;
                    }
                }
            }
            let norm = dot(&vector, &vector).sqrt();
            // A vector that lies in the span of the others has no direction left: draw again.
            if norm > 1e-3 {
                vector.iter_mut().for_each(|entry| *entry /= norm);
                vectors.push(vector);
            }
        }
        // The vectors are rows then; else they are columns.
        if n_rows <= n_columns {
            return vectors.concat();
        }
        (0..n_rows * n_columns)
            // The vectors are columns: written row by row they are read across.
            .map(|at| vectors[at % n_columns][at / n_columns])
            .collect()
    }

    /// Box and Muller's transform, with functions that give the same bits everywhere.
    fn standard_normal(&mut self) -> f64 {
        // The logarithm of zero is avoided by the half-open interval's other end.
        let radius = (-2.0 * libm::log(1.0 - self.generator.unit())).sqrt();
        radius * libm::cos(core::f64::consts::TAU * self.generator.unit())
    }
}

/// Sums in eight lanes, which the compiler turns into vectors, and in an order that is always the
/// same.
fn dot(left: &[f32], right: &[f32]) -> f32 {
    let mut lanes = [0.0_f32; 8];
    let (left_blocks, left_rest) = left.as_chunks::<8>();
    let (right_blocks, right_rest) = right.as_chunks::<8>();
    for (left, right) in left_blocks.iter().zip(right_blocks) {
        for lane in 0..8 {
            lanes[lane] += left[lane] * right[lane];
        }
    }
    let rest: f32 = left_rest
        .iter()
        .zip(right_rest)
        .map(|(left, right)| left * right)
        .sum();
    lanes.iter().sum::<f32>() + rest
}

/// Makes a parameter of the given values.
///
/// # Panics
///
/// Panics if the shape does not hold as many entries as there are values.
#[must_use]
pub fn parameter<const D: usize>(
    values: Vec<f32>,
    shape: [usize; D],
    device: &Device,
) -> Param<Tensor<D>> {
    let tensor = Tensor::from_data(TensorData::new(values, shape), device);
    // A parameter of a device without gradients is a constant, as for judging.
    let tensor = if device.is_autodiff() {
        tensor.require_grad()
    } else {
        tensor
    };
    Param::initialized(ParamId::new(), tensor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orthogonal_vectors_are_orthonormal_on_the_shorter_side() {
        for (n_rows, n_columns) in [(5, 5), (12, 4), (4, 12), (96, 32)] {
            let matrix = Initializer::from_seed(3).orthogonal(n_rows, n_columns);
            let n = n_rows.min(n_columns);
            let entry = |vector: usize, at: usize| {
                f64::from(if n_rows <= n_columns {
                    matrix[vector * n_columns + at]
                } else {
                    matrix[at * n_columns + vector]
                })
            };
            for one in 0..n {
                for other in 0..n {
                    let product: f64 = (0..n_rows.max(n_columns))
                        .map(|at| entry(one, at) * entry(other, at))
                        .sum();
                    let expected = f64::from(u8::from(one == other));
                    assert!((product - expected).abs() < 1e-5, "{one} {other} {product}");
                }
            }
        }
    }

    #[test]
    fn statistics_are_those_of_the_definitions() {
        let mut initializer = Initializer::from_seed(5);
        let normal = initializer.normal(100_000, 0.1);
        let square = normal
            .iter()
            .map(|&value| f64::from(value).powi(2))
            .sum::<f64>()
            / normal.len() as f64;
        assert!((square.sqrt() - 0.1).abs() < 0.001, "{square}");
        let uniform = initializer.xavier_uniform(300, 100, 0.5);
        let bound = 0.5 * (6.0_f64 / 400.0).sqrt();
        let largest = uniform
            .iter()
            .fold(0.0_f32, |largest, value| largest.max(value.abs()));
        assert!(f64::from(largest) <= bound && f64::from(largest) > 0.999 * bound);
    }
}
