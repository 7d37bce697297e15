//! Normalises rows (layer norm) or columns (batch norm), forward and backward.

mod batch;
#[cfg(test)]
mod tests;

use crate::error::{Error, check};
use crate::instructions::Instructions;
use crate::simd::{self, Kernel};
pub use batch::BatchNorm;

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
        self.rows(x, gain, bias, (y, gain.len()));
        Ok(())
    }

    /// Does so for slices that fit; results are `stride` apart.
    pub(crate) fn rows(
        &self,
        x: &[f32],
        gain: &[f32],
        bias: &[f32],
        (y, stride): (&mut [f32], usize),
    ) {
        simd::run(
            self.instructions,
            Forward {
                epsilon: self.epsilon,
                x,
                gain,
                bias,
                y,
                stride,
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
    stride: usize,
}

impl Kernel for Forward<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let n = self.gain.len();
        let (gain, bias) = (&self.gain[..n], &self.bias[..n]);
        for (x, y) in self.x.chunks_exact(n).zip(self.y.chunks_mut(self.stride)) {
            let (mean, scale) = moments(x, self.epsilon);
            let y = &mut y[..n];
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
