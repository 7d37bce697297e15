#![doc = include_str!("../README.md")]
//!
//! ## Where to start
//!
//! Start with [`Pattern`], a sequence of [`Event`]s with its [`PatternName`].
//!
//! * Names: [`PatternName`] and [`VectorName`]; [`name_of_ids`] and [`name_of_names`] name millions
//!   of patterns of one symbol per event; [`processor_id`] and [`RunName`] name knowledge bases.
//! * Symbols: [`Symbol`] is one symbol of a pattern, [`SymbolTable`] numbers their texts.
//! * Attributes: [`Metadata`], [`EmotiveWindow`] and [`FirstSeen`], together [`Attributes`] within
//!   [`AttributeLimits`].
//! * Counting: [`LearnBatch`] counts learn calls and becomes a [`SealedBatch`], which stores merge.
//! * Runs: [`RunName`], and the [`forecast`] of one.
//! * Compatibility: [`KatoGeneration`] has the rules that changed between releases of KATO.
//! * Exchange: [`PatternRecord`] is a pattern as one line of JSON.
//!
//! [`name_of_ids`]: naming::name_of_ids
//! [`name_of_names`]: naming::name_of_names
//! [`EmotiveWindow`]: emotives::EmotiveWindow
//! [`processor_id`]: naming::processor_id

// A number that a cast has cut is another number, in a file whose checksums match.
#![warn(clippy::cast_possible_truncation, clippy::cast_sign_loss)]

mod attributes;
pub mod batch;
pub mod emotives;
mod event;
pub mod forecast;
pub mod generation;
mod hex;
mod literal;
mod metadata;
mod metadata_value;
mod name;
pub mod naming;
mod parse_visitor;
mod pattern;
mod printable;
mod processor_id;
mod record;
mod run_name;
mod shortest;
mod symbol;
mod symbol_table;
pub mod vector;

pub use attributes::{AttributeLimits, Attributes, FirstSeen};
pub use batch::{LearnBatch, SealedBatch};
pub use emotives::EmotiveMap;
pub use event::Event;
pub use generation::{KatoGeneration, UnknownGeneration};
pub use metadata::Metadata;
pub use metadata_value::MetadataValue;
pub use name::PatternName;
pub use pattern::Pattern;
pub use record::{PatternRecord, RecordError};
pub use run_name::RunName;
pub use symbol::Symbol;
pub use symbol_table::SymbolTable;
pub use vector::VectorName;
