//! Conversion of patterns to the bytes that each store takes for them.

mod embedded;
mod least_squares;
mod merging;
mod model;

use serde::{Deserialize, Serialize};

pub use self::embedded::EmbeddedLayout;
pub(crate) use self::embedded::{BATCH_BYTES, CALL_MEMORY, Learned, SYMBOL_MEMORY, Segments};
pub use self::model::{ByteCoefficients, ByteMeasurement, ByteModel};

/// The contents of a level, as far as its size depends on them.
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

/// A store, with the rule by which its size follows from its contents.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "engine", rename_all = "snake_case")]
#[non_exhaustive]
pub enum StorageEngine {
    /// The embedded store, by its file format.
    Embedded(EmbeddedLayout),
    /// A MongoDB with its indexes, by coefficients measured on it.
    MongoDb(ByteModel),
    /// A stock KATO's knowledge base: size of its data in MongoDB without indexes, by coefficients
    /// measured on it.
    StockKato(ByteModel),
}

impl StorageEngine {
    /// Returns the embedded store after compacting, with one segment.
    #[must_use]
    pub fn embedded() -> Self {
        Self::Embedded(EmbeddedLayout::default())
    }

    /// Returns the embedded store as training leaves it, before it is compacted; see
    /// [`EmbeddedLayout::of_run`].
    #[must_use]
    pub fn embedded_of_run(workers: u64, memory_budget: u64) -> Self {
        Self::Embedded(EmbeddedLayout::of_run(workers, memory_budget))
    }

    /// Returns a MongoDB as `kato-mongodb` fills it, with [`ByteModel::mongodb`].
    #[must_use]
    pub fn mongodb() -> Self {
        Self::MongoDb(ByteModel::mongodb())
    }

    /// Returns a stock KATO of October 2025, with [`ByteModel::stock_kato`].
    #[must_use]
    pub fn stock_kato() -> Self {
        Self::StockKato(ByteModel::stock_kato())
    }

    /// Returns the name of the engine: `embedded`, `mongodb` or `stock-kato`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Embedded(_) => "embedded",
            Self::MongoDb(_) => "mongodb",
            Self::StockKato(_) => "stock-kato",
        }
    }

    /// Returns the bytes of every level, bottom up.
    #[must_use]
    pub fn level_bytes(&self, levels: &[LevelContents]) -> Vec<f64> {
        // In the embedded store a symbol takes as many bytes as the number of patterns below needs;
        // for the others it only matters whether there is a level below.
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

    /// Returns the bytes that a store takes beside the patterns of the levels.
    ///
    /// Only the embedded store has segments; the others ignore their number.
    #[must_use]
    pub fn fixed_bytes(&self, n_levels: usize, segments: u64) -> f64 {
        match self {
            // Both manifests, and the magic numbers and footer of each segment; measured to within
            // 100 bytes.
            Self::Embedded(_) => {
                let (segments, n_levels) = (segments.max(1) as f64, n_levels as f64);
                700.0 + 60.0 * n_levels + segments * (100.0 + 330.0 * n_levels)
            }
            Self::MongoDb(model) | Self::StockKato(model) => model.fixed,
        }
    }

    /// Returns the share by which the size of known contents may be off.
    pub(crate) fn relative_error(&self) -> f64 {
        match self {
            // The largest error where all documents are known, in `docs/costs.md`.
            Self::Embedded(_) => 0.01,
            Self::MongoDb(model) | Self::StockKato(model) => model.relative_error,
        }
    }
}
