//! Metrics with every symbol weighted by its affinity to an emotive.
//!
//! The arguments of the weighted metrics are sums of [`affinity_weight`] over lists of symbols,
//! where a symbol that the state does not have counts 0 (on the single-symbol path: that pattern
//! and state do not have).

use super::ratio_or_zero;

/// The weight that every symbol has at least.
const BASE_WEIGHT: f64 = 0.01;

/// Computes the weight of a symbol.
///
/// `affinity` is the sum of the emotive over the symbol's learns, `frequency` its occurrences
/// over all learns. Formula: |affinity| / frequency + 0.01; 0.01 where either is 0. Units:
/// those of the emotive.
///
/// ```
/// use kato_prediction::metrics::affinity_weight;
/// assert_eq!(affinity_weight(-2.0, 4), 0.51);
/// assert_eq!(affinity_weight(0.0, 4), 0.01);
/// ```
#[must_use]
pub fn affinity_weight(affinity: f64, frequency: u64) -> f64 {
    if affinity.abs() > 0.0 && frequency > 0 {
        affinity.abs() / frequency as f64 + BASE_WEIGHT
    } else {
        BASE_WEIGHT
    }
}

/// Computes the similarity by weight instead of by number.
///
/// Formula: 2 · w(matches) / (w(state) + w(pattern)); `None` if both weights are 0.
#[must_use]
pub fn weighted_similarity(matches: f64, state: f64, pattern: f64) -> Option<f64> {
    let total = state + pattern;
    // KATO answers null here and 0 in the other weighted metrics.
    (total != 0.0).then(|| ratio_or_zero(2.0 * matches, total))
}

/// Computes the [`evidence`](super::evidence) by weight: w(matches) / w(pattern), 0 if the
/// pattern has no weight.
#[must_use]
pub fn weighted_evidence(matches: f64, pattern: f64) -> f64 {
    ratio_or_zero(matches, pattern)
}

/// Computes the [`confidence`](super::confidence) by weight: w(matches) / w(present), 0 if the
/// present has no weight.
#[must_use]
pub fn weighted_confidence(matches: f64, present: f64) -> f64 {
    ratio_or_zero(matches, present)
}

/// Computes the signal-to-noise ratio by weight: w(matches) / (w(matches) + w(extras)), 0 if
/// neither has weight.
///
/// In `0..=1`: unlike [`snr`](super::snr) it has no negative side.
#[must_use]
pub fn weighted_snr(matches: f64, extras: f64) -> f64 {
    ratio_or_zero(matches, matches + extras)
}
