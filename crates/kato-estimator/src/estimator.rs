//! The estimator: predicts what a run over a corpus will store from what is known of the corpus.

mod builder;
mod contents;
mod level_figures;
mod observation;

pub use self::builder::StorageEstimatorBuilder;
use self::observation::Observation;
use crate::breakdown::StorageBreakdown;
use crate::{Calibration, EstimateError, EstimatedHierarchy, GrowthLaw, StorageEngine, Target};

/// Largest size, as a multiple of the observed corpus, that is estimated by default. Up to 100
/// times a sample was tested (`docs/costs.md`).
pub const DEFAULT_MAX_EXTRAPOLATION: f64 = 200.0;

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
    calibration: Calibration,
    /// One law instead of the ensemble.
    law: Option<GrowthLaw>,
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
        // Refused, not capped: beyond the tested range nothing says that intervals hold.
        let factor = self.calibration.factor(&target)?;
        if factor > self.max_extrapolation && !self.force {
            return Err(EstimateError::TooFar {
                ratio: factor,
                limit: self.max_extrapolation,
            });
        }
        Ok(Observation::new(self, &target, factor).estimate(target))
    }

    /// Returns the hierarchy that estimates are for.
    #[must_use]
    pub fn hierarchy(&self) -> &EstimatedHierarchy {
        &self.calibration.hierarchy
    }
}
