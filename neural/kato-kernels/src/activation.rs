//! Applies activations to many numbers, forward and backward.

use rayon::prelude::*;

use crate::error::{Error, check};
use crate::instructions::Instructions;
use crate::math::{gelu, gelu_both, gelu_slope, sigmoid, tanh};
use crate::simd::{self, Kernel};

/// Numbers that one thread takes at a time.
const PART: usize = 1 << 14;

/// Activation function. Values are within 2 units in the last place of the true ones; those of
/// GELU within 6 for |x| ≤ 2, and further out within 120 of a value that vanishes (1e-5 of it).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ActivationFunction {
    /// Hyperbolic tangent.
    Tanh,
    /// Logistic function.
    Sigmoid,
    /// `x · Φ(x)` with the normal distribution itself (Hendrycks and Gimpel, 2016), not one of its
    /// approximations.
    Gelu,
}

impl ActivationFunction {
    /// Writes the activations of `x`.
    ///
    /// ```
    /// use kato_kernels::{ActivationFunction, Instructions};
    ///
    /// let mut y = [0.0; 2];
    /// ActivationFunction::Gelu.forward(Instructions::detect(), &[0.0, 100.0], &mut y)?;
    /// assert_eq!(y, [0.0, 100.0]);
    /// # Ok::<(), kato_kernels::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Length`] where lengths differ.
    pub fn forward(
        self,
        instructions: Instructions,
        x: &[f32],
        y: &mut [f32],
    ) -> Result<(), Error> {
        check("y", "as x", y.len(), x.len())?;
        // Each number is worked on alone, so how they are divided changes no bit.
        x.par_chunks(PART)
            .zip(y.par_chunks_mut(PART))
            .for_each(|(x, y)| {
                simd::run(
                    instructions,
                    Forward {
                        activation: self,
                        x,
                        y,
                    },
                );
            });
        Ok(())
    }

    /// Writes the gradient of `x` from that of the activations.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] where lengths differ.
    pub fn backward(
        self,
        instructions: Instructions,
        x: &[f32],
        dy: &[f32],
        dx: &mut [f32],
    ) -> Result<(), Error> {
        check("dy", "as x", dy.len(), x.len())?;
        check("dx", "as x", dx.len(), x.len())?;
        let parts = x
            .par_chunks(PART)
            .zip(dy.par_chunks(PART))
            .zip(dx.par_chunks_mut(PART));
        parts.for_each(|((x, dy), dx)| {
            simd::run(
                instructions,
                Backward {
                    activation: self,
                    x,
                    dy,
                    dx,
                },
            );
        });
        Ok(())
    }
}

pub(crate) struct Forward<'a> {
    pub(crate) activation: ActivationFunction,
    pub(crate) x: &'a [f32],
    pub(crate) y: &'a mut [f32],
}

impl Kernel for Forward<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        match self.activation {
            ActivationFunction::Tanh => map(self.x, self.y, tanh),
            ActivationFunction::Sigmoid => map(self.x, self.y, sigmoid),
            ActivationFunction::Gelu => map(self.x, self.y, gelu),
        }
    }
}

pub(crate) struct Backward<'a> {
    pub(crate) activation: ActivationFunction,
    pub(crate) x: &'a [f32],
    pub(crate) dy: &'a [f32],
    pub(crate) dx: &'a mut [f32],
}

impl Kernel for Backward<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let (x, dy, dx) = (self.x, self.dy, self.dx);
        match self.activation {
            // 1 − tanh² as a product: the difference of squares would lose places near ±1.
            ActivationFunction::Tanh => slope(x, dy, dx, |x| (1.0 - tanh(x)) * (1.0 + tanh(x))),
            // σ(−x) instead of 1 − σ(x), which loses every place where σ is near 1.
            ActivationFunction::Sigmoid => slope(x, dy, dx, |x| sigmoid(x) * sigmoid(-x)),
            ActivationFunction::Gelu => slope(x, dy, dx, gelu_slope),
        }
    }
}

/// Writes GELU, and its derivative in place of the numbers: both come from one exponential.
pub(crate) struct GeluBoth<'a> {
    pub(crate) x: &'a mut [f32],
    pub(crate) y: &'a mut [f32],
}

impl Kernel for GeluBoth<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (x, y) in self.x.iter_mut().zip(self.y) {
            // The derivative takes the number's place: nothing reads the number any more.
            (*y, *x) = gelu_both(*x);
        }
    }
}

// Closures are inlined with their caller's instructions; a table of functions would not be.
#[inline(always)]
fn map(x: &[f32], y: &mut [f32], f: impl Fn(f32) -> f32) {
    for (y, &x) in y.iter_mut().zip(x) {
        *y = f(x);
    }
}

#[inline(always)]
fn slope(x: &[f32], dy: &[f32], dx: &mut [f32], f: impl Fn(f32) -> f32) {
    for ((dx, &x), &dy) in dx.iter_mut().zip(x).zip(dy) {
        *dx = dy * f(x);
    }
}
