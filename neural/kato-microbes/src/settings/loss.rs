//! What training makes small.

use kato_neural::run::check_setting;
use serde::{Deserialize, Serialize};

use crate::batch::BatchDraw;
use crate::error::MicrobesError;

/// The distance of a predicted number from the true one, both in standard deviations of the training
/// samples. Classes always have the negative logarithm of their probability.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum TargetLoss {
    /// Half the square up to 1, then linear: few far values do not rule. The default.
    ///
    /// Source: Huber, "Robust estimation of a location parameter", 1964.
    #[default]
    Huber,
    /// The square.
    Mse,
    /// The absolute difference.
    Mae,
    /// The absolute difference, weighted so that a quantile is the best answer.
    ///
    /// Source: Koenker and Bassett, "Regression quantiles", 1978.
    Pinball {
        /// The quantile, between 0 and 1.
        quantile: f64,
    },
    /// The square, weighted so that an expectile is the best answer: above a half, what is predicted too
    /// low costs more than what is predicted too high.
    ///
    /// Source: Newey and Powell, "Asymmetric least squares estimation and testing", 1987.
    Asymmetric {
        /// The expectile, between 0 and 1.
        expectile: f64,
    },
}

/// How hidden nucleotides lie.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Masking {
    /// Each alone. The default.
    #[default]
    Letters,
    /// Three to five side by side, so that neighbours give less away.
    Spans,
}

/// What training makes small: a weighted sum. A weight of 0 leaves a part out, and its cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct MicrobesLossOptions {
    /// Weight of the distances, while pre-training; 1 by default.
    pub unifrac: f64,
    /// Weight of the hidden nucleotides, while pre-training; 1 by default.
    pub nucleotides: f64,
    /// Share of the nucleotides that are hidden, in copies of every fourth sequence of a batch; 0.15 by
    /// default.
    pub masked: f64,
    /// How they lie.
    pub masking: Masking,
    /// Weight of the abundances, which are predicted beside the target; 0, the default, for none. Only
    /// where the model is not told them (`model.abundance = false`).
    pub counts: f64,
    /// The distance of predicted numbers.
    pub target: TargetLoss,
    /// Whether rare classes count as much as frequent ones; they do by default.
    pub class_weights: bool,
}

impl Default for MicrobesLossOptions {
    fn default() -> Self {
        Self {
            unifrac: 1.0,
            nucleotides: 1.0,
            masked: 0.15,
            masking: Masking::default(),
            counts: 0.0,
            target: TargetLoss::default(),
            class_weights: true,
        }
    }
}

impl MicrobesLossOptions {
    /// Returns the draw of hidden nucleotides, of which there are none where they have no weight.
    pub(crate) fn draw(&self, seed: u64) -> BatchDraw {
        let masked = if self.nucleotides > 0.0 {
            self.masked
        } else {
            0.0
        };
        BatchDraw::new(seed, masked).with_masking(self.masking)
    }

    /// Checks the settings.
    ///
    /// # Errors
    ///
    /// When one of them is out of its range.
    pub fn check(&self) -> Result<(), MicrobesError> {
        for (name, weight) in [
            ("loss.unifrac", self.unifrac),
            ("loss.nucleotides", self.nucleotides),
            ("loss.counts", self.counts),
        ] {
            check_setting(
                weight.is_finite() && weight >= 0.0,
                name,
                &weight,
                "0 or more",
            )?;
        }
        check_setting(
            self.unifrac + self.nucleotides != 0.0,
            "loss.unifrac",
            &0,
            "above 0 where `loss.nucleotides` is 0",
        )?;
        check_setting(
            self.masked > 0.0 && self.masked < 1.0,
            "loss.masked",
            &self.masked,
            "above 0 and below 1",
        )?;
        let (name, place) = match self.target {
            TargetLoss::Pinball { quantile } => ("loss.target.quantile", quantile),
            TargetLoss::Asymmetric { expectile } => ("loss.target.expectile", expectile),
            _ => return Ok(()),
        };
        let is_inside = place > 0.0 && place < 1.0;
        Ok(check_setting(
            is_inside,
            name,
            &place,
            "above 0 and below 1",
        )?)
    }
}
