//! Where patterns live: one store contract, a store in memory and an embedded store on disk.

mod contract;
mod embedded;
mod error;
mod memory;
mod pattern;

pub use contract::{PatternStore, Scan, StagedBatch, SymbolCounts, Totals};
pub use embedded::{EmbeddedOptions, EmbeddedStore};
pub use error::StoreError;
pub use memory::MemoryStore;
pub use pattern::StoredPattern;
