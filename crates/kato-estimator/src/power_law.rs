//! The power law of frequencies, p(f) ∝ f^−γ: its fit by maximum likelihood, and a test of whether
//! it holds at all.

use kato_random::SplitMix64;
use serde::{Deserialize, Serialize};

use crate::optimize::minimize1;
use crate::random::open_unit;
use crate::{EstimateError, FrequencyCounts};

/// Range of exponents that are searched. ζ diverges at 1.
const GAMMA_RANGE: (f64, f64) = (1.01, 12.0);

/// A discrete power law fitted to how often patterns were learned: p(f) = f^−γ / ζ(γ, x_min) for
/// f ≥ x_min.
///
/// It is fitted to frequencies of frequencies, never as a line through logarithms of ranks: nearly
/// all patterns of a level share the frequency 1, so their ranks mean nothing. Source: Clauset,
/// Shalizi and Newman, *Power-law distributions in empirical data*, 2009.
///
/// ```
/// use kato_estimator::FrequencyCounts;
/// use kato_estimator::power_law::PowerLaw;
///
/// let counts: FrequencyCounts = [(1, 2575), (2, 85), (3, 19), (4, 4), (5, 3)].into_iter().collect();
/// let law = PowerLaw::fit(&counts, 1)?;
/// assert!((4.0..6.0).contains(&law.gamma));
/// # Ok::<(), kato_estimator::EstimateError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PowerLaw {
    /// The exponent γ; searched between 1.01 and 12, the result for a level without repeats.
    pub gamma: f64,
    /// Smallest frequency that the law is fitted to.
    pub x_min: u64,
    /// Patterns of at least that frequency.
    pub n_patterns: u64,
    /// Largest distance between the observed and the fitted distribution function (Kolmogorov and
    /// Smirnov).
    pub distance: f64,
}

/// The result of a test of whether frequencies follow a power law.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Goodness {
    /// Share of samples drawn from the law that are further from their own fit than the data:
    /// below 0.1 the law is ruled out.
    pub p_value: f64,
    /// Samples drawn.
    pub n_draws: usize,
}

impl PowerLaw {
    /// Fits γ to the frequencies of at least `x_min`.
    ///
    /// # Errors
    ///
    /// [`EstimateError::Fit`] with fewer than two patterns of that frequency, or an `x_min` of 0.
    pub fn fit(counts: &FrequencyCounts, x_min: u64) -> Result<Self, EstimateError> {
        let pairs: Vec<(u64, u64)> = counts.iter().filter(|&(f, _)| f >= x_min).collect();
        let n_patterns: u64 = pairs.iter().map(|&(_, n)| n).sum();
        if x_min == 0 || n_patterns < 2 {
            return Err(EstimateError::Fit {
                reason: "a power law needs two patterns of at least x_min, and x_min at least 1",
            });
        }
        let (low, high) = GAMMA_RANGE;
        let log_sum: f64 = pairs.iter().map(|&(f, n)| n as f64 * (f as f64).ln()).sum();
        // The negative logarithm of the likelihood. It depends on the frequencies by the sum of
        // their logarithms alone, and has one minimum, as ln ζ is convex in γ.
        let minus = |gamma: f64| {
            gamma * log_sum + n_patterns as f64 * hurwitz_zeta(gamma, x_min as f64).ln()
        };
        let gamma = minimize1(minus, low, high);
        let mut law = Self {
            gamma,
            x_min,
            n_patterns,
            distance: 0.0,
        };
        law.distance = law.distance_to(&pairs);
        Ok(law)
    }

    /// Returns the share of patterns of at least this frequency among those of at least `x_min`.
    #[must_use]
    pub fn survival(&self, frequency: u64) -> f64 {
        let from = frequency.max(self.x_min) as f64;
        hurwitz_zeta(self.gamma, from) / hurwitz_zeta(self.gamma, self.x_min as f64)
    }

    /// Tests the law by parametric bootstrap: draws `n_draws` samples from it, fits each, and
    /// compares distances.
    ///
    /// The seed decides the draws. Of more than 5,000 patterns 5,000 are drawn, and the distance is
    /// compared on the scale √n.
    #[must_use]
    pub fn goodness(&self, n_draws: usize, seed: u64) -> Goodness {
        let mut random = SplitMix64::from_seed(seed);
        let n = self.n_patterns.min(5_000);
        // The distance of a sample from its own law shrinks with the root of its size.
        let observed = self.distance * (self.n_patterns as f64).sqrt();
        let further = (0..n_draws).filter(|_| {
            let drawn: FrequencyCounts = (0..n).map(|_| (self.draw(&mut random), 1)).collect();
            // Each draw is fitted anew: compared with the law that made it, it would lie further
            // away than the data lie from a law fitted to them.
            Self::fit(&drawn, self.x_min)
                .is_ok_and(|law| law.distance * (n as f64).sqrt() >= observed)
        });
        Goodness {
            p_value: further.count() as f64 / n_draws.max(1) as f64,
            n_draws,
        }
    }

    /// Draws a frequency: the largest whose survival is above a uniform number.
    fn draw(&self, random: &mut SplitMix64) -> u64 {
        let u = open_unit(random);
        let (mut low, mut high) = (self.x_min, self.x_min.saturating_mul(2));
        // The bound keeps the doubling from overflowing where γ is near 1 and the tail is long.
        while self.survival(high) > u && high < 1 << 40 {
            low = high;
            high *= 2;
        }
        // From here on, survival(low) > u >= survival(high).
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.survival(middle) > u {
                low = middle
            } else {
                high = middle
            }
        }
        low
    }

    /// Returns the largest distance between the observed and the fitted distribution function;
    /// `pairs` in ascending order.
    fn distance_to(&self, pairs: &[(u64, u64)]) -> f64 {
        let mut below = 0u64;
        let mut distance = 0.0f64;
        // The observed function is a staircase, so it is furthest away right before or after a
        // step.
        for &(frequency, n) in pairs {
            let before = below as f64 / self.n_patterns as f64;
            distance = distance.max((before - (1.0 - self.survival(frequency))).abs());
            below += n;
            let observed = below as f64 / self.n_patterns as f64;
            distance = distance.max((observed - (1.0 - self.survival(frequency + 1))).abs());
        }
        distance
    }
}

/// Returns ζ(s, a) = Σ (a + k)^−s over k ≥ 0, for s > 1 and a > 0, by Euler and Maclaurin's
/// summation.
fn hurwitz_zeta(s: f64, a: f64) -> f64 {
    // The expansion is asymptotic in 1/b: the first terms are added one by one, so that b is at
    // least 12 and three corrections suffice.
    let direct = if a < 12.0 { 12 } else { 0 };
    let head: f64 = (0..direct).map(|k| (a + f64::from(k)).powf(-s)).sum();
    let b = a + f64::from(direct);
    let power = b.powf(-s);
    // The integral, half of the first term, and the corrections by B₂/2!, B₄/4! and B₆/6!.
    let tail = b * power / (s - 1.0) + power / 2.0 + s * power / b / 12.0
        - s * (s + 1.0) * (s + 2.0) * power / b.powi(3) / 720.0
        + s * (s + 1.0) * (s + 2.0) * (s + 3.0) * (s + 4.0) * power / b.powi(5) / 30_240.0;
    head + tail
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeta_has_its_known_values() {
        assert!((hurwitz_zeta(2.0, 1.0) - std::f64::consts::PI.powi(2) / 6.0).abs() < 1e-10);
        assert!((hurwitz_zeta(4.0, 1.0) - std::f64::consts::PI.powi(4) / 90.0).abs() < 1e-10);
        assert!(
            (hurwitz_zeta(3.5, 20.0) - hurwitz_zeta(3.5, 21.0) - 20f64.powf(-3.5)).abs() < 1e-14
        );
    }

    #[test]
    fn the_exponent_of_drawn_frequencies_is_found_and_the_law_not_ruled_out() {
        let law = PowerLaw {
            gamma: 2.5,
            x_min: 1,
            n_patterns: 3_000,
            distance: 0.0,
        };
        let mut random = SplitMix64::from_seed(5);
        let drawn: FrequencyCounts = (0..3_000).map(|_| (law.draw(&mut random), 1)).collect();
        let fitted = PowerLaw::fit(&drawn, 1).unwrap();
        assert!((fitted.gamma - 2.5).abs() < 0.1, "{}", fitted.gamma);
        assert!(fitted.goodness(50, 1).p_value > 0.1);
    }

    #[test]
    fn a_law_that_does_not_hold_is_ruled_out() {
        let uniform: FrequencyCounts = (1..=50).map(|f| (f, 20)).collect();
        let fitted = PowerLaw::fit(&uniform, 1).unwrap();
        assert!(fitted.goodness(50, 1).p_value < 0.05);
    }
}
