//! One update of one tensor, in place where the back end lets us.

use burn::backend::Flex;
use burn::optim::{AdamState, AdaptiveMomentumState, LearningRate, Optimizer};
use burn::tensor::{Device, Tensor};

use super::{AdamOptions, Decay, plain, slices};

/// The numbers of one update, the same for every entry of a tensor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scalars {
    /// Multiplies the gradient: the clip, and what a loss scale is divided by.
    pub(crate) gradient: f32,
    /// `β₁` and `β₂` from one.
    pub(crate) one_less_beta_1: f32,
    pub(crate) beta_2: f32,
    pub(crate) one_less_beta_2: f32,
    /// `rate / (1 − β₁ᵗ)`.
    pub(crate) step_size: f32,
    /// `1 / √(1 − β₂ᵗ)`.
    pub(crate) root_factor: f32,
    pub(crate) epsilon: f32,
    /// Added to the gradient, as a share of the weight.
    pub(crate) l2: f32,
    /// What is left of the weight.
    pub(crate) keep: f32,
}

impl Scalars {
    /// Computes them for update number `time`, from 1.
    pub(crate) fn new(
        options: &AdamOptions,
        decay: Decay,
        rate: f64,
        time: u64,
        gradient: f64,
    ) -> Self {
        // Beyond some ten thousand steps the powers are zero for every β in use.
        let power = |beta: f64| beta.powf(time as f64);
        // Both kinds of decay in one formula, so that there is one inner loop.
        let (l2, keep) = match decay {
            Decay::None => (0.0, 1.0),
            Decay::L2(factor) => (factor, 1.0),
            Decay::Decoupled(factor) => (0.0, 1.0 - rate * factor),
        };
        Self {
            // Computed in f64 and rounded once: the entries' loop is f32.
            gradient: gradient as f32,
            one_less_beta_1: (1.0 - options.beta_1) as f32,
            beta_2: options.beta_2 as f32,
            one_less_beta_2: (1.0 - options.beta_2) as f32,
            step_size: (rate / (1.0 - power(options.beta_1))) as f32,
            root_factor: (1.0 / (1.0 - power(options.beta_2)).sqrt()) as f32,
            epsilon: options.epsilon as f32,
            l2: l2 as f32,
            keep: keep as f32,
        }
    }
}

/// Updates weight and moments; the moments are flat, and absent before the first update.
pub(crate) fn update<const D: usize>(
    weight: Tensor<D>,
    gradient: Tensor<D>,
    moments: Option<(Tensor<1>, Tensor<1>)>,
    scalars: &Scalars,
) -> (Tensor<D>, (Tensor<1>, Tensor<1>)) {
    let n = weight.shape().num_elements();
    let device = weight.device();
    let (first, second) =
        moments.unwrap_or_else(|| (Tensor::zeros([n], &device), Tensor::zeros([n], &device)));
    // The handle that asks is dropped before the update, so that the buffer stays unshared.
    if weight.clone().try_into_primitive::<Flex>().is_ok() {
        slices::update(weight, gradient, first, second, scalars)
    } else {
        plain::update(weight, gradient, first, second, scalars)
    }
}

/// Adam or AdamW as an optimiser of Burn's, for use with its `ModuleOptimizer`.
///
/// It has no groups and cannot clip by the norm over all gradients, as it sees one tensor at a time;
/// [`Adam`](super::Adam) does both. The arithmetic is the same.
///
/// ```
/// use burn::optim::ModuleOptimizer;
/// use kato_neural::burn;
/// use kato_neural::{AdamOptions, AdamUpdate, Decay};
///
/// let options = AdamOptions::default().with_decay(Decay::Decoupled(0.01));
/// let optimizer = ModuleOptimizer::from(AdamUpdate::new(options));
/// assert!(!optimizer.has_gradient_clipping());
/// ```
#[derive(Debug, Clone)]
pub struct AdamUpdate {
    options: AdamOptions,
}

impl AdamUpdate {
    /// Takes the options; groups and the largest norm are not used.
    #[must_use]
    pub const fn new(options: AdamOptions) -> Self {
        Self { options }
    }
}

impl Optimizer for AdamUpdate {
    type State<const D: usize> = AdamState<D>;

    fn step<const D: usize>(
        &self,
        rate: LearningRate,
        tensor: Tensor<D>,
        gradient: Tensor<D>,
        state: Option<Self::State<D>>,
    ) -> (Tensor<D>, Option<Self::State<D>>) {
        let shape = tensor.shape();
        let n = shape.num_elements();
        // Burn keeps a count a tensor, as groups may begin at different steps.
        let time = state.as_ref().map_or(0, |state| state.momentum.time) + 1;
        // Flat, so that one loop serves tensors of every rank.
        let moments = state.map(|state| {
            (
                state.momentum.moment_1.reshape([n]),
                state.momentum.moment_2.reshape([n]),
            )
        });
        let scalars = Scalars::new(&self.options, self.options.decay, rate, time as u64, 1.0);
        let (tensor, (first, second)) = update(tensor, gradient, moments, &scalars);
        let (first, second) = (first.reshape(shape.clone()), second.reshape(shape));
        (
            tensor,
            Some(AdamState::new(AdaptiveMomentumState::new(
                time, first, second,
            ))),
        )
    }

    fn to_device<const D: usize>(mut state: Self::State<D>, device: &Device) -> Self::State<D> {
        state.momentum = state.momentum.to_device(device);
        state
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::TensorData;

    use super::*;
    use crate::Initializer;

    #[test]
    fn both_forms_are_one() {
        let device = Device::flex();
        let mut draws = Initializer::from_seed(1);
        // More than one chunk, and one that is not full.
        let (n_rows, n_columns) = (71, 139);
        let n = n_rows * n_columns;
        let mut random = |deviation: f64| draws.normal(n, deviation);
        let matrix = |values: Vec<f32>| {
            Tensor::<2>::from_data(TensorData::new(values, [n_rows, n_columns]), &device)
        };
        let (weight, gradient) = (matrix(random(1.0)), matrix(random(0.1)));
        let flat = |values: Vec<f32>| Tensor::<1>::from_data(TensorData::new(values, [n]), &device);
        let (first, second) = (flat(random(0.1)), flat(random(0.1)).square());
        for decay in [Decay::None, Decay::L2(0.1), Decay::Decoupled(0.1)] {
            let scalars = Scalars::new(&AdamOptions::default(), decay, 1e-2, 7, 0.5);
            // A turned gradient has its numbers in another order than its entries.
            let turned =
                Tensor::<2>::from_data(gradient.clone().transpose().to_data(), &device).transpose();
            let inputs = (weight.clone(), turned, first.clone(), second.clone());
            let (found, moments) = slices::update(inputs.0, inputs.1, inputs.2, inputs.3, &scalars);
            let inputs = (
                weight.clone(),
                gradient.clone(),
                first.clone(),
                second.clone(),
            );
            let (expected, others) =
                plain::update(inputs.0, inputs.1, inputs.2, inputs.3, &scalars);
            assert!(
                found.all_close(expected, Some(1e-6), Some(1e-7)),
                "{decay:?}"
            );
            assert!(
                moments.0.all_close(others.0, Some(1e-6), Some(1e-7)),
                "{decay:?}"
            );
            assert!(
                moments.1.all_close(others.1, Some(1e-6), Some(1e-7)),
                "{decay:?}"
            );
        }
    }
}
