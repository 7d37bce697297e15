//! Multiplies by weights that are packed once for many rows: a linear layer, forward and backward.

use rayon::prelude::*;

use crate::error::{Error, check};
use crate::instructions::Instructions;
use crate::panels::Panels;
use crate::pool::{PRODUCTS, Pool, at_least};
use crate::precision::Precision;
use crate::recurrent::PassKind;
use crate::rows::{RowPairs, Rows};
use crate::simd::Begin;
use crate::weight_gradient::{Scratches, Segment, WeightGradient};

/// Rows that one thread multiplies at a time: two pairs, between which a panel stays near.
const PART: usize = 16;

/// Linear layer with packed weights: `y = x · Wᵀ + b`, and its gradients.
///
/// Results have the same bits for any number of threads; the pool is the caller's. Buffers are
/// kept, so that only the first calls allocate.
///
/// ```
/// use kato_kernels::{Instructions, Linear, PassKind, Precision};
///
/// let mut linear = Linear::new(2, 3, Precision::F32, Instructions::detect());
/// linear.pack(&[1.0, 0.0, 0.0, 1.0, 1.0, 1.0], &[0.0, 0.0, 0.5], PassKind::Training)?;
/// let (x, mut y) = ([1.0, 2.0], [0.0; 3]);
/// linear.forward(&x, &mut y)?;
/// assert_eq!(y, [1.0, 2.0, 3.5]);
///
/// let (dy, mut dx) = ([1.0, 0.0, 2.0], [0.0; 2]);
/// linear.backward(&dy, &mut dx)?;
/// assert_eq!(dx, [3.0, 2.0]);
/// let (mut weights, mut bias) = ([0.0; 6], [0.0; 3]);
/// linear.weight_gradients(&dy, &x, &mut weights, &mut bias)?;
/// assert_eq!(weights, [1.0, 2.0, 0.0, 0.0, 2.0, 4.0]);
/// # Ok::<(), kato_kernels::Error>(())
/// ```
#[derive(Debug)]
pub struct Linear {
    n_inputs: usize,
    n_outputs: usize,
    precision: Precision,
    instructions: Instructions,
    forward: Panels,
    back: Panels,
    bias: Vec<f32>,
    packed: Option<PassKind>,
    pairs: Pool<RowPairs>,
    scratches: Scratches,
    rows: Vec<u32>,
}

impl Linear {
    /// Begins without weights.
    #[must_use]
    pub const fn new(
        n_inputs: usize,
        n_outputs: usize,
        precision: Precision,
        instructions: Instructions,
    ) -> Self {
        Self {
            n_inputs,
            n_outputs,
            precision,
            instructions,
            forward: Panels::new(instructions, precision),
            back: Panels::new(instructions, precision),
            bias: Vec::new(),
            packed: None,
            pairs: Pool::new(),
            scratches: Scratches::new(),
            rows: Vec::new(),
        }
    }

    /// Packs weights, `[outputs, inputs]`, and bias, `[outputs]` (empty is zero); call it whenever
    /// they have changed.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] where they have another shape.
    pub fn pack(&mut self, weights: &[f32], bias: &[f32], pass: PassKind) -> Result<(), Error> {
        let (n, k) = (self.n_outputs, self.n_inputs);
        check("weights", "outputs × inputs", weights.len(), n * k)?;
        if !bias.is_empty() {
            check("bias", "outputs", bias.len(), n)?;
        }
        // Both directions have their own layout: a product reads weights from end to end.
        self.forward.pack_rows(weights, n, k, |row| row);
        if pass == PassKind::Training {
            self.back.pack_columns(weights, n, k, |row| row);
        }
        self.bias.clear();
        self.bias.extend_from_slice(bias);
        // No bias is one of zeros: sums then begin alike in both cases.
        self.bias.resize(n, 0.0);
        // Both directions share the buffers, so they hold the wider of the two.
        let (precision, depth) = (self.precision, n.max(k));
        self.pairs
            .prepare(|pairs| pairs.grow(precision, PART, depth));
        self.packed = Some(pass);
        Ok(())
    }

    /// Writes the outputs of any number of rows: `x` is `[rows, inputs]`, `y` is `[rows, outputs]`.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] where shapes differ, [`Error::Order`] before [`pack`](Self::pack), [`Error::Option`] without
    /// inputs or outputs.
    pub fn forward(&self, x: &[f32], y: &mut [f32]) -> Result<(), Error> {
        if self.packed.is_none() {
            return Err(Error::Order {
                call: "forward",
                before: "pack",
            });
        }
        self.multiply(
            &self.forward,
            (x, self.n_inputs),
            (y, self.n_outputs),
            Begin::Bias(&self.bias),
        )
    }

    /// Writes the gradient of the inputs: `dy` is `[rows, outputs]`, `dx` is `[rows, inputs]`.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] where shapes differ, [`Error::Order`] unless packed for training, [`Error::Option`] without
    /// inputs or outputs.
    pub fn backward(&self, dy: &[f32], dx: &mut [f32]) -> Result<(), Error> {
        if self.packed != Some(PassKind::Training) {
            return Err(Error::Order {
                call: "backward",
                before: "pack for training",
            });
        }
        self.multiply(
            &self.back,
            (dy, self.n_outputs),
            (dx, self.n_inputs),
            Begin::Zero,
        )
    }

    fn multiply(
        &self,
        panels: &Panels,
        (from, from_width): (&[f32], usize),
        (to, to_width): (&mut [f32], usize),
        begin: Begin<'_>,
    ) -> Result<(), Error> {
        if from_width == 0 || to_width == 0 {
            return Err(Error::Option {
                option: "n_inputs or n_outputs",
                reason: "at least 1",
            });
        }
        let n_rows = from.len() / from_width;
        check("rows", "rows × width", from.len(), n_rows * from_width)?;
        check("result", "rows × width", to.len(), n_rows * to_width)?;
        // Rows are independent: parts are cut for the cache and not for the threads.
        let parts = from
            .par_chunks(PART * from_width)
            .zip(to.par_chunks_mut(PART * to_width));
        let work = PART * from_width * to_width / PRODUCTS;
        parts.with_min_len(at_least(work)).for_each(|(from, to)| {
            self.pairs.with(|pairs| {
                let n_rows = from.len() / from_width;
                let rows = Rows {
                    values: from,
                    stride: from_width,
                    n_rows,
                };
                panels.multiply(rows, pairs, to, to_width, begin);
            });
        });
        Ok(())
    }

    /// Writes the gradients of weights, `[outputs, inputs]`, and bias, `[outputs]`: sums over all
    /// rows of `dy` (`[rows, outputs]`) and `x` (`[rows, inputs]`), in order.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] where shapes differ, [`Error::Option`] where there are 2³² rows or more.
    pub fn weight_gradients(
        &mut self,
        dy: &[f32],
        x: &[f32],
        weights: &mut [f32],
        bias: &mut [f32],
    ) -> Result<(), Error> {
        let (n, k) = (self.n_outputs, self.n_inputs);
        let n_rows = x.len() / k.max(1);
        check("x", "rows × inputs", x.len(), n_rows * k)?;
        check("dy", "rows × outputs", dy.len(), n_rows * n)?;
        check("weights", "outputs × inputs", weights.len(), n * k)?;
        check("bias", "outputs", bias.len(), n)?;
        if n_rows > u32::MAX as usize {
            return Err(Error::Option {
                option: "rows",
                reason: "less than 2³²",
            });
        }
        self.rows.clear();
        // The general product takes any rows; here all count.
        self.rows.extend((0..n_rows).map(|row| row as u32));
        let rows = &self.rows;
        let product = WeightGradient {
            instructions: self.instructions,
            precision: self.precision,
            n,
            k,
            n_segments: 1,
        };
        let segment = |_| Segment {
            dy,
            dy_stride: n,
            x,
            x_stride: k,
            rows,
        };
        product.compute(&mut self.scratches, segment, weights, Some(bias));
        Ok(())
    }
}
