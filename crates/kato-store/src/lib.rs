//! Where patterns live: one store contract, a store in memory and an embedded store on disk.
//!
//! * [`PatternStore`] is the contract: stage batches, commit them together with a training position, read patterns back.
//! * [`EmbeddedStore`] keeps a run in a directory, crash-safe and compact; [`MemoryStore`] keeps it in memory, for tests and
//!   small runs.
//! * [`KnowledgeBase`] is one node of a store: look-ups, [statistics](FrequencyStatistics), export and import as JSON Lines.
//!
//! ```
//! use kato_model::{BatchSymbol, LearnBatch, PatternName};
//! use kato_store::{EmbeddedStore, KnowledgeBase, PatternStore};
//! use serde_json::json;
//!
//! let dir = tempfile::tempdir()?;
//! let store = EmbeddedStore::create(&dir.path().join("kb"), &["node0"], json!({"chunk_size": 2}))?;
//!
//! let mut batch = LearnBatch::new(1);
//! let name = PatternName::of_events(&[["the"], ["cat"]]);
//! let symbols = ["the", "cat"].map(|text| BatchSymbol::Literal(batch.literal(text)));
//! batch.learn(0, name, symbols);
//! store.commit(vec![store.stage(batch.seal())?], json!({"samples": 1}))?;
//!
//! let node0 = KnowledgeBase::of(&store, "node0")?;
//! assert_eq!(node0.pattern(&name)?.map(|pattern| pattern.frequency), Some(1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Features
//!
//! `conformance` (off): the module `conformance`, tests that every implementation of [`PatternStore`] passes, for those who
//! write one. It is not covered by the promises of the version number.

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
