//! Normalises rows: layer norm, forward and backward.

#[cfg(test)]
mod tests;

use crate::error::{Error, check};
use crate::instructions::Instructions;
use crate::simd::{self, Kernel};

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
                norm: *self,
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
        simd::run(
            self.instructions,
            Backward {
                norm: *self,
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

/// Writes the differences of a row from its mean; returns one over the root of its variance and ε.
#[inline(always)]
fn centre(set: Instructions, x: &[f32], epsilon: f32, out: &mut [f32]) -> f32 {
    let n = x.len() as f32;
    // Sums in vectors, in an order that all instructions share.
    let mean = simd::sum(set, [x]) / n;
    for (out, x) in out.iter_mut().zip(x) {
        *out = x - mean;
    }
    // Differences first: squares of large values would lose what matters.
    let variance = simd::sum(set, [out, out]) / n;
    1.0 / (variance + epsilon).sqrt()
}

struct Forward<'a> {
    norm: LayerNorm,
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
            let y = &mut y[..n];
            let scale = centre(self.norm.instructions, x, self.norm.epsilon, y);
            for ((y, gain), bias) in y.iter_mut().zip(gain).zip(bias) {
                // The row's place held its differences from the mean, so nothing is read twice.
                *y = (*y * scale).mul_add(*gain, *bias);
            }
        }
    }
}

struct Backward<'a> {
    norm: LayerNorm,
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
            backward_row(self.norm, x, self.gain, dy, dx, self.d_gain, self.d_bias);
        }
    }
}

// Slices are arguments, since arguments are known not to overlap.
#[inline(always)]
fn backward_row(
    norm: LayerNorm,
    x: &[f32],
    gain: &[f32],
    dy: &[f32],
    dx: &mut [f32],
    d_gain: &mut [f32],
    d_bias: &mut [f32],
) {
    let (n, set) = (x.len(), norm.instructions);
    let (gain, dy, dx) = (&gain[..n], &dy[..n], &mut dx[..n]);
    let (d_gain, d_bias) = (&mut d_gain[..n], &mut d_bias[..n]);
    // Until its gradient is known, the row's place holds it normalised.
    let scale = centre(set, x, norm.epsilon, dx);
    for j in 0..n {
        dx[j] *= scale;
        d_gain[j] = dy[j].mul_add(dx[j], d_gain[j]);
        d_bias[j] += dy[j];
    }
    // The gradient loses its mean and its part along the row: a norm ignores both.
    let level = simd::sum(set, [dy, gain]) / n as f32;
    let slope = simd::sum(set, [dy, gain, dx]) / n as f32;
    for j in 0..n {
        dx[j] = scale * (dy[j] * gain[j] - level - dx[j] * slope);
    }
}
