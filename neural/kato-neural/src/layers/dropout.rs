//! Dropout whose masks are a function of seed, step, layer and row.

use burn::module::Module;
use burn::tensor::{Device, Tensor, TensorData};

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
        match self.mask(input.dims(), &input.device(), pass) {
            Some(mask) => input * mask,
            None => input,
        }
    }

    /// Returns the factors for a tensor of that shape, or `None` where nothing is dropped.
    #[must_use]
    pub fn mask<const D: usize>(
        &self,
        shape: [usize; D],
        device: &Device,
        pass: &Pass,
    ) -> Option<Tensor<D>> {
        let values = self.mask_values(shape[0], shape[1..].iter().product(), pass)?;
        Some(Tensor::from_data(TensorData::new(values, shape), device))
    }

    /// Returns the factors as numbers, row after row.
    #[must_use]
    pub fn mask_values(&self, n_rows: usize, n_per_row: usize, pass: &Pass) -> Option<Vec<f32>> {
        if !pass.is_training() || self.probability == 0.0 {
            return None;
        }
        let draws = pass.draws(self.stream);
        Some(draws.keep_mask(pass.first_row(), n_rows, n_per_row, self.probability))
    }
}
