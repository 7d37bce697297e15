#![doc = include_str!("../README.md")]
//!
//! # Map of the crate
//!
//! Start with [`Head`], which counts the patterns of a store or is taught, and answers.
//!
//! * [`HeadBuilder`] counts patterns that lie in no store.
//! * [`disk`] writes the counts of a store beside it, and opens them.
//! * [`History`] is what was read so far; [`NextDistribution`] the answer after it: the probability of a symbol,
//!   or the [`Distribution`] over all.
//! * [`Explanation`] splits a probability into the [`Expert`]s' parts, down to counts, discounts and
//!   places, and [`Head::name_patterns`] names the patterns that were counted, with
//!   their [sources](kato_store::Source); [`PatternNamer`] does so for patterns that lie in no store.
//! * [`Scorer`] reads a text and says how probable each of its symbols was.
//! * [`Weights`] say how far each expert is trusted, and learn that.
//! * [`HeadOptions`] choose the experts, the order, the levels and the discounts.

// A number that a cast has cut is another number.
#![warn(clippy::cast_sign_loss)]

mod best;
mod builder;
mod collect;
mod contexts;
pub mod disk;
mod distribution;
mod error;
pub mod explanation;
mod head;
mod history;
mod kneser_ney;
mod next;
mod one_by_one;
pub mod options;
mod patterns;
mod position;
mod scorer;
mod symbols;
mod trie;
mod weights;

pub use builder::HeadBuilder;
pub use collect::Counted;
pub use distribution::Distribution;
pub use error::HeadError;
pub use explanation::Explanation;
pub use head::Head;
pub use history::History;
pub use next::{NextDistribution, Outside};
pub use options::{Expert, HeadOptions};
pub use patterns::PatternNamer;
pub use scorer::Scorer;
pub use symbols::SymbolId;
pub use weights::{Class, Weights};
