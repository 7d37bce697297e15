//! Dropout whose masks are a function of seed, step, layer and row.

use burn::module::Module;
use burn::tensor::{Device, Tensor, TensorData};

use kato_kernels::Draw;

use crate::Pass;

/// Sets entries to zero with a probability while training, and scales the others up.
///
/// Unlike Burn's, it remembers nothing: a pass computed again, or after a resume, drops the same
/// entries.
///
/// Source: Srivastava et al., "Dropout", 2014.
#[derive(Module, Debug)]
pub struct Dropout {
    probability: f64,
    stream: u64,
}

impl Dropout {
    /// Creates a layer; `stream` tells its draws from those of the model's other layers.
    ///
    /// # Panics
    ///
    /// Panics if `probability` is outside [0, 1).
    #[must_use]
    pub fn new(probability: f64, stream: u64) -> Self {
        assert!(
            (0.0..1.0).contains(&probability),
            "dropout {probability} is not in [0, 1)"
        );
        Self {
            probability,
            stream,
        }
    }

    /// Applies the layer to rows, which lie along the first axis.
    #[must_use]
    pub fn forward<const D: usize>(&self, input: Tensor<D>, pass: &Pass) -> Tensor<D> {
        // Nothing is multiplied where nothing drops: not even by ones.
        match self.mask(input.dims(), &input.device(), pass) {
            Some(mask) => input * mask,
            None => input,
        }
    }

    /// Returns the factors for a tensor of that shape, or `None` where nothing is dropped.
    fn mask<const D: usize>(
        &self,
        shape: [usize; D],
        device: &Device,
        pass: &Pass,
    ) -> Option<Tensor<D>> {
        let n_per_row = shape[1..].iter().product();
        let draw = pass.dropout(self.stream);
        // A row is a sequence of one step, so that the kernels' numbering of draws serves here too.
        let mask = sequence_mask(draw, self.probability, 0, [shape[0], 1, n_per_row], device)?;
        Some(mask.reshape(shape))
    }
}

/// Returns the factors of dropout at one place for sequences `[batch, time, width]`, or `None` where
/// nothing is dropped.
pub(super) fn sequence_mask(
    draw: Option<Draw>,
    probability: f64,
    place: u64,
    shape: [usize; 3],
    device: &Device,
) -> Option<Tensor<3>> {
    let draw = draw.filter(|_| probability > 0.0)?;
    let [_, n_steps, width] = shape;
    let mut mask = vec![0.0; shape.iter().product()];
    // Empty tensors have no chunks to fill.
    for (at, factors) in mask.chunks_exact_mut(width.max(1)).enumerate() {
        draw.factors(
            probability as f32,
            place,
            at / n_steps,
            at % n_steps,
            factors,
        );
    }
    Some(Tensor::from_data(TensorData::new(mask, shape), device))
}
