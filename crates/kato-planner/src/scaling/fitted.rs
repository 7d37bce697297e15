//! The outcome of a fit: the chosen law, its rivals, and what they foretell.

use std::fmt;

use serde::Serialize;

use crate::scaling::form::FittedForm;
use crate::scaling::mixture::{Belief, quantile};
use crate::scaling::prediction::{Crossing, Limit, Prediction};
use crate::scaling::{Law, ScalingError};

/// Difference of the criterion up to which a form is a rival: beyond it, it is less than a seventh
/// as likely.
const RIVALRY: f64 = 4.0;
/// What a second parameter is charged beyond AICc.
///
/// A law within another, as O(n) is within n^p, is never the closer one, and AICc alone takes the
/// wider one in an eighth of all cases where the narrower is true.
const SECOND_PARAMETER: f64 = 6.0;
/// Share of the belief below which a form is left out of intervals.
const NEGLIGIBLE: f64 = 1e-3;

/// How a cost grows with the size of the work.
#[derive(Debug, Clone, PartialEq)]
pub struct Scaling {
    /// By the criterion: the chosen one first.
    candidates: Vec<Candidate>,
    points: Vec<(f64, f64)>,
    range: (f64, f64),
    confidence: f64,
    reach: f64,
}

/// A law that was fitted, for reports.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FittedLaw {
    /// The law.
    pub law: Law,
    /// The value as a function of the size n, with coefficients; of Pitman–Yor these alone.
    pub equation: String,
    /// Number of parameters.
    pub parameters: usize,
    /// Akaike's criterion for few points, with 6 more for a second parameter; only differences mean
    /// anything, and less is better.
    pub criterion: f64,
    /// Share of the belief that the criterion gives this law, of all that were fitted.
    pub weight: f64,
    /// What measurements differ from the law by, as a share.
    pub spread: f64,
}

/// A form with what is needed to judge it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Candidate {
    fitted: FittedForm,
    criterion: f64,
    spread: f64,
    freedom: f64,
    /// Covariance of the parameters, in units of the square of the spread; row by row.
    covariance: [[f64; 2]; 2],
    weight: f64,
}

impl Candidate {
    pub(crate) fn new(fitted: FittedForm, points: &[(f64, f64)], least_spread: f64) -> Self {
        let (n, p) = (points.len() as f64, fitted.parameters.len() as f64);
        let squares = fitted.squares.max(n * least_spread * least_spread);
        // The spread is a parameter as well.
        let k = p + 1.0;
        let few = match n - k - 1.0 {
            left if left > 0.0 => 2.0 * k * (k + 1.0) / left,
            // With three or four points, all forms have one parameter, so the charge is the same.
            _ => 0.0,
        };
        Self {
            criterion: n * (squares / n).ln() + 2.0 * k + few + SECOND_PARAMETER * (p - 1.0),
            spread: (squares / (n - p)).sqrt(),
            freedom: n - p,
            covariance: covariance(&fitted, points),
            weight: 0.0,
            fitted,
        }
    }

    fn law(&self) -> Law {
        self.fitted.form.law()
    }

    fn n_parameters(&self) -> usize {
        self.fitted.parameters.len()
    }

    /// Returns what this form believes of a measurement at a size.
    fn belief(&self, size: f64) -> Belief {
        let gradient = self.fitted.gradient(size);
        let of = |idx: usize| gradient.get(idx).copied().unwrap_or(0.0);
        let [[a, b], [_, d]] = self.covariance;
        let parameters = of(0) * of(0) * a + 2.0 * of(0) * of(1) * b + of(1) * of(1) * d;
        Belief {
            weight: self.weight,
            center: self.fitted.ln_value(size),
            spread: self.spread * (1.0 + parameters.max(0.0)).sqrt(),
            freedom: self.freedom,
        }
    }
}

/// Returns the inverse of the products of gradients at the points.
fn covariance(fitted: &FittedForm, points: &[(f64, f64)]) -> [[f64; 2]; 2] {
    let (mut aa, mut ab, mut bb) = (0.0, 0.0, 0.0);
    for &(size, _) in points {
        let gradient = fitted.gradient(size);
        let of = |idx: usize| gradient.get(idx).copied().unwrap_or(0.0);
        aa += of(0) * of(0);
        ab += of(0) * of(1);
        bb += of(1) * of(1);
    }
    let determinant = aa * bb - ab * ab;
    if fitted.parameters.len() == 2 && determinant > 1e-12 * aa * bb {
        return [
            [bb / determinant, -ab / determinant],
            [-ab / determinant, aa / determinant],
        ];
    }
    // One parameter, or a second one that changes nothing at these sizes.
    [[1.0 / aa.max(f64::MIN_POSITIVE), 0.0], [0.0, 0.0]]
}

impl Scaling {
    /// Chooses among candidates; `None` without any.
    pub(crate) fn choose(
        mut candidates: Vec<Candidate>,
        points: Vec<(f64, f64)>,
        range: (f64, f64),
        confidence: f64,
        reach: f64,
    ) -> Option<Self> {
        candidates.sort_by(|a, b| a.criterion.total_cmp(&b.criterion));
        let least = candidates.first()?.criterion;
        let likelihood = |candidate: &Candidate| (0.5 * (least - candidate.criterion)).exp();
        let total: f64 = candidates.iter().map(likelihood).sum();
        for candidate in &mut candidates {
            candidate.weight = likelihood(candidate) / total;
        }
        Some(Self {
            candidates,
            points,
            range,
            confidence,
            reach,
        })
    }

    /// Returns the law that was chosen.
    #[must_use]
    pub fn law(&self) -> Law {
        self.chosen().law()
    }

    /// Returns the value as a function of the size n, as text; of Pitman–Yor the parameters alone.
    #[must_use]
    pub fn equation(&self) -> String {
        self.chosen().fitted.equation()
    }

    /// Returns what measurements differ from the law by, as a share of their values.
    #[must_use]
    pub fn spread(&self) -> f64 {
        self.chosen().spread
    }

    /// Returns the smallest and the largest size that was measured.
    #[must_use]
    pub fn range(&self) -> (f64, f64) {
        self.range
    }

    /// Returns the measurements.
    #[must_use]
    pub fn measurements(&self) -> &[(f64, f64)] {
        &self.points
    }

    /// Returns other laws that the measurements allow about as well, the likeliest first.
    ///
    /// Measure sizes that are further apart to be rid of them.
    #[must_use]
    pub fn rivals(&self) -> Vec<Law> {
        let most = self.chosen().criterion + RIVALRY;
        let near = self
            .candidates
            .iter()
            .filter(|candidate| candidate.criterion <= most);
        let mut rivals: Vec<Law> = Vec::new();
        for law in near.map(Candidate::law) {
            if law != self.law() && !rivals.contains(&law) {
                rivals.push(law);
            }
        }
        rivals
    }

    /// Returns all that was fitted, the chosen one first.
    #[must_use]
    pub fn fits(&self) -> Vec<FittedLaw> {
        let fits = self.candidates.iter().map(|candidate| FittedLaw {
            law: candidate.law(),
            equation: candidate.fitted.equation(),
            parameters: candidate.n_parameters(),
            criterion: candidate.criterion,
            weight: candidate.weight,
            spread: candidate.spread,
        });
        fits.collect()
    }

    /// Returns what a measurement at a size will be.
    ///
    /// # Errors
    ///
    /// [`ScalingError::TooFar`] for a size beyond the range that the analyzer allows, and
    /// [`ScalingError::Value`] for one that is not above 0.
    pub fn predict(&self, size: f64) -> Result<Prediction, ScalingError> {
        if !(1e-100..=1e100).contains(&size) {
            return Err(ScalingError::Value {
                what: "size",
                value: size,
                position: 0,
            });
        }
        let (smallest, largest) = self.range;
        let ratio = (size / largest).max(smallest / size);
        if ratio > self.reach {
            return Err(ScalingError::TooFar {
                size,
                ratio,
                limit: self.reach,
            });
        }
        Ok(self.predict_anywhere(size))
    }

    fn predict_anywhere(&self, size: f64) -> Prediction {
        let beliefs: Vec<Belief> = self
            .candidates
            .iter()
            .filter(|candidate| candidate.weight > NEGLIGIBLE)
            .map(|candidate| candidate.belief(size))
            .collect();
        let value = self.chosen().fitted.ln_value(size);
        let tail = (1.0 - self.confidence) / 2.0;
        Prediction {
            size,
            value: value.exp(),
            // Rivals may move the interval away from the chosen law, but not off it.
            low: quantile(&beliefs, tail).min(value).exp(),
            high: quantile(&beliefs, 1.0 - tail).max(value).exp(),
            confidence: self.confidence,
            extrapolation: size / self.range.1,
        }
    }

    /// Returns the size at which the value is expected to be so large; `None` where that is below
    /// the smallest size, or not within a million times the largest.
    #[must_use]
    pub fn size_at(&self, value: f64) -> Option<f64> {
        self.size_where(|prediction| prediction.value >= value)
    }

    /// Returns where the prediction meets limits, those that are met first at the front.
    #[must_use]
    pub fn crossings(&self, limits: &[Limit]) -> Vec<Crossing> {
        let mut crossings: Vec<Crossing> = limits
            .iter()
            .map(|limit| Crossing {
                what: limit.what.clone(),
                value: limit.value,
                earliest: self.size_where(|prediction| prediction.high >= limit.value),
                expected: self.size_at(limit.value),
            })
            .collect();
        let order = |crossing: &Crossing| crossing.earliest.unwrap_or(f64::INFINITY);
        crossings.sort_by(|a, b| order(a).total_cmp(&order(b)));
        crossings
    }

    /// Returns the smallest size from which on something holds.
    fn size_where(&self, holds: impl Fn(&Prediction) -> bool) -> Option<f64> {
        let holds = |ln_size: f64| holds(&self.predict_anywhere(ln_size.exp()));
        let (mut low, mut high) = (self.range.0.ln(), (self.range.1 * 1e6).ln());
        if holds(low) || !holds(high) {
            return None;
        }
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if holds(middle) {
                high = middle;
            } else {
                low = middle;
            }
        }
        Some(high.exp())
    }

    fn chosen(&self) -> &Candidate {
        self.candidates
            .first()
            .expect("`choose` makes none without a candidate")
    }
}

impl fmt::Display for Scaling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {}, measurements within {:.1} % of it",
            self.law(),
            self.equation(),
            100.0 * self.spread()
        )?;
        let rivals = self.rivals();
        if !rivals.is_empty() {
            let rivals: Vec<String> = rivals.iter().map(Law::to_string).collect();
            write!(f, "; could also be {}", rivals.join(", "))?;
        }
        Ok(())
    }
}
