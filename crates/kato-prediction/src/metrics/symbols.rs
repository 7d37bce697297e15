//! Metrics that weigh symbols by how many patterns of the node contain them.

use super::{product, ratio_or_zero, sum};

/// The value that replaces a probability of 0 in [`confluence`].
const LEAST_PROBABILITY: f64 = 1e-10;

/// Computes the cosine distance of two vectors, given as pairs of components.
///
/// In predictions there is one pair per symbol of state or present: its count in the state and its
/// count in the present, each times the symbol's probability. Formula: 1 − Σab / (√Σa² · √Σb²); 1
/// if either vector is all zero. In `0..=1` for components of at least 0, up to rounding.
///
/// ```
/// use kato_prediction::metrics::cosine_distance;
/// assert_eq!(cosine_distance([(1.0, 0.0), (0.0, 1.0)]), 1.0);
/// assert!(cosine_distance([(1.0, 2.0), (2.0, 4.0)]).abs() < 1e-12);
/// ```
#[must_use]
pub fn cosine_distance(components: impl IntoIterator<Item = (f64, f64)>) -> f64 {
    let components: Vec<(f64, f64)> = components.into_iter().collect();
    cosine_distance_of(&components.into_iter())
}

/// Computes [`cosine_distance`] of components that are gone through several times.
pub(crate) fn cosine_distance_of(components: &(impl Iterator<Item = (f64, f64)> + Clone)) -> f64 {
    let sum_of = |term: fn((f64, f64)) -> f64| sum(components.clone().map(term));
    let dot = sum_of(|(a, b)| a * b);
    let (a_squared, b_squared) = (sum_of(|(a, _)| a * a), sum_of(|(_, b)| b * b));
    // Roots before the product, as in the original: it decides the last bit of every potential.
    1.0 - ratio_or_zero(dot, f64::sqrt(a_squared) * f64::sqrt(b_squared))
}

/// Computes the similarity of state and present by frequency-weighted cosine distance.
///
/// Formula: 1 − distance · f / F, with the pattern's frequency f and the ensemble's total F; 0 if
/// F = 0. The distance of a frequent pattern weighs more than that of a rare one.
#[must_use]
pub fn itfdf_similarity(distance: f64, frequency: u64, total_frequency: u64) -> f64 {
    if total_frequency == 0 {
        return 0.0;
    }
    1.0 - distance * frequency as f64 / total_frequency as f64
}

/// Computes the mean TF-IDF of a list of symbols.
///
/// Shape: for each distinct symbol its count and its probability (`None` if the node has none
/// for it), in any order. Formula: the mean over them of (count / Σ counts) · (log₂(U / w) + 1),
/// with U patterns and w = max(1, ⌊probability · U⌋), 1 without a probability. 0 if U = 0 or
/// there is no symbol.
///
/// The product is cut in doubles, as in the original: 15 patterns of 22 count as 14.
///
/// ```
/// use kato_prediction::metrics::tfidf_score;
/// // Two symbols, one in both patterns and one in one of them.
/// assert_eq!(tfidf_score([(1, Some(1.0)), (1, Some(0.5))], 2), 0.75);
/// ```
#[must_use]
pub fn tfidf_score(
    symbols: impl IntoIterator<Item = (usize, Option<f64>)>,
    n_patterns: usize,
) -> f64 {
    if n_patterns == 0 {
        return 0.0;
    }
    let symbols = symbols.into_iter();
    let symbols = symbols.map(|(count, probability)| (count, rarity(probability, n_patterns)));
    let symbols: Vec<(usize, f64)> = symbols.collect();
    mean_tfidf(symbols.into_iter())
}

/// Computes what one occurrence of a symbol adds to [`tfidf_score`] where it is the only one: log₂(U / w) + 1.
pub(crate) fn rarity(probability: Option<f64>, n_patterns: usize) -> f64 {
    let n_patterns = n_patterns as f64;
    // Not rounded: KATO truncates the product, and so loses a pattern where it is just below.
    let containing = probability.map_or(1.0, |p| (p * n_patterns).trunc().max(1.0));
    (n_patterns / containing).log2() + 1.0
}

/// Computes [`tfidf_score`] from the count and the [`rarity`] of each distinct symbol.
pub(crate) fn mean_tfidf(symbols: impl ExactSizeIterator<Item = (usize, f64)> + Clone) -> f64 {
    let n_symbols = symbols.len();
    let total = sum(symbols.clone().map(|(count, _)| count as f64));
    let scores = symbols.map(|(count, rarity)| ratio_or_zero(count as f64, total) * rarity);
    ratio_or_zero(sum(scores), n_symbols as f64)
}

/// Computes how much more often the pattern was learned than its present would come
/// together by chance.
///
/// Shape: the probabilities of the symbols of the present, one per position. Formula:
/// (f / U) · (1 − Π p), with frequency f, U patterns, and 10⁻¹⁰ for probability 0; 0 for an empty
/// present or U = 0. Above 1 is possible, since relearning raises f but not U.
#[must_use]
pub fn confluence(
    frequency: u64,
    n_patterns: usize,
    probabilities: impl IntoIterator<Item = f64>,
) -> f64 {
    let mut probabilities = probabilities.into_iter().peekable();
    if n_patterns == 0 || probabilities.peek().is_none() {
        return 0.0;
    }
    let by_chance = product(probabilities.map(|p| if p == 0.0 { LEAST_PROBABILITY } else { p }));
    frequency as f64 / n_patterns as f64 * (1.0 - by_chance)
}
