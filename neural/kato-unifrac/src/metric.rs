//! The distances that there are.

use crate::error::UnifracError;

/// Which distance of two samples.
///
/// `l` is a branch's length, `a` and `b` the proportions of two samples' counts at tips below it;
/// sums go over all branches, without any above the root. Two samples that hold no branch of a
/// length above zero have the distance 0; no distance is ever NaN.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Metric {
    /// The part of the length held by either sample that is not held by both: from 0 to 1.
    ///
    /// Source: Lozupone and Knight, Applied and Environmental Microbiology 71 (2005).
    Unweighted,
    /// Σ l·|a − b|, in units of length.
    ///
    /// Source: Lozupone et al., Applied and Environmental Microbiology 73 (2007).
    Weighted,
    /// Σ l·|a − b| / Σ l·(a + b): from 0 to 1.
    ///
    /// Source: as for [`Weighted`](Self::Weighted).
    NormalizedWeighted,
    /// Σ l·(a + b)^α·|a − b|/(a + b) / Σ l·(a + b)^α: from 0 to 1.
    ///
    /// Source: Chen et al., Bioinformatics 28 (2012).
    Generalized {
        /// The weight of abundant lineages, from 0 to 1; with 1 it is
        /// [`NormalizedWeighted`](Self::NormalizedWeighted), and 0.5 is usual.
        alpha: f64,
    },
}

impl Metric {
    /// Checks α.
    pub(crate) fn checked(self) -> Result<Self, UnifracError> {
        match self {
            Self::Generalized { alpha } if !(0.0..=1.0).contains(&alpha) => {
                Err(UnifracError::InvalidSetting {
                    setting: "alpha",
                    reason: "give 0 to 1",
                })
            }
            metric => Ok(metric),
        }
    }
}
