//! Metrics of the fit of one pattern to the state, and the scores made of them.

use super::ratio_or_zero;

/// Computes the share of the pattern that was observed.
///
/// Formula: matches / pattern length; 0 for an empty pattern. In `0..=1` without fuzzy matching;
/// with it `matches` may count more symbols than the pattern has.
///
/// ```
/// use kato_prediction::metrics::evidence;
/// assert_eq!(evidence(2, 4), 0.5);
/// ```
#[must_use]
pub fn evidence(matches: usize, pattern_length: usize) -> f64 {
    ratio_or_zero(matches as f64, pattern_length as f64)
}

/// Computes the share of the present that was observed.
///
/// Formula: matches / symbols of the present; 0 for an empty present. Above 1 only
/// with fuzzy matching.
#[must_use]
pub fn confidence(matches: usize, present_length: usize) -> f64 {
    ratio_or_zero(matches as f64, present_length as f64)
}

/// Computes the signal-to-noise ratio of matches against extras.
///
/// Formula: (2m − e) / (2m + e), with m matches and e extras; 0 if both are 0. In `-1..=1`: −1 when
/// nothing matches, 1 when nothing is extra.
///
/// ```
/// use kato_prediction::metrics::snr;
/// assert_eq!(snr(2, 1), 0.6);
/// assert_eq!(snr(0, 3), -1.0);
/// ```
#[must_use]
pub fn snr(matches: usize, extras: usize) -> f64 {
    let (matches, extras) = (2.0 * matches as f64, extras as f64);
    ratio_or_zero(matches - extras, matches + extras)
}

/// Computes the [`snr`] of a prediction of a state of one symbol.
///
/// Formula: m / (m + e); 0 if both are 0. In `0..=1`.
#[must_use]
pub fn single_symbol_snr(matches: usize, extras: usize) -> f64 {
    let (matches, extras) = (matches as f64, extras as f64);
    ratio_or_zero(matches, matches + extras)
}

/// Computes the number of pieces beyond the first that the match is broken into.
///
/// Formula: blocks − 1. So 0 for one block, and −1 when nothing matches.
#[must_use]
pub fn fragmentation(blocks: usize) -> f64 {
    blocks as f64 - 1.0
}

/// Computes how much the match is in one piece.
///
/// Formula: 1 / (fragmentation + 1), which is 1 / blocks; 0 for no block. In `0..=1`.
#[must_use]
pub fn cohesion(blocks: usize) -> f64 {
    ratio_or_zero(1.0, fragmentation(blocks) + 1.0)
}

/// Computes the score by which an ensemble is pruned before its common metrics are computed.
///
/// Formula: (evidence + confidence) · snr + cohesion. In `-2..=3` without fuzzy matching. On the
/// single-symbol path it is the potential itself.
#[must_use]
pub fn pre_potential(evidence: f64, confidence: f64, snr: f64, cohesion: f64) -> f64 {
    (evidence + confidence) * snr + cohesion
}

/// Computes the composite score by which predictions are sorted by default.
///
/// Formula: (evidence + confidence) · snr + itfdf_similarity + cohesion. With affinity weighting
/// its first three arguments are the weighted ones.
///
/// ```
/// use kato_prediction::metrics::{cohesion, confidence, evidence, potential, snr};
/// // The pattern a b c, after a and b were observed.
/// let score = potential(evidence(2, 3), confidence(2, 2), snr(2, 0), 1.0, cohesion(1));
/// assert!((score - 3.666_666_666_666_667).abs() < 1e-12);
/// ```
#[must_use]
pub fn potential(
    evidence: f64,
    confidence: f64,
    snr: f64,
    itfdf_similarity: f64,
    cohesion: f64,
) -> f64 {
    (evidence + confidence) * snr + itfdf_similarity + cohesion
}
