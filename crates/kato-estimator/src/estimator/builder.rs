//! The builder of an estimator.

use super::{DEFAULT_MAX_EXTRAPOLATION, StorageEstimator};
use crate::{Calibration, EstimateError, GrowthLaw, StorageEngine};

/// Builder of a [`StorageEstimator`], made by [`StorageEstimator::builder`].
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct StorageEstimatorBuilder {
    calibration: Option<Calibration>,
    law: Option<GrowthLaw>,
    engine: Option<StorageEngine>,
    confidence: Option<f64>,
    max_extrapolation: Option<f64>,
    force: bool,
}

impl StorageEstimatorBuilder {
    /// Sets what was observed of the corpus, the source of all estimates.
    pub fn with_calibration(mut self, calibration: Calibration) -> Self {
        self.calibration = Some(calibration);
        self
    }

    /// Sets one growth law to estimate by. Default: what the documents of a sample tell; of a run,
    /// several laws together.
    pub fn with_law(mut self, law: GrowthLaw) -> Self {
        self.law = Some(law);
        self
    }

    /// Sets the store whose bytes are estimated. Default: the embedded one after compacting.
    pub fn with_engine(mut self, engine: StorageEngine) -> Self {
        self.engine = Some(engine);
        self
    }

    /// Sets the share of cases in which intervals are to hold the truth. Default 0.9.
    pub fn with_confidence(mut self, confidence: f64) -> Self {
        self.confidence = Some(confidence);
        self
    }

    /// Sets the largest size that is estimated, as a multiple of the observed corpus. Default
    /// [`DEFAULT_MAX_EXTRAPOLATION`].
    pub fn with_max_extrapolation(mut self, factor: f64) -> Self {
        self.max_extrapolation = Some(factor);
        self
    }

    /// Sets whether sizes beyond the range are estimated as well. Nothing says that intervals hold
    /// there. Default: not.
    pub fn with_force(mut self, force: bool) -> Self {
        self.force = force;
        self
    }

    /// Checks the settings and builds the estimator.
    ///
    /// # Errors
    ///
    /// [`EstimateError::NoModel`] without a calibration;
    /// [`EstimateError::Setting`] for a confidence not between 0 and 1 or a range below 1.
    pub fn build(self) -> Result<StorageEstimator, EstimateError> {
        let calibration = self.calibration.ok_or(EstimateError::NoModel)?;
        let confidence = self.confidence.unwrap_or(0.9);
        // Written so that NaN is refused as well.
        if !(confidence > 0.0 && confidence < 1.0) {
            return Err(EstimateError::Setting {
                setting: "confidence",
                value: confidence,
                allowed: "a number between 0 and 1",
            });
        }
        let max_extrapolation = self.max_extrapolation.unwrap_or(DEFAULT_MAX_EXTRAPOLATION);
        if max_extrapolation.is_nan() || max_extrapolation < 1.0 {
            return Err(EstimateError::Setting {
                setting: "max_extrapolation",
                value: max_extrapolation,
                allowed: "at least 1",
            });
        }
        Ok(StorageEstimator {
            calibration,
            law: self.law,
            engine: self.engine.unwrap_or_else(StorageEngine::embedded),
            confidence,
            max_extrapolation,
            force: self.force,
        })
    }
}
