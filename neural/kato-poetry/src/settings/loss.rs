//! What training makes small.

use kato_neural::run::check_setting;
use serde::{Deserialize, Serialize};

use crate::error::PoetryError;

/// How far a rebuilt chunk is from its original. Means are over tokens, so that no chunk counts more
/// for being padded less; the mean over chunks stands where it is said.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum LossKind {
    /// The mean squared difference over the numbers of a vector.
    Mse,
    /// 1 − cosine, mixed with the squared difference by `mse_share`. The default: it is what runs are
    /// judged by, and the squared difference is content with the mean vector for longer.
    #[default]
    Cosine,
    /// As `cosine`, but of the mean of a chunk's rebuilt vectors with the mean of its true ones, which is
    /// blind to the order of words; the mean is over chunks then, but for the squared difference.
    SequenceCosine,
    /// The cross-entropy of words, out of a linear layer from a rebuilt vector to the vocabulary.
    Token,
    /// `token` and `cosine`, by their weights.
    Hybrid,
}

impl LossKind {
    /// Returns whether the model needs a layer that guesses words.
    #[must_use]
    pub const fn needs_words(self) -> bool {
        matches!(self, Self::Token | Self::Hybrid)
    }
}

/// What training makes small: the distance of what was rebuilt, and terms of the codes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct LossOptions {
    /// The distance of a token.
    pub kind: LossKind,
    /// Share of the squared difference in the cosine losses, from 0 to 1; 0.1 by default.
    pub mse_share: f64,
    /// If given, the cosine losses take tanh(temperature · cosine) in the place of the cosine.
    pub temperature: Option<f64>,
    /// Share of the probability that the cross-entropy spreads over all words, from 0 to below 1; 0.1
    /// by default.
    pub smoothing: f64,
    /// Weight of the cross-entropy in the hybrid loss, 0.7 by default; both weights are divided by
    /// their sum.
    pub token_weight: f64,
    /// Weight of the cosine loss in the hybrid one, 0.3 by default.
    pub cosine_weight: f64,
    /// Weight of the mean square of the codes in the training loss, 0.001 by default; no part of any
    /// loss that is reported for validation.
    pub bottleneck_l2: f64,
    /// Weight of the mean length of the codes, ‖z‖₂, in the training loss; 0 by default. The
    /// original's composite loss has 0.001.
    pub code_norm: f64,
    /// Weight of the codes' entropy, which the training loss is lowered by; 0 by default. It is that
    /// of softmax(|z|) over the units, so that it asks for codes of many units.
    pub code_entropy: f64,
}

impl Default for LossOptions {
    fn default() -> Self {
        Self {
            kind: LossKind::Cosine,
            mse_share: 0.1,
            temperature: None,
            smoothing: 0.1,
            token_weight: 0.7,
            cosine_weight: 0.3,
            bottleneck_l2: 1e-3,
            code_norm: 0.0,
            code_entropy: 0.0,
        }
    }
}

impl LossOptions {
    /// Checks the settings.
    ///
    /// # Errors
    ///
    /// When one of them is out of its range.
    pub fn check(&self) -> Result<(), PoetryError> {
        let is_weight = |value: f64| value.is_finite() && value >= 0.0;
        check_setting(
            (0.0..=1.0).contains(&self.mse_share),
            "loss.mse_share",
            &self.mse_share,
            "from 0 to 1",
        )?;
        check_setting(
            (0.0..1.0).contains(&self.smoothing),
            "loss.smoothing",
            &self.smoothing,
            "at least 0 and below 1",
        )?;
        let is_positive = |value: f64| value.is_finite() && value > 0.0;
        if let Some(temperature) = self.temperature {
            let is_fine = is_positive(temperature);
            check_setting(is_fine, "loss.temperature", &temperature, "above 0")?;
        }
        for (name, weight) in [
            ("loss.token_weight", self.token_weight),
            ("loss.cosine_weight", self.cosine_weight),
            ("loss.bottleneck_l2", self.bottleneck_l2),
            ("loss.code_norm", self.code_norm),
            ("loss.code_entropy", self.code_entropy),
        ] {
            check_setting(is_weight(weight), name, &weight, "0 or more")?;
        }
        check_setting(
            is_positive(self.token_weight + self.cosine_weight),
            "loss.token_weight",
            &self.token_weight,
            "above 0, as `loss.cosine_weight` is 0",
        )?;
        Ok(())
    }

    /// Returns the weights of cross-entropy and cosine loss in the hybrid one, which sum to 1.
    #[must_use]
    pub fn hybrid_weights(&self) -> (f64, f64) {
        let sum = self.token_weight + self.cosine_weight;
        (self.token_weight / sum, self.cosine_weight / sum)
    }
}
