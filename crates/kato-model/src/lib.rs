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
//! * Exchange: [`PatternRecord`] is a pattern as one line of JSON.

mod attributes;
mod batch;
mod emotives;
mod event;
mod hex;
mod literal;
mod metadata;
mod metadata_value;
mod name;
mod naming;
mod pattern;
mod printable;
mod processor_id;
mod record;
mod run_name;
mod shortest;
mod symbol;
mod symbol_table;
mod vector;

pub use attributes::{AttributeLimits, Attributes, FirstSeen};
pub use batch::{
    BatchSymbol, LearnBatch, NodeView, Occurrence, SealedBatch, SealedPattern, SealedSymbol,
};
pub use emotives::{
    DEFAULT_PERSISTENCE, EmotiveEntry, EmotiveMap, EmotiveWindow, add_emotives, learned_mean,
    mean_emotives,
};
pub use event::Event;
pub use literal::{write_events_literal, write_symbol_literal};
pub use metadata::Metadata;
pub use metadata_value::MetadataValue;
pub use name::{NAME_PREFIX, ParsePatternNameError, PatternName, Prefixed};
pub use naming::{LiteralTable, NameScratch, UnknownSymbolId, name_of_ids, name_of_names};
pub use pattern::Pattern;
pub use processor_id::processor_id;
pub use record::{PatternRecord, RecordError};
pub use run_name::{InvalidRunName, RunName};
pub use symbol::Symbol;
pub use symbol_table::SymbolTable;
pub use vector::{
    ParseVectorNameError, VECTOR_PREFIX, VectorError, VectorName, smaller_vector, sum_vectors,
    write_numpy_text,
};
