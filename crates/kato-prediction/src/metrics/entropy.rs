//! Entropies of a pattern's own symbols.

use super::sum;

/// Computes one term of a normalised entropy, H(p, N).
///
/// Formula: −p · (ln p / ln N) for p > 0 and N > 1, else 0. N is the number of distinct symbols
/// that the node knows, so that N equally probable symbols have terms that sum to 1.
#[must_use]
pub fn entropy_term(p: f64, n_symbols: usize) -> f64 {
    if p > 0.0 && n_symbols > 1 {
        // 0 − x and not −x: a certain symbol has the term 0, not −0.
        0.0 - p * (p.ln() / (n_symbols as f64).ln())
    } else {
        0.0
    }
}

/// Computes the Shannon entropy of a list of symbols, in bits.
///
/// Shape: how often each distinct symbol occurs, in any order. Formula: −Σ p · log₂ p with
/// p = count / Σ counts; 0 for an empty list. In `0..=log₂(number of counts)`.
///
/// ```
/// use kato_prediction::metrics::entropy;
/// assert_eq!(entropy([2, 1, 1]), 1.5);
/// ```
#[must_use]
pub fn entropy(counts: impl IntoIterator<Item = usize>) -> f64 {
    // 0 − x and not −x, so that certainty is 0 and not −0.
    0.0 - sum(shares(counts).map(|p| p * p.log2()))
}

/// Computes the entropy of a list of symbols, relative to that of all N symbols of the node being
/// equally probable.
///
/// Shape: how often each distinct symbol occurs, in any order. Formula:
/// Σ [H(count / Σ counts, N)](entropy_term). At most 1 when the list has no symbols that the node
/// does not know.
#[must_use]
pub fn normalized_entropy(counts: impl IntoIterator<Item = usize>, n_symbols: usize) -> f64 {
    sum(shares(counts).map(|p| entropy_term(p, n_symbols)))
}

/// Computes the entropy of a list of symbols by their probabilities in the node, not in the list.
///
/// Shape: the probability of each distinct symbol of the list, in any order. Formula: Σ
/// [H(p, N)](entropy_term). May exceed 1, since probabilities of a node (shares of its
/// patterns) do not sum to 1.
#[must_use]
pub fn global_normalized_entropy(
    probabilities: impl IntoIterator<Item = f64>,
    n_symbols: usize,
) -> f64 {
    let probabilities = probabilities.into_iter();
    sum(probabilities.map(|p| entropy_term(p, n_symbols)))
}

/// Returns each count that is not 0 as a share of all.
fn shares(counts: impl IntoIterator<Item = usize>) -> impl Iterator<Item = f64> {
    let mut counts: Vec<usize> = counts.into_iter().collect();
    counts.retain(|&count| count > 0);
    // Added up as doubles, which cannot overflow.
    let total = sum(counts.iter().map(|&count| count as f64));
    counts.into_iter().map(move |count| count as f64 / total)
}
