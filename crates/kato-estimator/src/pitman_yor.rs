//! The Pitman-Yor process: the growth of the number of distinct values when they follow a power
//! law.

use serde::{Deserialize, Serialize};
use statrs::function::gamma::ln_gamma;

use crate::optimize::minimize2;
use crate::{EstimateError, FrequencyCounts};

/// A Pitman-Yor process fitted by maximum likelihood.
///
/// Formula: after n learn calls of K patterns the next is new with probability (θ + d·K) / (θ + n).
/// Source: Pitman, *Exchangeable and partially exchangeable random partitions*, 1995.
///
/// ```
/// use kato_estimator::{FrequencyCounts, PitmanYor};
///
/// let counts: FrequencyCounts = [(1, 900), (2, 40), (3, 4), (8, 1)].into_iter().collect();
/// let law = PitmanYor::fit(&counts)?;
/// let at_ten_times = law.expected_distinct(&counts, 10_000.0);
/// assert!(945.0 < at_ten_times && at_ten_times < 10_000.0);
/// # Ok::<(), kato_estimator::EstimateError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PitmanYor {
    /// d, 0 < d < 1: the exponent with which distinct patterns grow in the end.
    pub discount: f64,
    /// θ > 0: until about this many learn calls nearly all are new.
    pub concentration: f64,
    /// Logarithm of the likelihood.
    pub log_likelihood: f64,
}

/// Above this θ the law cannot be told from one without repeats in any corpus that there is.
const MAX_LN_CONCENTRATION: f64 = 30.0;

impl PitmanYor {
    /// Fits both parameters to frequencies of frequencies.
    ///
    /// # Errors
    ///
    /// [`EstimateError::Fit`] when nothing repeats or everything is one pattern: then no parameter
    /// is best.
    pub fn fit(counts: &FrequencyCounts) -> Result<Self, EstimateError> {
        if counts.repeated() == 0 {
            return Err(EstimateError::Fit {
                reason: "no pattern was learned twice",
            });
        }
        if counts.distinct() < 2 {
            return Err(EstimateError::Fit {
                reason: "all learn calls are of one pattern",
            });
        }
        // In logit(d) and ln(θ) every point of the plane is valid, which the simplex needs. The
        // bounds keep it away from d = 0 and d = 1, where the likelihood cannot be computed.
        let minus = |[logit, ln_theta]: [f64; 2]| {
            if !(-10.0..=MAX_LN_CONCENTRATION).contains(&ln_theta) || logit.abs() > 14.0 {
                return f64::INFINITY;
            }
            -log_likelihood(counts, logistic(logit), ln_theta.exp())
        };
        let ln_n = (counts.observations() as f64).ln();
        // From small θ to beyond the number of learn calls: with few repeats the likelihood is
        // flat, and one descent may stop on the plateau.
        let starts = [
            [1.4, 2.0],
            [0.0, 5.0],
            [3.0, 1.0],
            [-1.0, ln_n],
            [0.0, ln_n + 3.0],
        ];
        let (point, value) = minimize2(minus, starts);
        Ok(Self {
            discount: logistic(point[0]),
            concentration: point[1].exp(),
            log_likelihood: -value,
        })
    }

    /// Returns the expected distinct patterns after `observations` learn calls, of which the first
    /// are these counts.
    ///
    /// **Domain**: for no more learn calls than were counted, the expectation over those drawn from
    /// them.
    #[must_use]
    pub fn expected_distinct(&self, counts: &FrequencyCounts, observations: f64) -> f64 {
        let n = counts.observations() as f64;
        if observations <= n {
            return counts.rarefied(observations / n);
        }
        let (d, theta, distinct) = (self.discount, self.concentration, counts.distinct() as f64);
        // E[K at n + m] = K + (K + θ/d) · (rise - 1); exp_m1 keeps the digits of a rise near 1.
        let growth = ln_rise(theta + n, d, observations - n);
        distinct + (distinct + theta / d) * growth.exp_m1()
    }
}

/// Returns ln of Γ(a + d + m) Γ(a) / (Γ(a + d) Γ(a + m)), without the cancellation of large
/// logarithms.
fn ln_rise(a: f64, d: f64, m: f64) -> f64 {
    ln_gamma_ratio(a + m, d) - ln_gamma_ratio(a, d)
}

/// Returns ln of Γ(x + d) / Γ(x), 0 < d < 1.
fn ln_gamma_ratio(x: f64, d: f64) -> f64 {
    if x < 1e4 {
        return ln_gamma(x + d) - ln_gamma(x);
    }
    // Tricomi and Erdélyi's expansion; the next term is below 1e-12 here.
    d * x.ln() + (d * (d - 1.0) / (2.0 * x)) - d * (d - 1.0) * (2.0 * d - 1.0) / (12.0 * x * x)
}

/// Returns the logarithm of the probability of the counts, Pitman's exchangeable partition
/// probability function.
fn log_likelihood(counts: &FrequencyCounts, d: f64, theta: f64) -> f64 {
    let (n, distinct) = (counts.observations() as f64, counts.distinct() as f64);
    // The product of θ + i·d over the new patterns after the first, with d factored out.
    let new =
        ln_gamma(theta / d + distinct) - ln_gamma(theta / d + 1.0) + (distinct - 1.0) * d.ln();
    let all = ln_gamma(theta + n) - ln_gamma(theta + 1.0);
    // A pattern that was learned once contributes a factor of 1.
    let repeats: f64 = counts
        .iter()
        .filter(|&(frequency, _)| frequency > 1)
        .map(|(frequency, n)| n as f64 * (ln_gamma(frequency as f64 - d) - ln_gamma(1.0 - d)))
        .sum();
    new - all + repeats
}

/// Returns the number between 0 and 1 whose logit is `x`.
fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}
