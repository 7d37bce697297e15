//! Adam over a whole model.

use std::collections::{BTreeMap, BTreeSet};

use burn::module::{Module, ModuleMapper, Param};
use burn::optim::GradientsParams;
use burn::tensor::Tensor;

use super::update::{Scalars, update};
use super::{AdamOptions, GlobalNorm, global_norm};
use crate::names::Names;

/// Running means of one parameter's gradient and of its square, flat.
#[derive(Debug, Clone)]
pub(crate) struct Moments {
    pub(crate) first: Tensor<1>,
    pub(crate) second: Tensor<1>,
}

/// Adam or AdamW over all parameters of a model, with groups by name and one clip over all gradients.
///
/// Its state is kept under the parameters' names, so that it fits a model that was made anew.
///
/// Source: Kingma and Ba, "Adam: a method for stochastic optimization", 2015, in PyTorch's form:
/// `w ← w·(1 − rate·decay) − rate / (1 − β₁ᵗ) · m / (√v / √(1 − β₂ᵗ) + ε)`.
///
/// ```
/// use kato_neural::burn::optim::GradientsParams;
/// use kato_neural::burn::tensor::{Device, Tensor};
/// use kato_neural::{Adam, AdamOptions, Initializer, layers};
///
/// let device = Device::flex().autodiff();
/// let model = layers::linear(2, 1, 1.0, &mut Initializer::from_seed(1), &device);
/// let mut adam = Adam::new(AdamOptions::default().with_max_norm(1.0));
///
/// let loss = model.forward(Tensor::<2>::from_floats([[1.0, 2.0]], &device)).square().sum();
/// let gradients = GradientsParams::from_grads(loss.backward(), &model);
/// let (model, step) = adam.step(1e-3, model, gradients, 1.0);
/// assert!(step.applied && step.norm > 0.0);
/// # let _ = model;
/// ```
#[derive(Debug, Clone)]
pub struct Adam {
    options: AdamOptions,
    time: u64,
    moments: BTreeMap<String, Moments>,
    /// The parameters that are updated; all of them where there is no such list.
    owned: Option<BTreeSet<String>>,
}

/// What became of one step.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct AdamStep {
    /// Whether the weights were changed; they are not where a gradient is not finite.
    pub applied: bool,
    /// The norm over all gradients before the clip.
    pub norm: f64,
    /// Whether the gradients were scaled down.
    pub clipped: bool,
    /// The first parameter whose gradient is infinite or not a number.
    pub not_finite: Option<String>,
}

impl Adam {
    /// Begins without a history.
    #[must_use]
    pub const fn new(options: AdamOptions) -> Self {
        Self {
            options,
            time: 0,
            // Made when a gradient first comes, as only the model knows the shapes.
            moments: BTreeMap::new(),
            owned: None,
        }
    }

    /// Updates some parameters alone from now on, and keeps the state of these: others update the rest.
    /// The norm of the clip stays that of all gradients.
    pub(crate) fn own(&mut self, names: BTreeSet<String>) {
        self.moments.retain(|name, _| names.contains(name));
        self.owned = Some(names);
    }

    /// The settings.
    #[must_use]
    pub const fn options(&self) -> &AdamOptions {
        &self.options
    }

    /// How many steps were applied.
    #[must_use]
    pub const fn n_steps(&self) -> u64 {
        self.time
    }

    /// Updates a model's weights. `scale` multiplies every gradient first: the inverse of a loss scale.
    ///
    /// Parameters without a gradient stay as they are, and so does all if a gradient is not finite.
    pub fn step<M: Module>(
        &mut self,
        rate: f64,
        model: M,
        gradients: GradientsParams,
        scale: f64,
    ) -> (M, AdamStep) {
        // One pass over all gradients before any weight changes: a step is taken whole or not at
        // all.
        let total = global_norm(&model, &gradients);
        self.step_of_norm(rate, model, gradients, scale, total)
    }

    /// Takes a step with gradients of which others may have some more, all of them with such a norm.
    pub(crate) fn step_of_norm<M: Module>(
        &mut self,
        rate: f64,
        model: M,
        gradients: GradientsParams,
        scale: f64,
        total: GlobalNorm,
    ) -> (M, AdamStep) {
        // Before the clip, as a limit is meant for gradients of the loss and not of the scaled one.
        let norm = total.norm * scale;
        let factor = match self.options.max_norm {
            // PyTorch's form: the little number keeps a norm of zero from dividing.
            Some(max_norm) => (max_norm / (norm + 1e-6)).min(1.0),
            None => 1.0,
        };
        let step = AdamStep {
            applied: norm.is_finite(),
            norm,
            clipped: factor < 1.0,
            not_finite: total.not_finite,
        };
        if !step.applied {
            return (model, step);
        }
        // Counted only when applied: the bias correction is of what the moments have seen.
        self.time += 1;
        let mut mapper = StepMapper {
            adam: self,
            gradients,
            names: Names::default(),
            rate,
            // One product an entry takes back the loss scale and clips.
            scale: scale * factor,
        };
        (model.map(&mut mapper), step)
    }

    /// The state, by name of the parameter.
    pub(crate) const fn moments(&self) -> &BTreeMap<String, Moments> {
        &self.moments
    }

    /// Replaces the state.
    pub(crate) fn restore(&mut self, time: u64, moments: BTreeMap<String, Moments>) {
        self.time = time;
        self.moments = moments;
    }
}

struct StepMapper<'a> {
    adam: &'a mut Adam,
    gradients: GradientsParams,
    names: Names,
    rate: f64,
    scale: f64,
}

impl ModuleMapper for StepMapper<'_> {
    fn enter_module(&mut self, name: &str, container_type: &str) {
        self.names.enter(name, container_type);
    }

    fn exit_module(&mut self, _name: &str, _container_type: &str) {
        self.names.leave();
    }

    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let Some(gradient) = self.gradients.remove::<D>(param.id) else {
            // No part in this loss: neither moments nor decay move it.
            return param;
        };
        // By name and not by Burn's id, which is drawn anew for each model.
        let name = self.names.current().text;
        let adam = &mut *self.adam;
        if adam
            .owned
            .as_ref()
            .is_some_and(|owned| !owned.contains(&name))
        {
            return param;
        }
        let (decay, rate_factor) = adam.options.rule(&name);
        let rate = self.rate * rate_factor;
        let scalars = Scalars::new(&adam.options, decay, rate, adam.time, self.scale);
        // Taken out, so that no second handle keeps the update from being in place.
        let moments = adam
            .moments
            .remove(&name)
            .map(|moments| (moments.first, moments.second));

        let (id, tensor, mapper) = param.consume();
        // It is lost where the tensor leaves the graph, and the next step would mix two strategies.
        let strategy = tensor.gradient_checkpointing_strategy();
        let (tensor, (first, second)) = update(tensor.inner(), gradient, moments, &scalars);
        adam.moments.insert(name, Moments { first, second });
        let mut tensor = Tensor::from_inner(tensor);
        if let Some(strategy) = strategy {
            tensor = tensor.with_gradient_checkpointing_strategy(strategy);
        }
        Param::from_mapped_value(id, tensor.require_grad(), mapper)
    }
}
