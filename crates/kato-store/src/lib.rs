#![doc = include_str!("../README.md")]
//!
//! ## Where to start
//!
//! Start with [`EmbeddedStore`], which keeps a run in a directory, and [`KnowledgeBase`], a view of
//! one of its nodes.
//!
//! * [`PatternStore`] is the contract: stage batches, commit them together with a training
//!   position, read patterns back. [`MemoryStore`] keeps it in memory, for tests and small runs.
//! * [`KnowledgeBase`] looks patterns up, traces them down to text ([`Trace`]), computes
//!   [statistics](FrequencyStatistics), and exports and imports JSON Lines.
//! * [`PatternVisitor`] receives all content of a node at once, for example to load an index.
//! * [`EmbeddedOptions`] are the settings of the embedded store; [`Recovery`] reports that opening
//!   went back to an earlier commit.
//! * [`StoreError`] and [`ExchangeError`] say what went wrong, and what the caller can do.

#[cfg(feature = "conformance")]
pub mod conformance;
mod contract;
mod embedded;
mod error;
mod exchange;
mod knowledge_base;
mod memory;
mod pattern;
mod statistics;
mod trace;
mod visit;

pub use contract::{PatternStore, Scan, StagedBatch, SymbolCounts, Totals};
pub use embedded::{DamagePolicy, EmbeddedOptions, EmbeddedStore, Recovery, set_max_open_segments};
pub use error::StoreError;
pub use exchange::ExchangeError;
pub use knowledge_base::KnowledgeBase;
pub use memory::MemoryStore;
pub use pattern::StoredPattern;
pub use statistics::{FrequencyCount, FrequencyRanges, FrequencyStatistics, PatternFrequency};
pub use trace::{Trace, TraceChild};
pub use visit::{PatternVisitor, SourceSymbols, SymbolRef, VisitedPattern};
