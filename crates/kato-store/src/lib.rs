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
//!   [statistics](statistics::FrequencyStatistics), and exports and imports JSON Lines.
//! * [`PatternVisitor`] receives all content of a node at once, for example to load an index.
//! * [`Source`] is where in the corpus a pattern was first seen.
//! * [`mod@slice`] has the files by which several machines learn and merge one knowledge base.
//! * `parquet`, with the feature of that name, writes and reads a node for DuckDB, Spark and Polars.
//! * [`EmbeddedOptions`] are the settings of the embedded store; [`Recovery`] reports damage that
//!   opening found and got over.
//! * [`StoreError`] and [`ExchangeError`] say what went wrong, and what the caller can do. A store
//!   of another crate maps its own failures to [`StoreErrorKind`]s; a [`Place`] is where it lies.
//!
//! [`Trace`]: trace::Trace
//! [`EmbeddedOptions`]: embedded::EmbeddedOptions
//! [`Recovery`]: embedded::Recovery

// A number that a cast has cut is another number, in a file whose checksums match.
#![warn(clippy::cast_possible_truncation, clippy::cast_sign_loss)]

#[cfg(feature = "conformance")]
pub mod conformance;
pub mod contract;
pub mod embedded;
mod error;
mod exchange;
mod knowledge_base;
pub mod lock_file;
mod memory;
mod name_batch;
#[cfg(feature = "parquet")]
pub mod parquet;
mod pattern;
mod place;
pub mod scratch;
pub mod slice;
mod source;
pub mod statistics;
mod tombstones;
pub mod trace;
pub mod visit;

pub use contract::PatternStore;
pub use embedded::EmbeddedStore;
pub use error::{Rescue, StoreError, StoreErrorKind};
pub use exchange::ExchangeError;
pub use knowledge_base::KnowledgeBase;
pub use memory::MemoryStore;
pub use pattern::StoredPattern;
pub use place::Place;
pub use source::Source;
pub use tombstones::{Tombstone, Tombstones};
pub use visit::PatternVisitor;
