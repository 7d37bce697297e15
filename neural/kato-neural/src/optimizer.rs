//! Adam and AdamW over whole models, with decay groups and one clip over all gradients.

mod adam;
mod norm;
mod plain;
mod slices;
mod update;

pub use adam::{Adam, AdamStep};
pub use norm::{GlobalNorm, global_norm};
pub use update::AdamUpdate;

pub(crate) use adam::Moments;
pub(crate) use norm::squares;

/// How weights decay.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Decay {
    /// They do not.
    None,
    /// The gradient gets `factor · weight` added before the moments see it: Adam with an L2 penalty.
    L2(f64),
    /// The weight shrinks by `rate · factor` of itself beside the step: AdamW.
    ///
    /// Source: Loshchilov and Hutter, "Decoupled weight decay regularization", 2019.
    Decoupled(f64),
}

/// An exception for the parameters whose name matches a pattern.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct Group {
    /// Names, as in a checkpoint; `*` stands for any characters.
    pub pattern: String,
    /// How they decay.
    pub decay: Decay,
    /// Their learning rate as a share of the step's.
    pub rate_factor: f64,
}

impl Group {
    /// Parameters that do not decay.
    #[must_use]
    pub fn without_decay(pattern: impl Into<String>) -> Self {
        Self {
            pattern: pattern.into(),
            decay: Decay::None,
            rate_factor: 1.0,
        }
    }

    /// Gives the parameters a share of the learning rate.
    #[must_use]
    pub const fn with_rate_factor(mut self, rate_factor: f64) -> Self {
        self.rate_factor = rate_factor;
        self
    }

    /// Lets the parameters decay.
    #[must_use]
    pub const fn with_decay(mut self, decay: Decay) -> Self {
        self.decay = decay;
        self
    }
}

/// Settings of [`Adam`].
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct AdamOptions {
    /// How much of the gradient's running mean is kept a step, 0.9 by default.
    pub beta_1: f64,
    /// How much of the square's running mean is kept a step, 0.999 by default.
    pub beta_2: f64,
    /// Added to the root of the square's mean, 10⁻⁸ by default.
    pub epsilon: f64,
    /// How weights decay that are in no group.
    pub decay: Decay,
    /// Exceptions; the last one that matches holds.
    pub groups: Vec<Group>,
    /// The largest norm over all gradients together; larger ones are scaled down to it.
    pub max_norm: Option<f64>,
}

impl Default for AdamOptions {
    /// PyTorch's `Adam`: no decay, no clipping.
    fn default() -> Self {
        Self {
            beta_1: 0.9,
            beta_2: 0.999,
            // Burn's default, 10⁻⁵, is another optimiser where gradients are small.
            epsilon: 1e-8,
            decay: Decay::None,
            groups: Vec::new(),
            // Off, as a limit that fits one loss is far too low for another.
            max_norm: None,
        }
    }
}

impl AdamOptions {
    /// Sets how weights decay.
    #[must_use]
    pub const fn with_decay(mut self, decay: Decay) -> Self {
        self.decay = decay;
        self
    }

    /// Adds an exception, which holds over those before it.
    #[must_use]
    pub fn with_group(mut self, group: Group) -> Self {
        self.groups.push(group);
        self
    }

    /// Clips to this norm over all gradients.
    #[must_use]
    pub const fn with_max_norm(mut self, max_norm: f64) -> Self {
        self.max_norm = Some(max_norm);
        self
    }

    /// Returns the decay and the rate's factor of a parameter.
    pub(crate) fn rule(&self, name: &str) -> (Decay, f64) {
        let group = self
            .groups
            .iter()
            // From the last: an exception may narrow one that was added before.
            .rev()
            .find(|group| crate::names::matches(&group.pattern, name));
        group.map_or((self.decay, 1.0), |group| (group.decay, group.rate_factor))
    }
}
