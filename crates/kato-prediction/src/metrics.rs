//! The formulas of predictions, one pure function per metric.
//!
//! They are those of KATO; results agree with its own to 1e-9. The words:
//!
//! | word | meaning |
//! |---|---|
//! | state | the observed symbols, all events of the short-term memory in one list |
//! | present | the whole events of a pattern from its first to its last match |
//! | matches | symbols of the state that a pattern matches, counted with repetition |
//! | extras | symbols of the state that are not matches, counted with repetition |
//! | block | a run of symbols that pattern and state share, see [`matching`](crate::matching) |
//! | ensemble | the predictions of one answer before it is cut to `max_predictions` |
//! | probability of a symbol | share of the distinct patterns that contain it |
//!
//! Sums and products over symbols are made in ascending order of their terms: lists of the same
//! symbols in another order get the same value to the last bit, and so does a knowledge base that
//! was learned in another order, but for emotives.
//!
//! No function panics. Where a denominator is 0, the documented value takes the place of a division
//! by 0; numbers that are not finite give results that are not finite.

mod affinity;
mod ensemble;
mod entropy;
mod fit;
mod symbols;

pub use affinity::{
    affinity_weight, weighted_confidence, weighted_evidence, weighted_similarity, weighted_snr,
};
pub use ensemble::{
    aggregate_potential, bayesian_posterior, bayesian_prior, pattern_probability,
    predictive_information, weighted_strength,
};
pub use entropy::{entropy, entropy_term, global_normalized_entropy, normalized_entropy};
pub use fit::{
    cohesion, confidence, evidence, fragmentation, potential, pre_potential, single_symbol_snr, snr,
};
pub use symbols::{confluence, cosine_distance, itfdf_similarity, tfidf_score};
pub(crate) use symbols::{cosine_distance_of, mean_tfidf, rarity};

/// Divides `numerator` by `denominator`; 0 where either is 0 (and never −0, which would print and
/// sort as something else).
fn ratio_or_zero(numerator: f64, denominator: f64) -> f64 {
    if numerator == 0.0 || denominator == 0.0 {
        0.0
    } else {
        numerator / denominator
    }
}

/// Sums terms, independently of their order; 0 for none (and not −0, as the
/// standard library has it).
pub(crate) fn sum(terms: impl Iterator<Item = f64>) -> f64 {
    fold_ascending(terms, 0.0, |sum, term| sum + term)
}

/// Multiplies factors, independently of their order; 1 for none.
fn product(factors: impl Iterator<Item = f64>) -> f64 {
    fold_ascending(factors, 1.0, |product, factor| product * factor)
}

/// Folds values in ascending order. There are few as a rule, and then no memory is allocated.
fn fold_ascending(
    mut values: impl Iterator<Item = f64>,
    start: f64,
    fold: impl Fn(f64, f64) -> f64,
) -> f64 {
    const FEW: usize = 16;
    let in_order = |values: &mut [f64]| {
        values.sort_unstable_by(f64::total_cmp);
        values
            .iter()
            .fold(start, |folded, &value| fold(folded, value))
    };
    let mut few = [0.0; FEW];
    let mut n_values = 0;
    for value in values.by_ref().take(FEW) {
        few[n_values] = value;
        n_values += 1;
    }
    match values.next() {
        None => in_order(&mut few[..n_values]),
        Some(next) => {
            // There is a value after the first few, so all places of `few` are in use.
            let mut many = few.to_vec();
            many.push(next);
            many.extend(values);
            in_order(&mut many)
        }
    }
}
