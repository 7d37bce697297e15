//! What a hierarchy of knowledge bases looks like: snapshots, comparison of two, clean-up by frequency.
//!
//! * [`Snapshot`] is what a store holds in numbers: frequencies, how levels are made of each other, a digest of the content.
//! * [`Comparison`] says how two snapshots differ, and whether the knowledge is the same.
//! * [`CleanupPlan`] says what would go if rare patterns were forgotten, and does it: the hierarchy stays whole.
//!
//! All of it works on any [`PatternStore`](kato_store::PatternStore) and reads it level by level, in bounded memory. Nothing here
//! judges: no number is called good or bad.
//!
//! ```
//! use kato_analysis::{CleanupOptions, CleanupPlan, Comparison, References, Snapshot, SnapshotOptions};
//! use kato_model::{BatchSymbol, LearnBatch, PatternName};
//! use kato_store::{MemoryStore, PatternStore};
//! use serde_json::json;
//!
//! let store = MemoryStore::new(&["node0"], json!(null));
//! let mut batch = LearnBatch::new(1);
//! for words in [["the", "cat"], ["the", "cat"], ["a", "dog"]] {
//!     let symbols = words.map(|word| BatchSymbol::Literal(batch.literal(word)));
//!     batch.learn(0, PatternName::of_events(&words.map(|word| [word])), symbols);
//! }
//! store.commit(vec![store.stage(batch.seal())?], json!({"samples": 3}))?;
//!
//! let before = Snapshot::of(&store, &SnapshotOptions::default())?;
//! assert_eq!((before.patterns, before.observations), (2, 3));
//!
//! let plan = CleanupPlan::of(&store, &CleanupOptions::new(2, References::Keep))?;
//! assert_eq!((plan.nodes()[0].removed, plan.nodes()[0].left()), (1, 1));
//! plan.apply(&store)?;
//!
//! let after = Snapshot::of(&store, &SnapshotOptions::default())?;
//! assert!(!Comparison::of(&before, &after).equal);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod cleanup;
mod comparison;
mod error;
mod growth;
mod information;
mod level;
mod references;
mod snapshot;

pub use cleanup::{CleanupOptions, CleanupPlan, NodeCleanup, References};
pub use comparison::{Comparison, LevelComparison, MetricDifference};
pub use error::AnalysisError;
pub use growth::{Growth, GrowthPoint};
pub use information::Information;
pub use snapshot::{
    Branching, LinkSnapshot, NodeSnapshot, ParentCount, Reuse, Similarity, Snapshot,
    SnapshotOptions, TopPattern,
};
