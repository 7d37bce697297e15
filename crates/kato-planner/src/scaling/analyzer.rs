//! The settings of a fit, and the fit.

use crate::scaling::fitted::{Candidate, Scaling};
use crate::scaling::form::Form;
use crate::scaling::{Law, ScalingError};

/// Fewest measurements of which two parameters can be told.
const ENOUGH_FOR_TWO: usize = 5;
/// Least that is left of a logarithm: below it, measurements are taken for exact.
const LEAST_SPREAD: f64 = 1e-9;

/// Fits laws to measurements and chooses among them.
#[derive(Debug, Clone, PartialEq)]
pub struct ScalingAnalyzer {
    laws: Vec<Law>,
    confidence: f64,
    max_extrapolation: f64,
    is_forced: bool,
}

impl Default for ScalingAnalyzer {
    fn default() -> Self {
        Self::new()
    }
}

impl ScalingAnalyzer {
    /// Creates an analyzer of costs: the laws of [`Law::COSTS`], intervals for 90 %, and answers up
    /// to 100 times the largest size.
    #[must_use]
    pub fn new() -> Self {
        Self {
            laws: Law::COSTS.to_vec(),
            confidence: 0.9,
            max_extrapolation: 100.0,
            is_forced: false,
        }
    }

    /// Sets the laws to choose from.
    #[must_use]
    pub fn with_laws(mut self, laws: impl IntoIterator<Item = Law>) -> Self {
        self.laws = laws.into_iter().collect();
        self.laws.sort_unstable();
        self.laws.dedup();
        self
    }

    /// Sets the share of cases in which intervals are to hold the truth; above 0 and below 1.
    #[must_use]
    pub fn with_confidence(mut self, confidence: f64) -> Self {
        self.confidence = confidence;
        self
    }

    /// Sets how many times the largest size, or below the smallest, is answered; at least 1.
    #[must_use]
    pub fn with_max_extrapolation(mut self, ratio: f64) -> Self {
        self.max_extrapolation = ratio;
        self
    }

    /// Answers however far a size is.
    #[must_use]
    pub fn with_force(mut self, force: bool) -> Self {
        self.is_forced = force;
        self
    }

    /// Fits the laws to sizes and values, in any order; a size may be measured more than once, and
    /// should be.
    ///
    /// # Errors
    ///
    /// [`ScalingError::TooFewSizes`] with fewer than three different sizes,
    /// [`ScalingError::Value`] for numbers that are not above 0, [`ScalingError::NoLaw`] and
    /// [`ScalingError::Setting`] for settings that cannot be.
    pub fn fit(
        &self,
        measurements: impl IntoIterator<Item = (f64, f64)>,
    ) -> Result<Scaling, ScalingError> {
        let points: Vec<(f64, f64)> = measurements.into_iter().collect();
        self.check(&points)?;
        let allowed = match points.len() < ENOUGH_FOR_TWO {
            true => 1,
            false => 2,
        };
        let forms = self.laws.iter().flat_map(|&law| Form::of(law));
        let forms = forms.filter(|form| form.n_parameters() <= allowed);
        let candidates: Vec<Candidate> = forms
            .map(|form| Candidate::new(form.fit(&points), &points, LEAST_SPREAD))
            .collect();
        let largest = points.iter().map(|point| point.0).fold(0.0, f64::max);
        let smallest = points
            .iter()
            .map(|point| point.0)
            .fold(f64::INFINITY, f64::min);
        let reach = match self.is_forced {
            true => f64::INFINITY,
            false => self.max_extrapolation,
        };
        Scaling::choose(
            candidates,
            points,
            (smallest, largest),
            self.confidence,
            reach,
        )
        .ok_or(ScalingError::NoLaw)
    }

    fn check(&self, points: &[(f64, f64)]) -> Result<(), ScalingError> {
        if !(self.confidence > 0.0 && self.confidence < 1.0) {
            return Err(ScalingError::Setting {
                setting: "confidence",
                value: self.confidence,
                allowed: "a share above 0 and below 1",
            });
        }
        // Also refuses what is no number.
        if self.max_extrapolation.is_nan() || self.max_extrapolation < 1.0 {
            return Err(ScalingError::Setting {
                setting: "max_extrapolation",
                value: self.max_extrapolation,
                allowed: "a ratio of 1 or more",
            });
        }
        for (position, &(size, value)) in points.iter().enumerate() {
            for (what, value) in [("size", size), ("value", value)] {
                // Beyond these, squares and logarithms leave the numbers that there are.
                if !(1e-100..=1e100).contains(&value) {
                    return Err(ScalingError::Value {
                        what,
                        value,
                        position,
                    });
                }
            }
        }
        let mut sizes: Vec<f64> = points.iter().map(|point| point.0).collect();
        sizes.sort_by(f64::total_cmp);
        sizes.dedup();
        match sizes.len() {
            sizes @ 0..3 => Err(ScalingError::TooFewSizes { sizes }),
            _ => Ok(()),
        }
    }
}
