#![doc = include_str!("../README.md")]
//!
//! # Where to start
//!
//! Start with [`PatternIndex`], which learns patterns and predicts.
//!
//! * [`PredictionConfig`] has the settings of a prediction, [`Filter`] and [`FilterSettings`] those
//!   of the filter pipeline; [`Cancel`] ends predictions from another thread.
//! * [`Predictions`] is the answer: [`Prediction`]s, best first, and their [`FutureShare`]s.
//! * [`frozen`] has the index of patterns that lie on a disk: [`PatternIndex::over`] one takes no
//!   time, however many there are.
//! * `disk`, with the feature of that name, has the files of such indexes: written in bounded memory,
//!   found beside their knowledge base, and mapped.
//! * [`metrics`] has a function for each metric that is computed, with its formula.
//! * [`matching`] has the comparisons of sequences: matching blocks, common subsequences and
//!   similarities.
//!
//! [`Filter`]: config::Filter
//! [`FilterSettings`]: config::FilterSettings
//! [`FutureShare`]: prediction::FutureShare

#![warn(clippy::cast_possible_truncation, clippy::cast_sign_loss)]

mod bounds;
mod cancel;
mod candidate;
mod collections;
pub mod config;
#[cfg(feature = "disk")]
pub mod disk;
mod error;
mod events;
mod filter;
pub mod frozen;
mod fuzzy;
mod index;
mod matcher;
pub mod matching;
pub mod metrics;
mod minhash;
mod page;
mod page_class;
mod predict;
pub mod prediction;
mod refine;
mod search;
mod serialize;
mod split;
mod state;
mod symbols;
mod weights;
mod window;

pub use cancel::{Cancel, Cancelled};
pub use config::PredictionConfig;
pub use error::{DamagedIndex, IndexError};
pub use index::{IndexedSymbolCounts, PatternIndex};
pub use prediction::{Prediction, Predictions};
pub use search::SearchWork;
pub use symbols::SymbolId;
pub use window::last_symbols;
