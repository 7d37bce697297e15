//! Normalises rows (layer norm) or columns (batch norm), forward and backward.

use crate::error::{Error, check};
use crate::instructions::Instructions;
use crate::simd::{self, Kernel};

/// Sums that run side by side along a row, so that the loop is a vector and its order is fixed.
const LANES: usize = 16;

/// Layer norm (Ba, Kiros and Hinton, 2016): `(x − mean) / √(variance + ε) · gain + bias` along each
/// row. It runs on the caller's thread, and backward recomputes mean and variance.
///
/// ```
/// use kato_kernels::{Instructions, LayerNorm};
///
/// let mut y = [0.0; 2];
/// let norm = LayerNorm::new(Instructions::detect());
/// norm.forward(&[1.0, 3.0], &[1.0, 1.0], &[0.0, 5.0], &mut y)?;
/// assert!((y[0] + 1.0).abs() < 1e-4 && (y[1] - 6.0).abs() < 1e-4);
/// # Ok::<(), kato_kernels::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct LayerNorm {
    /// Added to the variance; 1e-5 unless set.
    pub epsilon: f32,
    /// Instructions to use.
    pub instructions: Instructions,
}

impl LayerNorm {
    /// Begins with ε = 1e-5.
    #[must_use]
    pub const fn new(instructions: Instructions) -> Self {
        Self {
            epsilon: 1e-5,
            instructions,
        }
    }

    /// Sets what is added to the variance.
    #[must_use]
    pub const fn with_epsilon(mut self, epsilon: f32) -> Self {
        self.epsilon = epsilon;
        self
    }

    /// Writes the normalised rows of `x`, `[rows, width]`; `gain` and `bias` are `[width]`.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] where shapes differ, [`Error::Option`] where the width is 0.
    pub fn forward(
        &self,
        x: &[f32],
        gain: &[f32],
        bias: &[f32],
        y: &mut [f32],
    ) -> Result<(), Error> {
        rows("gain", x, gain)?;
        check("bias", "width", bias.len(), gain.len())?;
        check("y", "as x", y.len(), x.len())?;
        self.rows(x, gain, bias, y);
        Ok(())
    }

    /// Does so for slices that fit.
    pub(crate) fn rows(&self, x: &[f32], gain: &[f32], bias: &[f32], y: &mut [f32]) {
        simd::run(
            self.instructions,
            Forward {
                epsilon: self.epsilon,
                x,
                gain,
                bias,
                y,
            },
        );
    }

    /// Writes the gradient of `x`, and adds those of gain and bias to what is there.
    ///
    /// # Errors
    ///
    /// As [`forward`](Self::forward).
    pub fn backward(
        &self,
        x: &[f32],
        gain: &[f32],
        dy: &[f32],
        dx: &mut [f32],
        (d_gain, d_bias): (&mut [f32], &mut [f32]),
    ) -> Result<(), Error> {
        rows("gain", x, gain)?;
        check("dy", "as x", dy.len(), x.len())?;
        check("dx", "as x", dx.len(), x.len())?;
        check("d_gain", "width", d_gain.len(), gain.len())?;
        check("d_bias", "width", d_bias.len(), gain.len())?;
        self.rows_back(x, gain, dy, dx, (d_gain, d_bias));
        Ok(())
    }

    /// Does so for slices that fit.
    pub(crate) fn rows_back(
        &self,
        x: &[f32],
        gain: &[f32],
        dy: &[f32],
        dx: &mut [f32],
        (d_gain, d_bias): (&mut [f32], &mut [f32]),
    ) {
        let epsilon = self.epsilon;
        simd::run(
            self.instructions,
            Backward {
                epsilon,
                x,
                gain,
                dy,
                dx,
                d_gain,
                d_bias,
            },
        );
    }
}

/// Checks that `x` has whole rows.
const fn rows(name: &'static str, x: &[f32], width: &[f32]) -> Result<(), Error> {
    if width.is_empty() {
        return Err(Error::Option {
            option: name,
            reason: "at least 1 value",
        });
    }
    check("x", "rows × width", x.len() % width.len(), 0)
}

/// Sums what `f` makes of each place, in an order that is the same for all instructions.
#[inline(always)]
pub(crate) fn sum(n: usize, f: impl Fn(usize) -> f32) -> f32 {
    let mut lanes = [0.0_f32; LANES];
    let whole = n / LANES * LANES;
    for first in (0..whole).step_by(LANES) {
        for (j, lane) in lanes.iter_mut().enumerate() {
            *lane += f(first + j);
        }
    }
    for j in whole..n {
        lanes[j - whole] += f(j);
    }
    for half in [8, 4, 2, 1] {
        for j in 0..half {
            lanes[j] += lanes[j + half];
        }
    }
    lanes[0]
}

/// Returns the mean of a row, and one over the root of its variance and ε.
#[inline(always)]
fn moments(x: &[f32], epsilon: f32) -> (f32, f32) {
    let n = x.len();
    let mean = sum(n, |j| x[j]) / n as f32;
    // Differences first: squares of large values would lose what matters.
    let variance = sum(n, |j| (x[j] - mean) * (x[j] - mean)) / n as f32;
    (mean, 1.0 / (variance + epsilon).sqrt())
}

struct Forward<'a> {
    epsilon: f32,
    x: &'a [f32],
    gain: &'a [f32],
    bias: &'a [f32],
    y: &'a mut [f32],
}

impl Kernel for Forward<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let n = self.gain.len();
        let (gain, bias) = (&self.gain[..n], &self.bias[..n]);
        for (x, y) in self.x.chunks_exact(n).zip(self.y.chunks_exact_mut(n)) {
            let (mean, scale) = moments(x, self.epsilon);
            for j in 0..n {
                y[j] = ((x[j] - mean) * scale).mul_add(gain[j], bias[j]);
            }
        }
    }
}

struct Backward<'a> {
    epsilon: f32,
    x: &'a [f32],
    gain: &'a [f32],
    dy: &'a [f32],
    dx: &'a mut [f32],
    d_gain: &'a mut [f32],
    d_bias: &'a mut [f32],
}

impl Kernel for Backward<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let n = self.gain.len();
        let rows = self.x.chunks_exact(n).zip(self.dy.chunks_exact(n));
        for ((x, dy), dx) in rows.zip(self.dx.chunks_exact_mut(n)) {
            backward_row(self.epsilon, x, self.gain, dy, dx, self.d_gain, self.d_bias);
        }
    }
}

// Slices are arguments, since arguments are known not to overlap.
#[inline(always)]
fn backward_row(
    epsilon: f32,
    x: &[f32],
    gain: &[f32],
    dy: &[f32],
    dx: &mut [f32],
    d_gain: &mut [f32],
    d_bias: &mut [f32],
) {
    let n = x.len();
    let (gain, dy, dx) = (&gain[..n], &dy[..n], &mut dx[..n]);
    let (d_gain, d_bias) = (&mut d_gain[..n], &mut d_bias[..n]);
    let (mean, scale) = moments(x, epsilon);
    let normal = |j: usize| (x[j] - mean) * scale;
    let level = sum(n, |j| dy[j] * gain[j]) / n as f32;
    let slope = sum(n, |j| dy[j] * gain[j] * normal(j)) / n as f32;
    for j in 0..n {
        let normal = normal(j);
        dx[j] = scale * (dy[j] * gain[j] - level - normal * slope);
        d_gain[j] = dy[j].mul_add(normal, d_gain[j]);
        d_bias[j] += dy[j];
    }
}

/// Batch norm (Ioffe and Szegedy, 2015): each column is normalised over the rows of a batch, and
/// running means serve when there is no batch. Sums are f64.
///
/// ```
/// use kato_kernels::BatchNorm;
///
/// let mut y = [0.0; 2];
/// let (mut mean, mut variance) = ([0.0], [1.0]);
/// let norm = BatchNorm::default();
/// norm.forward(&[1.0, 3.0], &[2.0], &[0.5], (&mut mean, &mut variance), &mut y)?;
/// assert!((y[1] - 2.5).abs() < 1e-4);
/// assert!((mean[0] - 0.2).abs() < 1e-6, "a tenth of the way from 0 to 2");
/// # Ok::<(), kato_kernels::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct BatchNorm {
    /// Added to the variance; 1e-5 unless set.
    pub epsilon: f32,
    /// Share of a batch in running means, 0.1 unless set.
    pub momentum: f32,
}

impl Default for BatchNorm {
    fn default() -> Self {
        Self {
            epsilon: 1e-5,
            momentum: 0.1,
        }
    }
}

impl BatchNorm {
    /// Returns mean and (biased) variance of column `j`.
    fn moments(x: &[f32], width: usize, j: usize) -> (f64, f64) {
        let column = || {
            x.iter()
                .skip(j)
                .step_by(width)
                .map(|&value| f64::from(value))
        };
        let n = (x.len() / width) as f64;
        let mean = column().sum::<f64>() / n;
        (
            mean,
            column()
                .map(|value| (value - mean) * (value - mean))
                .sum::<f64>()
                / n,
        )
    }

    /// Normalises a batch `x`, `[rows, width]`, by its own moments, and moves the running mean and
    /// (unbiased) variance towards them.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] where shapes differ, [`Error::Option`] where there are fewer than two
    /// rows.
    pub fn forward(
        &self,
        x: &[f32],
        gain: &[f32],
        bias: &[f32],
        (mean, variance): (&mut [f32], &mut [f32]),
        y: &mut [f32],
    ) -> Result<(), Error> {
        rows("gain", x, gain)?;
        let width = gain.len();
        check("bias", "width", bias.len(), width)?;
        check("mean", "width", mean.len(), width)?;
        check("variance", "width", variance.len(), width)?;
        check("y", "as x", y.len(), x.len())?;
        let n = x.len() / width;
        if n < 2 {
            return Err(Error::Option {
                option: "rows",
                reason: "at least 2: one has no variance",
            });
        }
        for j in 0..width {
            let (level, spread) = Self::moments(x, width, j);
            let scale = f64::from(gain[j]) / (spread + f64::from(self.epsilon)).sqrt();
            for i in (j..x.len()).step_by(width) {
                y[i] = ((f64::from(x[i]) - level) * scale + f64::from(bias[j])) as f32;
            }
            let unbiased = spread * n as f64 / (n - 1) as f64;
            mean[j] += self.momentum * (level as f32 - mean[j]);
            variance[j] += self.momentum * (unbiased as f32 - variance[j]);
        }
        Ok(())
    }

    /// Normalises rows by running moments.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] where shapes differ.
    pub fn infer(
        &self,
        x: &[f32],
        gain: &[f32],
        bias: &[f32],
        (mean, variance): (&[f32], &[f32]),
        y: &mut [f32],
    ) -> Result<(), Error> {
        rows("gain", x, gain)?;
        let width = gain.len();
        check("bias", "width", bias.len(), width)?;
        check("mean", "width", mean.len(), width)?;
        check("variance", "width", variance.len(), width)?;
        check("y", "as x", y.len(), x.len())?;
        for (i, (y, &x)) in y.iter_mut().zip(x).enumerate() {
            let j = i % width;
            let scale = gain[j] / (variance[j] + self.epsilon).sqrt();
            *y = (x - mean[j]).mul_add(scale, bias[j]);
        }
        Ok(())
    }

    /// Writes the gradients of a batch, of the gain and of the bias; the moments are computed
    /// again from `x`.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] where shapes differ.
    pub fn backward(
        &self,
        x: &[f32],
        gain: &[f32],
        dy: &[f32],
        dx: &mut [f32],
        (d_gain, d_bias): (&mut [f32], &mut [f32]),
    ) -> Result<(), Error> {
        rows("gain", x, gain)?;
        let width = gain.len();
        check("dy", "as x", dy.len(), x.len())?;
        check("dx", "as x", dx.len(), x.len())?;
        check("d_gain", "width", d_gain.len(), width)?;
        check("d_bias", "width", d_bias.len(), width)?;
        let n = (x.len() / width) as f64;
        for j in 0..width {
            let (mean, variance) = Self::moments(x, width, j);
            let scale = 1.0 / (variance + f64::from(self.epsilon)).sqrt();
            let places = || (j..x.len()).step_by(width);
            let normal = |i: usize| (f64::from(x[i]) - mean) * scale;
            let level: f64 = places().map(|i| f64::from(dy[i])).sum();
            let slope: f64 = places().map(|i| f64::from(dy[i]) * normal(i)).sum();
            for i in places() {
                let rest = f64::from(dy[i]) - (level + normal(i) * slope) / n;
                dx[i] = (f64::from(gain[j]) * scale * rest) as f32;
            }
            (d_gain[j], d_bias[j]) = (slope as f32, level as f32);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{gap, gradient, numbers};

    /// Loss whose gradient is `upstream`, of normalised values.
    fn normalise(x: &[f64], gain: &[f64], bias: &[f64], columns: bool) -> Vec<f64> {
        let width = gain.len();
        let n_rows = x.len() / width;
        let group = |i: usize| -> Vec<usize> {
            if columns {
                (i % width..x.len()).step_by(width).collect()
            } else {
                (i / width * width..(i / width + 1) * width).collect()
            }
        };
        let n = if columns { n_rows } else { width } as f64;
        let value = |i: usize| {
            let mean = group(i).iter().map(|&k| x[k]).sum::<f64>() / n;
            let variance = group(i).iter().map(|&k| (x[k] - mean).powi(2)).sum::<f64>() / n;
            (x[i] - mean) / (variance + 1e-5).sqrt() * gain[i % width] + bias[i % width]
        };
        (0..x.len()).map(value).collect()
    }

    #[test]
    fn norms_are_their_f64_forms() {
        for columns in [false, true] {
            let (width, n_rows) = (37, 6);
            let [x, gain, bias, upstream] =
                [n_rows * width, width, width, n_rows * width].map(|n| numbers(n, n as u64));
            let all = [&x, &gain, &bias].map(|values| values.as_slice()).concat();
            let values = |all: &[f64]| {
                let (x, rest) = all.split_at(n_rows * width);
                normalise(x, &rest[..width], &rest[width..], columns)
            };
            let expected = gradient(&all, |all| {
                values(all).iter().zip(&upstream).map(|(y, d)| y * d).sum()
            });
            let narrow =
                |values: &[f64]| -> Vec<f32> { values.iter().map(|&v| v as f32).collect() };
            let [x, gain, bias, dy] = [&x, &gain, &bias, &upstream].map(|values| narrow(values));
            let mut y = vec![0.0; x.len()];
            let (mut dx, mut d_gain, mut d_bias) =
                (vec![0.0; x.len()], vec![0.0; width], vec![0.0; width]);
            let sums = (&mut d_gain[..], &mut d_bias[..]);
            if columns {
                let norm = BatchNorm::default();
                let (mut mean, mut variance) = (vec![0.0; width], vec![0.0; width]);
                norm.forward(&x, &gain, &bias, (&mut mean, &mut variance), &mut y)
                    .unwrap();
                norm.backward(&x, &gain, &dy, &mut dx, sums).unwrap();
            } else {
                let norm = LayerNorm::new(Instructions::detect());
                norm.forward(&x, &gain, &bias, &mut y).unwrap();
                norm.backward(&x, &gain, &dy, &mut dx, sums).unwrap();
            }
            assert!(gap(&y, &values(&all)) < 1e-6);
            assert!(gap(&[dx, d_gain, d_bias].concat(), &expected) < 2e-6);
        }
    }

    #[test]
    fn instructions_give_equal_bits() {
        let x: Vec<f32> = numbers(5 * 70, 1).iter().map(|&v| v as f32).collect();
        let runs: Vec<_> = Instructions::available()
            .map(|instructions| {
                let (mut y, mut sums) = (vec![0.0; x.len()], [vec![0.0; 70], vec![0.0; 70]]);
                let norm = LayerNorm::new(instructions);
                norm.forward(&x, &x[..70], &x[70..140], &mut y).unwrap();
                let mut dx = vec![0.0; x.len()];
                let [a, b] = &mut sums;
                norm.backward(&x, &x[..70], &y, &mut dx, (a, b)).unwrap();
                [y, dx, sums.concat()].concat()
            })
            .collect();
        assert!(runs.iter().all(|run| *run == runs[0]));
    }
}
