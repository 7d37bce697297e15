//! Batch norm whose running statistics are PyTorch's.

use burn::module::{Module, Param, RunningState};
use burn::tensor::module::{batch_norm, batch_norm_train};
use burn::tensor::{Device, Tensor};

use crate::{Pass, initialize::parameter};

/// Normalises each feature over the batch: `(x − mean) / √(variance + ε) · weight + bias`.
///
/// The running variance takes the unbiased estimate, as PyTorch's does and Burn's does not; a batch
/// of one row is normalised by the running statistics.
///
/// Source: Ioffe and Szegedy, "Batch normalization", 2015.
#[derive(Module, Debug)]
pub struct BatchNorm {
    weight: Param<Tensor<1>>,
    bias: Param<Tensor<1>>,
    running_mean: RunningState<Tensor<1>>,
    running_var: RunningState<Tensor<1>>,
    momentum: f64,
    epsilon: f64,
}

impl BatchNorm {
    /// Creates a layer over `n_features`, with weight 1, bias 0, momentum 0.1 and ε = 10⁻⁵.
    #[must_use]
    pub fn new(n_features: usize, device: &Device) -> Self {
        // Statistics are no parameters: on a device with gradients they would be tracked.
        let plain = device.clone().without_autodiff();
        let constant = |value: f32| Tensor::full([n_features], value, &plain);
        let state = |value: f32| {
            let state = constant(value);
            RunningState::new(if device.is_autodiff() {
                Tensor::from_inner(state)
            } else {
                state
            })
        };
        Self {
            weight: parameter(vec![1.0; n_features], [n_features], device),
            bias: parameter(vec![0.0; n_features], [n_features], device),
            running_mean: state(0.0),
            running_var: state(1.0),
            momentum: 0.1,
            epsilon: 1e-5,
        }
    }

    /// Normalises `[batch, n_features]`; a pass that trains moves the running statistics.
    #[must_use]
    pub fn forward(&self, input: Tensor<2>, pass: &Pass) -> Tensor<2> {
        let [n_rows, _] = input.dims();
        // One row has no variance: it would become zero whatever it holds.
        if !pass.is_training() || n_rows < 2 {
            let (mean, variance) = (
                self.running_mean.value_sync(),
                self.running_var.value_sync(),
            );
            let (weight, bias) = (self.weight.val(), self.bias.val());
            return batch_norm(input, weight, bias, mean, variance, self.epsilon);
        }
        let result = batch_norm_train(input, self.weight.val(), self.bias.val(), self.epsilon);
        let unbiased = n_rows as f64 / (n_rows - 1) as f64;
        self.move_towards(&self.running_mean, result.mean.detach());
        self.move_towards(
            &self.running_var,
            result.variance.detach().mul_scalar(unbiased),
        );
        result.output
    }

    fn move_towards(&self, state: &RunningState<Tensor<1>>, now: Tensor<1>) {
        // The synchronised value: the other one lags a step behind.
        let before = state.value_sync().mul_scalar(1.0 - self.momentum);
        state.update((before + now.mul_scalar(self.momentum)).detach());
    }
}
