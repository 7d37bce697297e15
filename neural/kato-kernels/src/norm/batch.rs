//! Normalises columns: batch norm, forward and backward.

use super::rows;
use crate::error::{Error, check};

/// Batch norm (Ioffe and Szegedy, 2015): each column is normalised over the rows of a batch, and
/// running means serve when there is no batch. Sums are f64.
///
/// ```
/// use kato_kernels::ColumnNorm;
///
/// let mut y = [0.0; 2];
/// let (mut mean, mut variance) = ([0.0], [1.0]);
/// let norm = ColumnNorm::default();
/// norm.forward(&[1.0, 3.0], &[2.0], &[0.5], (&mut mean, &mut variance), &mut y)?;
/// assert!((y[1] - 2.5).abs() < 1e-4);
/// assert!((mean[0] - 0.2).abs() < 1e-6, "a tenth of the way from 0 to 2");
/// # Ok::<(), kato_kernels::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct ColumnNorm {
    /// Added to the variance; 1e-5 unless set.
    pub epsilon: f32,
    /// Share of a batch in running means, 0.1 unless set.
    pub momentum: f32,
}

impl Default for ColumnNorm {
    fn default() -> Self {
        Self {
            epsilon: 1e-5,
            momentum: 0.1,
        }
    }
}

impl ColumnNorm {
    /// Returns mean and (biased) variance of column `j`.
    fn moments(x: &[f32], width: usize, j: usize) -> (f64, f64) {
        let column = || {
            x.iter()
                .skip(j)
                .step_by(width)
                .map(|&value| f64::from(value))
        };
        // In f64: batches are small, and columns of one value must give no negative variance.
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
            // Running values estimate the whole, hence n − 1, as PyTorch has it.
            let unbiased = spread * n as f64 / (n - 1) as f64;
            mean[j] += self.momentum * (level as f32 - mean[j]);
            variance[j] += self.momentum * (unbiased as f32 - variance[j]);
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
                // A shift of the column, or a stretch, changes no output: both parts are taken out.
                let rest = f64::from(dy[i]) - (level + normal(i) * slope) / n;
                dx[i] = (f64::from(gain[j]) * scale * rest) as f32;
            }
            (d_gain[j], d_bias[j]) = (slope as f32, level as f32);
        }
        Ok(())
    }
}
