//! Exact predictions from learned patterns: matching, metrics, and a search index that skips most patterns.

mod bounds;
mod cancel;
mod candidate;
mod collections;
mod config;
mod error;
mod filter;
mod fuzzy;
mod index;
pub mod matching;
pub mod metrics;
mod minhash;
mod outline;
mod page;
mod page_class;
mod predict;
mod prediction;
mod search;
mod serialize;
mod split;
mod state;
mod symbols;
mod weights;

pub use cancel::{Cancel, Cancelled};
pub use config::{Filter, FilterSettings, PredictionConfig, RankMetric};
pub use error::IndexError;
pub use index::{IndexedSymbolCounts, PatternIndex};
pub use prediction::{
    Anomaly, EnsembleMetrics, FuturePotential, Prediction, Predictions, WeightedMetrics,
};
pub use symbols::SymbolId;
