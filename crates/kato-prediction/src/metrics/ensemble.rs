//! Metrics that relate a prediction to the others of its ensemble.
//!
//! Throughout, `f` or `frequency` is that of the pattern and `total_frequency` the sum
//! over the ensemble.

use super::ratio_or_zero;

/// Computes the pattern's share of the ensemble's frequency.
///
/// Formula: f / F; 0 if F = 0. In `0..=1`.
#[must_use]
pub fn pattern_probability(frequency: u64, total_frequency: u64) -> f64 {
    ratio_or_zero(frequency as f64, total_frequency as f64)
}

/// Computes [`pattern_probability`] times similarity.
///
/// Formula: similarity · (f / F); 0 if F = 0. In `0..=1`.
#[must_use]
pub fn weighted_strength(similarity: f64, frequency: u64, total_frequency: u64) -> f64 {
    similarity * pattern_probability(frequency, total_frequency)
}

/// Computes a future's share of the weight of all futures.
///
/// `weight` is Σ f · similarity over the predictions with this future, `total_weight` the sum over
/// all non-empty futures. Formula: weight / total; 0 if the total is 0. In `0..=1`.
#[must_use]
pub fn aggregate_potential(weight: f64, total_weight: f64) -> f64 {
    ratio_or_zero(weight, total_weight)
}

/// Computes a prediction's share of the support of its future, times the mean
/// similarity of the ensemble by frequency, for which predictions without a future count 0.
///
/// `aggregate_potential` is that of the prediction's future, `None` if the future is empty.
/// Formula: weighted strength / aggregate potential; 0 without a future or if that potential is 0.
/// Predictions whose futures all differ have one value.
#[must_use]
pub fn predictive_information(weighted_strength: f64, aggregate_potential: Option<f64>) -> f64 {
    ratio_or_zero(weighted_strength, aggregate_potential.unwrap_or(0.0))
}

/// Computes the prior probability of the pattern within the ensemble: [`pattern_probability`].
#[must_use]
pub fn bayesian_prior(frequency: u64, total_frequency: u64) -> f64 {
    pattern_probability(frequency, total_frequency)
}

/// Computes the posterior probability of the pattern given the state, with
/// similarity as likelihood.
///
/// `total` is Σ likelihood · prior over the ensemble. Formula: likelihood · prior / total; 0 if the
/// total is 0. Sums to 1 over the ensemble otherwise.
#[must_use]
pub fn bayesian_posterior(likelihood: f64, prior: f64, total: f64) -> f64 {
    ratio_or_zero(likelihood * prior, total)
}
