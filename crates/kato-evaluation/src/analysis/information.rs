//! Entropies from histograms of weights, in bits.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A histogram of weights: weight → number of outcomes that have it. It is sorted, so sums over it
/// do not depend on the order in which it was filled.
pub(crate) type Weights = BTreeMap<u64, u64>;

/// Counts one outcome of a weight; an outcome without weight cannot happen and is not counted.
pub(crate) fn count(weights: &mut Weights, weight: u64) {
    if weight > 0 {
        *weights.entry(weight).or_default() += 1;
    }
}

/// Returns the entropy in bits of an outcome drawn in proportion to its weight; `None` when there
/// is nothing to draw.
///
/// Formula: log₂ W − (1/W) Σ n·w·log₂ w over weights w that n outcomes have, W being the sum of
/// n·w.
pub(crate) fn entropy_bits(weights: &Weights) -> Option<f64> {
    let (mut sum, mut logs) = (0.0, 0.0);
    for (&weight, &outcomes) in weights {
        let weight = weight as f64;
        sum += weight * outcomes as f64;
        logs += weight * outcomes as f64 * weight.log2();
    }
    // The two terms are equal for a single outcome, and rounding must not make the result negative.
    (sum > 0.0).then(|| (sum.log2() - logs / sum).max(0.0))
}

/// What a pattern and one of its children reveal about each other, in bits.
///
/// All follow from one joint distribution, so the marginals are consistent: take any learn call of
/// the upper level and any place in its pattern that holds the name of a pattern, all equally
/// likely. The *parent* is the pattern, the *child* the name at the place. A pair (p, c) has the
/// weight frequency(p) × occurrences of c in p.
///
/// A parent determines its children, so [`child_given_parent`](Self::child_given_parent) is only
/// the uncertainty about which of the places was taken.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Information {
    /// H(parent).
    pub parent_entropy: f64,
    /// H(child).
    pub child_entropy: f64,
    /// H(parent, child).
    pub joint_entropy: f64,
    /// I(parent; child) = H(parent) + H(child) − H(parent, child).
    pub mutual_information: f64,
    /// H(child | parent) = H(parent, child) − H(parent).
    pub child_given_parent: f64,
    /// H(parent | child) = H(parent, child) − H(child): what a child leaves open of where it
    /// occurs.
    pub parent_given_child: f64,
    /// I(parent; child) / H(child), from 0 to 1: the part of a child's surprise that its parent
    /// takes away. `None` when all children are the same.
    pub constraint_effectiveness: Option<f64>,
}

impl Information {
    /// Computes the figures from the weights of parents, of children, and of pairs; `None` when
    /// there are no pairs.
    pub(crate) fn from_weights(
        parents: &Weights,
        children: &Weights,
        pairs: &Weights,
    ) -> Option<Self> {
        let parent_entropy = entropy_bits(parents)?;
        let child_entropy = entropy_bits(children)?;
        let joint_entropy = entropy_bits(pairs)?;
        // The exact values are not negative; rounding must not make them so.
        let mutual_information = (parent_entropy + child_entropy - joint_entropy).max(0.0);
        Some(Self {
            parent_entropy,
            child_entropy,
            joint_entropy,
            mutual_information,
            child_given_parent: (joint_entropy - parent_entropy).max(0.0),
            parent_given_child: (joint_entropy - child_entropy).max(0.0),
            // Children that are all the same hold no surprise that a parent could reduce.
            constraint_effectiveness: (child_entropy > 0.0)
                .then(|| (mutual_information / child_entropy).min(1.0)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entropy_is_that_of_the_distribution() {
        let close = |weights: &[(u64, u64)], expected: f64| {
            let found = entropy_bits(&weights.iter().copied().collect()).unwrap();
            assert!((found - expected).abs() < 1e-12, "{weights:?}: {found}");
        };
        assert_eq!(entropy_bits(&Weights::new()), None);
        close(&[(7, 1)], 0.0);
        close(&[(1, 8)], 3.0);
        close(&[(3, 4)], 2.0);
        // 1/2, 1/4, 1/8, 1/8.
        close(&[(4, 1), (2, 1), (1, 2)], 1.75);
        close(&[(u64::MAX, 2)], 1.0);
    }
}
