//! The size of a store by coefficients that were measured on it.

use serde::{Deserialize, Serialize};

use super::LevelContents;
use super::least_squares::fit_coefficients;
use crate::EstimateError;

/// Bytes a pattern, a symbol and a distinct symbol, as measured on a store.
///
/// ```
/// use kato_estimator::bytes::{ByteModel, LevelContents};
///
/// let level = LevelContents { patterns: 1_000.0, repeated: 20.0, symbols: 5_000.0, distinct_symbols: 800.0 };
/// let bytes = ByteModel::stock_kato().bytes(&level, true);
/// assert!((300_000.0..400_000.0).contains(&bytes));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ByteModel {
    /// Level 0, whose symbols are tokens.
    pub bottom: ByteCoefficients,
    /// The levels above, whose symbols are names.
    pub above: ByteCoefficients,
    /// Bytes of an empty store.
    pub fixed: f64,
    /// Largest relative error on what it was fitted to.
    pub relative_error: f64,
}

/// Bytes that a level takes for each item of its contents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct ByteCoefficients {
    /// For a distinct pattern.
    pub per_pattern: f64,
    /// For a symbol of a distinct pattern.
    pub per_symbol: f64,
    /// For a distinct symbol.
    pub per_distinct_symbol: f64,
}

impl ByteCoefficients {
    /// Returns the bytes of a level.
    fn bytes(&self, level: &LevelContents) -> f64 {
        self.per_pattern * level.patterns
            + self.per_symbol * level.symbols
            + self.per_distinct_symbol * level.distinct_symbols
    }
}

/// The contents of a level of a finished run, with its measured size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ByteMeasurement {
    /// Whether it is level 0.
    pub is_bottom: bool,
    /// Its contents.
    pub contents: LevelContents,
    /// Its size, in bytes.
    pub bytes: f64,
}

impl ByteModel {
    /// Returns the model of a stock KATO of October 2025: the size of its data without indexes.
    ///
    /// It was fitted to 23 recorded runs with chunk sizes 3 to 8 and 100 and 1,000 documents
    /// (`docs/costs.md`), with errors below 1 %.
    #[must_use]
    pub fn stock_kato() -> Self {
        Self {
            bottom: ByteCoefficients {
                per_pattern: 153.9,
                per_symbol: 24.43,
                per_distinct_symbol: 72.6,
            },
            above: ByteCoefficients {
                per_pattern: 147.3,
                per_symbol: 61.65,
                per_distinct_symbol: 123.1,
            },
            fixed: 0.0,
            relative_error: 0.01,
        }
    }

    /// Returns the model of a MongoDB that `kato-mongodb` fills: data and indexes of the nodes'
    /// databases, before the server compresses them.
    ///
    /// It was fitted to 17 levels of 7 runs with chunk sizes 3 to 15 (`docs/costs.md`), with
    /// errors of at most 0.6 %. A server that compresses takes less: calibrate with a finished run's
    /// bytes, or [`fit`](Self::fit) a model.
    #[must_use]
    pub fn mongodb() -> Self {
        Self {
            bottom: ByteCoefficients {
                per_pattern: 361.3,
                per_symbol: 102.2,
                per_distinct_symbol: 143.3,
            },
            above: ByteCoefficients {
                per_pattern: 331.3,
                per_symbol: 226.6,
                per_distinct_symbol: 259.4,
            },
            fixed: 0.0,
            relative_error: 0.006,
        }
    }

    /// Returns the bytes of a level.
    #[must_use]
    pub fn bytes(&self, level: &LevelContents, is_bottom: bool) -> f64 {
        if is_bottom {
            self.bottom.bytes(level)
        } else {
            self.above.bytes(level)
        }
    }

    /// Fits the coefficients to measured levels by least squares of relative errors, no coefficient
    /// below 0.
    ///
    /// Levels above 0 take the coefficients of level 0 where none can be fitted to them.
    /// Measurements should be of several chunk sizes and numbers of patterns: from levels that are
    /// alike the coefficients cannot be told apart.
    ///
    /// # Errors
    ///
    /// [`EstimateError::Fit`] without a measurement of level 0 that has patterns and bytes.
    pub fn fit(measurements: &[ByteMeasurement], fixed: f64) -> Result<Self, EstimateError> {
        let of = |is_bottom: bool| {
            let chosen = measurements.iter().filter(move |m| {
                m.is_bottom == is_bottom && m.bytes > 0.0 && m.contents.patterns > 0.0
            });
            chosen.copied().collect::<Vec<_>>()
        };
        // Fitted apart: a symbol is a short token at level 0 and the name of a pattern above.
        let (bottom, above) = (of(true), of(false));
        let Some(bottom_fit) = fit_coefficients(&bottom) else {
            return Err(EstimateError::Fit {
                reason: "no measurement of level 0 has patterns and bytes",
            });
        };
        let mut model = Self {
            bottom: bottom_fit,
            above: fit_coefficients(&above).unwrap_or(bottom_fit),
            fixed,
            relative_error: 0.0,
        };
        // The largest error on the measurements stands in for that on other levels.
        let errors = bottom
            .iter()
            .chain(&above)
            .map(|m| (model.bytes(&m.contents, m.is_bottom) / m.bytes - 1.0).abs());
        model.relative_error = errors.fold(0.0, f64::max);
        Ok(model)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_coefficients_that_made_the_measurements_are_found() {
        let truth = ByteModel::stock_kato();
        let mut measurements = Vec::new();
        for is_bottom in [true, false] {
            for (patterns, length, distinct) in [
                (100.0, 3.0, 90.0),
                (2_000.0, 5.0, 900.0),
                (9_000.0, 8.0, 1_500.0),
                (700.0, 15.0, 600.0),
            ] {
                let contents = LevelContents {
                    patterns,
                    repeated: 0.0,
                    symbols: patterns * length,
                    distinct_symbols: distinct,
                };
                measurements.push(ByteMeasurement {
                    is_bottom,
                    contents,
                    bytes: truth.bytes(&contents, is_bottom),
                });
            }
        }
        let fitted = ByteModel::fit(&measurements, 0.0).unwrap();
        assert!(
            (fitted.bottom.per_symbol - truth.bottom.per_symbol).abs() < 1e-6,
            "{fitted:?}"
        );
        assert!((fitted.above.per_distinct_symbol - truth.above.per_distinct_symbol).abs() < 1e-6);
        assert!(fitted.relative_error < 1e-9);
    }

    #[test]
    fn one_measurement_gives_bytes_a_pattern_and_none_is_refused() {
        let contents = LevelContents {
            patterns: 50.0,
            repeated: 0.0,
            symbols: 200.0,
            distinct_symbols: 40.0,
        };
        let one = ByteMeasurement {
            is_bottom: true,
            contents,
            bytes: 5_000.0,
        };
        let fitted = ByteModel::fit(&[one], 0.0).unwrap();
        assert!((fitted.bytes(&contents, true) - 5_000.0).abs() < 1e-6);
        assert!(ByteModel::fit(&[], 0.0).is_err());
    }
}
