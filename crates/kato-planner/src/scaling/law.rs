//! The laws by which costs grow.

use std::fmt;

use serde::Serialize;

/// A law by which a cost grows with the size of the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[non_exhaustive]
pub enum Law {
    /// O(1): not at all.
    #[serde(rename = "O(1)")]
    Constant,
    /// O(log n).
    #[serde(rename = "O(log n)")]
    Logarithmic,
    /// O(n).
    #[serde(rename = "O(n)")]
    Linear,
    /// O(n log n).
    #[serde(rename = "O(n log n)")]
    Linearithmic,
    /// O(n²).
    #[serde(rename = "O(n^2)")]
    Quadratic,
    /// n to a power that is fitted; Heaps' law of distinct patterns is one.
    #[serde(rename = "power")]
    Power,
    /// The expected number of distinct patterns of a Pitman–Yor process after n learn calls.
    #[serde(rename = "Pitman-Yor")]
    PitmanYor,
}

impl Law {
    /// The laws of costs.
    pub const COSTS: [Self; 6] = [
        Self::Constant,
        Self::Logarithmic,
        Self::Linear,
        Self::Linearithmic,
        Self::Quadratic,
        Self::Power,
    ];

    /// The laws of distinct patterns over learn calls.
    pub const PATTERNS: [Self; 3] = [Self::Linear, Self::Power, Self::PitmanYor];

    /// Returns the name for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Constant => "O(1)",
            Self::Logarithmic => "O(log n)",
            Self::Linear => "O(n)",
            Self::Linearithmic => "O(n log n)",
            Self::Quadratic => "O(n²)",
            Self::Power => "n^p",
            Self::PitmanYor => "Pitman–Yor",
        }
    }

    /// Returns the shape of a law without parameters of its own at a size; 1 for others.
    pub(crate) fn shape(self, size: f64) -> f64 {
        // 1 + n within the logarithm, so that sizes below 1 have a logarithm above 0.
        match self {
            Self::Constant | Self::Power | Self::PitmanYor => 1.0,
            Self::Logarithmic => size.ln_1p(),
            Self::Linear => size,
            Self::Linearithmic => size * size.ln_1p(),
            Self::Quadratic => size * size,
        }
    }
}

impl fmt::Display for Law {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
