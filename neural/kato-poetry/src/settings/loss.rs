//! What training makes small.

use serde::{Deserialize, Serialize};

use crate::error::PoetryError;

/// How far a rebuilt chunk is from its original; always a mean over tokens, so that no chunk counts
/// more for being padded less.
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
}

/// What training makes small.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct LossOptions {
    /// The distance of a token.
    pub kind: LossKind,
    /// Share of the squared difference in the cosine loss, from 0 to 1; 0.1 by default.
    pub mse_share: f64,
    /// If given, the cosine loss takes tanh(temperature · cosine) in the place of the cosine.
    pub temperature: Option<f64>,
    /// Weight of the mean square of the codes in the training loss, 0.001 by default; no part of any
    /// loss that is reported for validation.
    pub bottleneck_l2: f64,
}

impl Default for LossOptions {
    fn default() -> Self {
        Self {
            kind: LossKind::Cosine,
            mse_share: 0.1,
            temperature: None,
            bottleneck_l2: 1e-3,
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
        if !(0.0..=1.0).contains(&self.mse_share) {
            return Err(PoetryError::setting(
                "loss.mse_share",
                &self.mse_share,
                "from 0 to 1",
            ));
        }
        let is_positive = |value: f64| value.is_finite() && value > 0.0;
        if let Some(temperature) = self.temperature.filter(|value| !is_positive(*value)) {
            return Err(PoetryError::setting(
                "loss.temperature",
                &temperature,
                "above 0",
            ));
        }
        if !(self.bottleneck_l2.is_finite() && self.bottleneck_l2 >= 0.0) {
            return Err(PoetryError::setting(
                "loss.bottleneck_l2",
                &self.bottleneck_l2,
                "0 or more",
            ));
        }
        Ok(())
    }
}
