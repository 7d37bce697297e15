//! Generations of KATO, as values: what changed between its releases, one rule a function.
//!
//! Each rule says which generations have it, so that the choices, also the uncertain ones, are seen in one
//! place. Nothing else compares versions.

mod http;
mod sessions;

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// A generation of KATO: releases that answer alike.
///
/// ```
/// use kato_model::KatoGeneration;
///
/// let generation: KatoGeneration = "6.3.2".parse()?;
/// assert_eq!(generation, KatoGeneration::V6);
/// assert!(KatoGeneration::V3_10 < generation);
/// assert_eq!(generation.to_string(), "6.3");
/// # Ok::<(), kato_model::UnknownGeneration>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum KatoGeneration {
    /// The MongoDB generation of October 2025, whose API says version 1.0.0.
    October2025,
    /// 3.x and 4.x, of which 3.10.1 was measured.
    V3_10,
    /// 5.x, by 5.2.
    V5,
    /// 6.x, by 6.3.2: the newest.
    #[default]
    V6,
}

impl KatoGeneration {
    /// All generations, oldest first.
    pub const ALL: [Self; 4] = [Self::October2025, Self::V3_10, Self::V5, Self::V6];

    /// Returns the generation of the server that says that it has a version. What is unknown is taken
    /// for the newest.
    #[must_use]
    pub fn from_version(version: &str) -> Self {
        let major = version.split('.').next().unwrap_or_default();
        match major.parse::<u64>() {
            Ok(0..=2) => Self::October2025,
            Ok(3 | 4) => Self::V3_10,
            Ok(5) => Self::V5,
            _ => Self::V6,
        }
    }

    /// Returns the release by which the generation was measured.
    #[must_use]
    pub const fn release(self) -> &'static str {
        match self {
            Self::October2025 => "1.0.0",
            Self::V3_10 => "3.10.1",
            Self::V5 => "5.2.0",
            Self::V6 => "6.3.2",
        }
    }
}

impl fmt::Display for KatoGeneration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::October2025 => "2025-10",
            Self::V3_10 => "3.10",
            Self::V5 => "5.2",
            Self::V6 => "6.3",
        })
    }
}

/// A text that names no generation.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("there is no KATO {text:?} here: the generations are 2025-10, 3.10, 5.2 and 6.3")]
pub struct UnknownGeneration {
    text: String,
}

impl FromStr for KatoGeneration {
    type Err = UnknownGeneration;

    /// Reads a version of 1 to 6, with or without what follows its first number, or `2025-10`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "2025-10" {
            return Ok(Self::October2025);
        }
        let parts: Option<Vec<u64>> = text.split('.').map(|part| part.parse().ok()).collect();
        match parts.as_deref() {
            Some([1..=6, ..]) => Ok(Self::from_version(text)),
            _ => Err(UnknownGeneration {
                text: text.to_owned(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::KatoGeneration as G;

    #[test]
    fn what_is_displayed_is_read() {
        for generation in G::ALL {
            assert_eq!(generation.to_string().parse(), Ok(generation));
            assert_eq!(G::from_version(generation.release()), generation);
        }
        for text in ["", "7", "0.9", "six", "6.", "-1"] {
            assert!(text.parse::<G>().is_err(), "{text:?}");
        }
    }
}
