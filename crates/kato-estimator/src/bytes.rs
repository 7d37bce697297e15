//! From patterns to bytes: what each store takes for them.

use serde::{Deserialize, Serialize};

use crate::EstimateError;

/// What a level holds, as far as its size depends on it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct LevelContents {
    /// Distinct patterns.
    pub patterns: f64,
    /// Those of them that were learned more than once.
    pub repeated: f64,
    /// Symbols of all distinct patterns together.
    pub symbols: f64,
    /// Distinct symbols: tokens at level 0, names of patterns below above it.
    pub distinct_symbols: f64,
}

/// A store and how its size follows from what it holds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "engine", rename_all = "snake_case")]
#[non_exhaustive]
pub enum StorageEngine {
    /// The embedded store: follows from its file format.
    Embedded(EmbeddedLayout),
    /// A MongoDB with its indexes, by coefficients measured on it.
    MongoDb(ByteModel),
    /// A stock KATO's knowledge base: size of its data in MongoDB without indexes, by coefficients measured on it.
    StockKato(ByteModel),
}

impl StorageEngine {
    /// The embedded store, compact: one segment.
    #[must_use]
    pub fn embedded() -> Self {
        Self::Embedded(EmbeddedLayout::default())
    }

    /// The embedded store as training leaves it, before it is made compact: [`EmbeddedLayout::of_run`].
    #[must_use]
    pub fn embedded_of_run(workers: u64, memory_budget: u64) -> Self {
        Self::Embedded(EmbeddedLayout::of_run(workers, memory_budget))
    }

    /// A MongoDB as `kato-mongodb` fills it, with [`ByteModel::mongodb`].
    #[must_use]
    pub fn mongodb() -> Self {
        Self::MongoDb(ByteModel::mongodb())
    }

    /// A stock KATO of October 2025, with [`ByteModel::stock_kato`].
    #[must_use]
    pub fn stock_kato() -> Self {
        Self::StockKato(ByteModel::stock_kato())
    }

    /// Name of the engine: `embedded`, `mongodb` or `stock-kato`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Embedded(_) => "embedded",
            Self::MongoDb(_) => "mongodb",
            Self::StockKato(_) => "stock-kato",
        }
    }

    /// Bytes of every level, bottom up.
    #[must_use]
    pub fn level_bytes(&self, levels: &[LevelContents]) -> Vec<f64> {
        let below = std::iter::once(None).chain(levels.iter().map(Some));
        let pairs = levels.iter().zip(below);
        match self {
            Self::Embedded(layout) => pairs
                .map(|(level, below)| layout.bytes(level, below))
                .collect(),
            Self::MongoDb(model) | Self::StockKato(model) => pairs
                .map(|(level, below)| model.bytes(level, below.is_none()))
                .collect(),
        }
    }

    /// Bytes that are there beside the patterns of the levels; only the embedded store has segments.
    #[must_use]
    pub fn fixed_bytes(&self, n_levels: usize, segments: u64) -> f64 {
        match self {
            // Both manifests, and of each segment magic numbers and footer; measured to within 100 bytes.
            Self::Embedded(_) => {
                let (segments, n_levels) = (segments.max(1) as f64, n_levels as f64);
                700.0 + 60.0 * n_levels + segments * (100.0 + 330.0 * n_levels)
            }
            Self::MongoDb(model) | Self::StockKato(model) => model.fixed,
        }
    }

    /// Share by which the size of known contents may be off.
    pub(crate) fn relative_error(&self) -> f64 {
        match self {
            Self::Embedded(_) => 0.01,
            Self::MongoDb(model) | Self::StockKato(model) => model.relative_error,
        }
    }
}

/// What decides the size of an embedded store beside its patterns (`docs/file-format.md` has the format).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct EmbeddedLayout {
    /// Segments of the store, at least. A pattern that is learned in two segments is stored in both, until they are merged. Default 1.
    pub segments: u64,
    /// Memory in which a worker collects what becomes a segment, in bytes; `None`, the default, where it is as large as needed.
    pub segment_memory: Option<u64>,
    /// Mean bytes of the text of a distinct token. Default 7.8, GPT-2's on English text, whose blank takes two bytes.
    pub token_text_bytes: f64,
}

impl Default for EmbeddedLayout {
    fn default() -> Self {
        Self {
            segments: 1,
            segment_memory: None,
            token_text_bytes: 7.8,
        }
    }
}

/// Patterns of a block of a segment, and what the index has for each block.
const BLOCK: f64 = 256.0;
const BLOCK_INDEX_BYTES: f64 = 20.0;
const NAME_BYTES: f64 = 20.0;

/// Segments that a store lets stand before it merges some.
const MAX_SEGMENTS: u64 = 64;
/// Memory that a pattern and each of its symbols take until they are written, in bytes: segments of runs with chunk sizes 3, 5 and 15 were
/// within 12 %.
const PATTERN_MEMORY: f64 = 64.0;
const SYMBOL_MEMORY: f64 = 4.5;

impl EmbeddedLayout {
    /// What training with so many workers leaves: a segment for each, and more where what was learned does not fit into the memory budget,
    /// of which every worker has its part. A run of many commits leaves more, up to 64; compacting leaves one.
    #[must_use]
    pub fn of_run(workers: u64, memory_budget: u64) -> Self {
        let segments = workers.clamp(1, MAX_SEGMENTS);
        Self {
            segments,
            segment_memory: Some(memory_budget / segments),
            ..Self::default()
        }
    }

    /// Segments of a store, by the contents that each of so many equal ones has.
    pub(crate) fn n_segments(&self, contents: impl Fn(u64) -> Vec<LevelContents>) -> u64 {
        let least = self.segments.max(1);
        let Some(memory) = self.segment_memory else {
            return least;
        };
        let fits = |segments: &u64| {
            let taken = contents(*segments);
            let taken = taken
                .iter()
                .map(|level| PATTERN_MEMORY * level.patterns + SYMBOL_MEMORY * level.symbols);
            taken.sum::<f64>() <= memory as f64
        };
        (least..MAX_SEGMENTS)
            .find(fits)
            .unwrap_or(MAX_SEGMENTS.max(least))
    }

    fn bytes(&self, level: &LevelContents, below: Option<&LevelContents>) -> f64 {
        if level.patterns < 0.5 {
            return 0.0;
        }
        let literals = if below.is_none() {
            level.distinct_symbols
        } else {
            0.0
        };
        let numbers = below.map_or(0.0, |below| below.patterns) + literals;
        let width = [256.0, 65_536.0, 16_777_216.0]
            .iter()
            .filter(|&&limit| numbers > limit)
            .count()
            + 1;
        let mean_symbols = level.symbols / level.patterns;
        // Length, two flags, seven bits a byte.
        let header = if mean_symbols * 4.0 < 128.0 { 1.0 } else { 2.0 };
        level.patterns * (NAME_BYTES + header)
            + level.repeated
            + level.symbols * width as f64
            + (level.patterns / BLOCK).ceil() * BLOCK_INDEX_BYTES
            + literals * (4.0 + self.token_text_bytes)
    }
}

/// Bytes a pattern, a symbol and a distinct symbol, as measured on a store.
///
/// ```
/// use kato_estimator::{ByteModel, LevelContents};
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

/// What a level takes for each of what it holds, in bytes.
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
    fn bytes(&self, level: &LevelContents) -> f64 {
        self.per_pattern * level.patterns
            + self.per_symbol * level.symbols
            + self.per_distinct_symbol * level.distinct_symbols
    }
}

/// What a level of a finished run held, and how large it was.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ByteMeasurement {
    /// Whether it is level 0.
    pub is_bottom: bool,
    /// What it held.
    pub contents: LevelContents,
    /// Its size.
    pub bytes: f64,
}

impl ByteModel {
    /// Size of the data of a stock KATO of October 2025: fitted to 23 recorded runs with chunk sizes 3 to 8 and 100 and 1,000 documents
    /// (`docs/estimation.md`), with errors below 1 %. Indexes are not in it.
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

    /// Data and indexes of the nodes' databases of a run into a MongoDB, before the server compresses them: fitted to 17 levels of 7 runs
    /// with chunk sizes 3 to 15 (`docs/estimation.md`), with errors below 0.6 %. A server that compresses takes less: calibrate with a
    /// finished run's bytes, or [`fit`](Self::fit).
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

    /// Bytes of a level.
    #[must_use]
    pub fn bytes(&self, level: &LevelContents, is_bottom: bool) -> f64 {
        if is_bottom {
            self.bottom.bytes(level)
        } else {
            self.above.bytes(level)
        }
    }

    /// Fits the coefficients to measured levels: least squares of relative errors, no coefficient below 0.
    ///
    /// Levels above 0 take the coefficients of level 0 where none of them was measured. Give levels of several chunk sizes and sizes;
    /// else coefficients that cannot be told apart share what they have in common.
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
        let errors = bottom
            .iter()
            .chain(&above)
            .map(|m| (model.bytes(&m.contents, m.is_bottom) / m.bytes - 1.0).abs());
        model.relative_error = errors.fold(0.0, f64::max);
        Ok(model)
    }
}

/// Non-negative least squares over the three coefficients: the best of all choices of which are not zero.
fn fit_coefficients(measurements: &[ByteMeasurement]) -> Option<ByteCoefficients> {
    let rows: Vec<[f64; 3]> = measurements
        .iter()
        .map(|m| {
            [
                m.contents.patterns,
                m.contents.symbols,
                m.contents.distinct_symbols,
            ]
            .map(|count| count / m.bytes)
        })
        .collect();
    let mut best: Option<([f64; 3], f64)> = None;
    for choice in 1..8usize {
        let used: Vec<usize> = (0..3).filter(|i| choice & (1 << i) != 0).collect();
        let Some(solution) = least_squares(&rows, &used) else {
            continue;
        };
        if solution.iter().any(|&x| x < 0.0) {
            continue;
        }
        let error: f64 = rows
            .iter()
            .map(|row| (row.iter().zip(&solution).map(|(a, x)| a * x).sum::<f64>() - 1.0).powi(2))
            .sum();
        if best.is_none_or(|(_, least)| error < least - 1e-12) {
            best = Some((solution, error));
        }
    }
    best.map(
        |([per_pattern, per_symbol, per_distinct_symbol], _)| ByteCoefficients {
            per_pattern,
            per_symbol,
            per_distinct_symbol,
        },
    )
}

/// Solves the normal equations for the used columns with target 1; `None` where they do not decide.
fn least_squares(rows: &[[f64; 3]], used: &[usize]) -> Option<[f64; 3]> {
    let n = used.len();
    if rows.len() < n {
        return None;
    }
    let mut matrix: Vec<Vec<f64>> = used
        .iter()
        .map(|&i| {
            let products = used
                .iter()
                .map(|&j| rows.iter().map(|row| row[i] * row[j]).sum());
            products
                .chain([rows.iter().map(|row| row[i]).sum()])
                .collect()
        })
        .collect();
    for pivot in 0..n {
        let size = matrix[pivot][pivot];
        let scale: f64 = rows.iter().map(|row| row[used[pivot]].powi(2)).sum();
        if size <= 1e-9 * scale {
            return None;
        }
        for row in 0..n {
            if row == pivot {
                continue;
            }
            let factor = matrix[row][pivot] / size;
            let subtracted: Vec<f64> = matrix[pivot].iter().map(|x| factor * x).collect();
            for (x, part) in matrix[row].iter_mut().zip(subtracted) {
                *x -= part;
            }
        }
    }
    let mut solution = [0.0; 3];
    for (at, &i) in used.iter().enumerate() {
        solution[i] = matrix[at][n] / matrix[at][at];
    }
    Some(solution)
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
