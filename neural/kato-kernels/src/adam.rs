//! Updates parameters by Adam, many numbers at a time.

use rayon::prelude::*;

use crate::error::{Error, check};
use crate::instructions::Instructions;
use crate::simd::{self, Kernel};

/// Numbers that one thread takes at a time; sums over parts are added in order.
const PART: usize = 1 << 15;

/// One step of Adam with bias correction (Kingma and Ba, 2015) and decoupled decay (Loshchilov and Hutter,
/// 2019); without decay the two are one.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct AdamStep {
    /// Learning rate.
    pub rate: f32,
    /// Decay of the mean of gradients, below 1.
    pub beta_1: f32,
    /// Decay of the mean of their squares, below 1.
    pub beta_2: f32,
    /// Added to the root of that mean.
    pub epsilon: f32,
    /// Share of a parameter, times the rate, that each step takes off.
    pub decay: f32,
}

impl AdamStep {
    /// Begins with the usual constants (0.9, 0.999, 1e-8) and no decay.
    #[must_use]
    pub const fn new(rate: f32) -> Self {
        Self {
            rate,
            beta_1: 0.9,
            beta_2: 0.999,
            epsilon: 1e-8,
            decay: 0.0,
        }
    }

    /// Sets the decay.
    #[must_use]
    pub const fn with_decay(mut self, decay: f32) -> Self {
        self.decay = decay;
        self
    }

    /// Updates parameters. `scale` multiplies the gradients first, as clipping by a norm does;
    /// `step` counts from 1.
    ///
    /// ```
    /// use kato_kernels::{AdamStep, Instructions};
    ///
    /// let (mut weights, mut mean, mut square) = ([1.0], [0.0], [0.0]);
    /// let adam = AdamStep::new(0.1);
    /// adam.step(Instructions::detect(), 1, &mut weights, &[4.0], 1.0, (&mut mean, &mut square))?;
    /// assert!((weights[0] - 0.9).abs() < 1e-6, "the first step is the rate");
    /// # Ok::<(), kato_kernels::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Length`] where the slices differ in length.
    pub fn step(
        &self,
        instructions: Instructions,
        step: u64,
        parameters: &mut [f32],
        gradients: &[f32],
        scale: f32,
        (mean, square): (&mut [f32], &mut [f32]),
    ) -> Result<(), Error> {
        check(
            "gradients",
            "as parameters",
            gradients.len(),
            parameters.len(),
        )?;
        check("mean", "as parameters", mean.len(), parameters.len())?;
        check("square", "as parameters", square.len(), parameters.len())?;
        // In f64, as 1 − βⁿ loses most digits of an f32 in the first steps.
        let correction = |beta: f32| 1.0 - f64::from(beta).powf(step as f64);
        // Corrections of bias move into rate and root, so that the loop needs no division for them.
        let rate = (f64::from(self.rate) / correction(self.beta_1)) as f32;
        let root = correction(self.beta_2).sqrt().recip() as f32;
        // Parts of one size, whatever the threads: an element's result depends on nothing else.
        let moments = mean.par_chunks_mut(PART).zip(square.par_chunks_mut(PART));
        let numbers = parameters
            .par_chunks_mut(PART)
            .zip(gradients.par_chunks(PART));
        numbers
            .zip(moments)
            .for_each(|((parameters, gradients), (mean, square))| {
                let adam = *self;
                simd::run(
                    instructions,
                    Part {
                        adam,
                        rate,
                        root,
                        scale,
                        parameters,
                        gradients,
                        mean,
                        square,
                    },
                );
            });
        Ok(())
    }
}

struct Part<'a> {
    adam: AdamStep,
    rate: f32,
    root: f32,
    scale: f32,
    parameters: &'a mut [f32],
    gradients: &'a [f32],
    mean: &'a mut [f32],
    square: &'a mut [f32],
}

impl Kernel for Part<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let (adam, factors) = (self.adam, (self.rate, self.root, self.scale));
        update(
            adam,
            factors,
            self.parameters,
            self.gradients,
            self.mean,
            self.square,
        );
    }
}

// Slices are arguments, since arguments are known not to overlap.
#[inline(always)]
fn update(
    adam: AdamStep,
    (rate, root, scale): (f32, f32, f32),
    parameters: &mut [f32],
    gradients: &[f32],
    mean: &mut [f32],
    square: &mut [f32],
) {
    let n = parameters.len();
    let (gradients, mean, square) = (&gradients[..n], &mut mean[..n], &mut square[..n]);
    // Decay works on the parameter itself (AdamW) and not through the moments.
    let keep = 1.0 - adam.rate * adam.decay;
    for i in 0..n {
        let gradient = gradients[i] * scale;
        mean[i] = adam.beta_1.mul_add(mean[i], (1.0 - adam.beta_1) * gradient);
        square[i] = adam
            .beta_2
            .mul_add(square[i], (1.0 - adam.beta_2) * gradient * gradient);
        // ε is added after the root, as in the paper and in PyTorch.
        let change = mean[i] / square[i].sqrt().mul_add(root, adam.epsilon);
        parameters[i] = parameters[i].mul_add(keep, -rate * change);
    }
}

/// Returns the sum of squares, in f64: parts of it are summed in the same order by any number of
/// threads. The root over all gradients' sums is the norm to clip by.
///
/// ```
/// use kato_kernels::{Instructions, sum_of_squares};
/// assert_eq!(sum_of_squares(Instructions::detect(), &[3.0, 4.0]), 25.0);
/// ```
#[must_use]
pub fn sum_of_squares(instructions: Instructions, values: &[f32]) -> f64 {
    // A part of the sum for each chunk, a few hundred at a time on the stack.
    let mut total = 0.0;
    for values in values.chunks(64 * PART) {
        let mut sums = [0.0; 64];
        sums.par_iter_mut()
            .zip(values.par_chunks(PART))
            .for_each(|(sum, values)| {
                *sum = simd::run(instructions, Squares { values });
            });
        // Partial sums are added in order, whichever thread was first.
        total += sums.iter().sum::<f64>();
    }
    total
}

struct Squares<'a> {
    values: &'a [f32],
}

impl Kernel for Squares<'_> {
    type Output = f64;

    #[inline(always)]
    fn run(self) -> f64 {
        // Eight sums side by side, so that the loop is a vector and its order is fixed.
        let mut sums = [0.0_f64; 8];
        let (eights, rest) = self.values.as_chunks::<8>();
        for eight in eights {
            for (sum, &value) in sums.iter_mut().zip(eight) {
                *sum += f64::from(value) * f64::from(value);
            }
        }
        // Fewer than eight are left: they are added last, by all instructions alike.
        let rest: f64 = rest
            .iter()
            .map(|&value| f64::from(value) * f64::from(value))
            .sum();
        sums.iter().sum::<f64>() + rest
    }
}
