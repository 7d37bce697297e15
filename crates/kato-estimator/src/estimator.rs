//! The estimator: predicts what a run over a corpus will store from what is known of the corpus.

mod builder;
mod contents;
mod level_figures;
mod observation;

use serde::{Deserialize, Serialize};

pub use self::builder::StorageEstimatorBuilder;
use self::observation::Observation;
use crate::breakdown::{LevelEstimate, StorageBreakdown};
use crate::bytes::LevelContents;
use crate::figure::Figure;
use crate::legacy::LegacyModel;
use crate::{
    Calibration, EstimateError, EstimatedHierarchy, FrequencyCounts, GrowthLaw, StorageEngine,
    Target,
};

/// Largest size, as a multiple of the observed corpus, that is estimated by default. Up to 100
/// times a sample was tested (`docs/costs.md`).
pub const DEFAULT_MAX_EXTRAPOLATION: f64 = 200.0;

/// The source of estimates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Model {
    /// Observations of the corpus, and the ensemble of growth laws or one law.
    Calibrated(Box<Calibration>, Option<GrowthLaw>),
    /// The original's formula.
    Legacy(LegacyModel),
}

/// Predicts what a run will store: learn calls, distinct patterns and bytes of every level, with
/// intervals.
///
/// ```
/// use kato_estimator::{Calibration, EstimatedHierarchy, SampleBuilder, StorageEstimator, Target};
///
/// let mut sample = SampleBuilder::new(EstimatedHierarchy::new([3, 2])?);
/// for document in 0..40u32 {
///     let tokens: Vec<u32> = (0..60).map(|i| (i * i + document) % 11).collect();
///     sample.add(&[tokens], 300);
/// }
/// let calibration = Calibration::from_sample(&sample.finish()?);
/// let estimator = StorageEstimator::builder().with_calibration(calibration).build()?;
/// let breakdown = estimator.estimate(Target::text_bytes(120_000))?;
/// assert_eq!(breakdown.level_estimates[0].learns.value, 8_000.0);
/// println!("{breakdown}");
/// # Ok::<(), kato_estimator::EstimateError>(())
/// ```
#[derive(Debug, Clone)]
pub struct StorageEstimator {
    model: Model,
    engine: StorageEngine,
    confidence: f64,
    max_extrapolation: f64,
    force: bool,
}

impl StorageEstimator {
    /// Starts building an estimator.
    pub fn builder() -> StorageEstimatorBuilder {
        StorageEstimatorBuilder::default()
    }

    /// Estimates what a run over so many documents will store.
    ///
    /// # Errors
    ///
    /// As [`estimate`](Self::estimate).
    pub fn estimate_storage(&self, num_samples: u64) -> Result<StorageBreakdown, EstimateError> {
        self.estimate(Target::samples(num_samples))
    }

    /// Estimates what a run over a corpus of this size will store.
    ///
    /// The bytes of its text, where they are known, give a better estimate than the number of its
    /// documents, because documents differ in length.
    ///
    /// # Errors
    ///
    /// [`EstimateError::Target`] for a size of nothing or in a unit that was not observed;
    /// [`EstimateError::TooFar`] beyond the range.
    pub fn estimate(&self, target: Target) -> Result<StorageBreakdown, EstimateError> {
        match &self.model {
            Model::Legacy(legacy) => self.by_formula(legacy, target),
            Model::Calibrated(calibration, law) => {
                // Refused, not capped: beyond the tested range nothing says that intervals hold.
                let factor = calibration.factor(&target)?;
                if factor > self.max_extrapolation && !self.force {
                    return Err(EstimateError::TooFar {
                        ratio: factor,
                        limit: self.max_extrapolation,
                    });
                }
                Ok(Observation::new(self, calibration, *law).estimate(target, factor))
            }
        }
    }

    /// Estimates by the original's formula, without intervals.
    fn by_formula(
        &self,
        legacy: &LegacyModel,
        target: Target,
    ) -> Result<StorageBreakdown, EstimateError> {
        let Some(samples) = target.samples.filter(|&samples| samples > 0) else {
            return Err(EstimateError::Target {
                value: 0.0,
                unit: "samples",
                reason: "the formula asks for a number of documents",
            });
        };
        // Nothing is known of the formula's error, and an invented interval would look like a
        // measured one.
        let bare = |value| Figure::bare(value, self.confidence);
        let levels = legacy.levels(samples);
        let level_estimates: Vec<LevelEstimate> = levels
            .iter()
            .enumerate()
            .map(|(level, estimate)| LevelEstimate {
                level,
                node: format!("node{level}"),
                chunk_size: legacy.chunk_size(),
                learns: bare(estimate.learns),
                distinct_patterns: bare(estimate.distinct_patterns),
                dedup_share: bare(estimate.dedup_share),
                bytes: bare(estimate.bytes),
                contents: LevelContents {
                    patterns: estimate.distinct_patterns,
                    ..LevelContents::default()
                },
                observed: FrequencyCounts::default(),
                growth: Vec::new(),
            })
            .collect();
        Ok(StorageBreakdown::from_levels(
            "legacy-formula",
            target,
            None,
            level_estimates,
            0.0,
            self.confidence,
        ))
    }

    /// Returns the hierarchy that estimates are for; `None` for the original's formula.
    #[must_use]
    pub fn hierarchy(&self) -> Option<&EstimatedHierarchy> {
        match &self.model {
            Model::Calibrated(calibration, _) => Some(&calibration.hierarchy),
            Model::Legacy(_) => None,
        }
    }
}
