//! Adam as one launch over all weights, with the clip over all gradients before it.

use tch::nn::VarStore;
use tch::{Kind, Tensor};

use crate::{Error, native};

/// How weights decay.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Decay {
    /// The gradient gets `factor · weight` added: Adam with an L2 penalty.
    L2(f64),
    /// The weight shrinks by `rate · factor` of itself beside the step: AdamW.
    Decoupled(f64),
}

/// Settings of [`Adam`].
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct AdamOptions {
    /// The learning rate, 0.001 by default.
    pub rate: f64,
    /// How weights decay; by default they do not.
    pub decay: Decay,
    /// The largest norm over all gradients together; none by default.
    pub max_norm: Option<f64>,
}

impl Default for AdamOptions {
    fn default() -> Self {
        Self {
            rate: 1e-3,
            decay: Decay::L2(0.0),
            max_norm: None,
        }
    }
}

impl AdamOptions {
    /// Sets the learning rate.
    #[must_use]
    pub const fn with_rate(mut self, rate: f64) -> Self {
        self.rate = rate;
        self
    }

    /// Sets how weights decay.
    #[must_use]
    pub const fn with_decay(mut self, decay: Decay) -> Self {
        self.decay = decay;
        self
    }

    /// Clips to this norm over all gradients.
    #[must_use]
    pub const fn with_max_norm(mut self, max_norm: f64) -> Self {
        self.max_norm = Some(max_norm);
        self
    }
}

/// Adam or AdamW over all weights of a model, β₁ = 0.9, β₂ = 0.999, ε = 10⁻⁸.
///
/// Source: Kingma and Ba, "Adam: a method for stochastic optimization", 2015.
#[derive(Debug)]
pub struct Adam {
    options: AdamOptions,
    parameters: Vec<Tensor>,
    first: Vec<Tensor>,
    second: Vec<Tensor>,
    /// How many steps each weight took, on the device.
    steps: Vec<Tensor>,
}

impl Adam {
    /// Begins without a history.
    #[must_use]
    pub fn new(store: &VarStore, options: AdamOptions) -> Self {
        let parameters = store.trainable_variables();
        let zeros = || {
            parameters
                .iter()
                .map(|weight| weight.detach().zeros_like())
                .collect()
        };
        let counts = parameters.iter();
        let counts = counts.map(|weight| Tensor::zeros([0_i64; 0], (Kind::Float, weight.device())));
        Self {
            options,
            first: zeros(),
            second: zeros(),
            steps: counts.collect(),
            parameters,
        }
    }

    /// The weights, in the order of the model.
    pub fn parameters(&self) -> &[Tensor] {
        &self.parameters
    }

    /// Clips gradients, moves weights; returns the norm over all gradients before the clip, on the
    /// device, if there is a clip.
    ///
    /// # Errors
    ///
    /// When a weight has no gradient.
    pub fn step(&mut self) -> Result<Option<Tensor>, Error> {
        let max_norm = self.options.max_norm;
        let norm = max_norm.map(|max_norm| native::clip(&self.parameters, max_norm));
        let norm = norm.transpose()?;
        let (decay, decoupled) = match self.options.decay {
            Decay::L2(factor) => (factor, false),
            Decay::Decoupled(factor) => (factor, true),
        };
        let rates = [self.options.rate, 0.9, 0.999, decay, 1e-8];
        let state = [&self.first, &self.second, &self.steps].map(Vec::as_slice);
        native::adam(&self.parameters, state, rates, decoupled)?;
        Ok(norm)
    }

    /// Makes gradients absent, so that the next backward pass stores instead of adding.
    ///
    /// # Errors
    ///
    /// What LibTorch refuses.
    pub fn clear_gradients(&self) -> Result<(), Error> {
        native::clear_gradients(&self.parameters)
    }
}
