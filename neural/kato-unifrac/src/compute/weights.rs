//! What a sample's share in a branch counts.

/// How a count below a branch becomes its weight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Weights {
    /// The branch's length, however much it is.
    Presence,
    /// The branch's length times the sample's proportion. Lengths are not below zero, so what two
    /// samples share, l·min(a, b), is the smaller of the two weights.
    Proportion,
    /// The proportion alone, as the generalised distance takes powers of it.
    Power {
        /// The exponent.
        alpha: f64,
    },
}

impl Weights {
    /// Computes what is kept for one sample and branch.
    pub(super) fn weight(self, length: f64, count: f64, total: f64) -> f64 {
        match self {
            Self::Presence => length,
            Self::Proportion => length * (count / total),
            Self::Power { .. } => count / total,
        }
    }

    /// Computes what the branch adds to what the sample holds, from its weight.
    pub(super) fn held(self, length: f64, weight: f64) -> f64 {
        match self {
            Self::Presence | Self::Proportion => weight,
            Self::Power { alpha } => length * power(weight, alpha),
        }
    }
}

/// Raises to a power between 0 and 1, the usual ones without the cost of the others.
pub(super) fn power(base: f64, alpha: f64) -> f64 {
    if alpha == 0.5 {
        base.sqrt()
    } else if alpha == 1.0 {
        base
    } else {
        base.powf(alpha)
    }
}
