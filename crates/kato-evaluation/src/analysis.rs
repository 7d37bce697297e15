//! Describes the knowledge bases of a hierarchy in numbers, and takes rare patterns out of them.
//!
//! Take it to know what a training run has learned, how two runs differ, or what would be lost if rare
//! patterns were forgotten. It works on any [`PatternStore`](kato_store::PatternStore): in memory, on the
//! disk, or in a MongoDB. Stores are read level by level, so at most two neighbouring levels are in memory.
//! Equal knowledge gives equal numbers, whatever kind of store holds it and in whatever order it was learned.
//!
//! * [`Snapshot`] is the content of a store in numbers: frequencies, the links between levels, a
//!   digest.
//! * [`SnapshotComparison`] is the difference between two snapshots, and whether the knowledge is the same.
//! * [`CleanupPlan`] lists the rare patterns that a clean-up would remove, and removes them with
//!   regard to the patterns that refer to them.
//! * [`Growth`] is Heaps' law through numbers of patterns after numbers of samples.
//!
//! ```
//! use kato_evaluation::analysis::cleanup::References;
//! use kato_evaluation::analysis::{
//!     CleanupOptions, CleanupPlan, Snapshot, SnapshotComparison, SnapshotOptions,
//! };
//! use kato_model::batch::BatchSymbol;
//! use kato_model::{LearnBatch, PatternName};
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
//! let before = Snapshot::from_store(&store, &SnapshotOptions::default())?;
//! assert_eq!((before.patterns, before.learns), (2, 3));
//!
//! let plan = CleanupPlan::new(&store, &CleanupOptions::new(2, References::Keep))?;
//! assert_eq!((plan.nodes()[0].removed, plan.nodes()[0].left()), (1, 1));
//! plan.apply(&store)?;
//!
//! let after = Snapshot::from_store(&store, &SnapshotOptions::default())?;
//! assert!(!SnapshotComparison::new(&before, &after).equal);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What it guarantees
//!
//! - A node that cannot be read is an error: numbers are never those of a part. So is a change while it is
//!   read, where that shows.
//! - A clean-up leaves no reference to a pattern that it removed, also where names went up past a node
//!   ([`TailPolicy::Promote`](kato_learner::TailPolicy::Promote)). It is one commit, which keeps the training
//!   position, and a plan is refused when the store is no longer in the state that it was made for.
//! - No number is called good or bad.
//!
//! # Limits
//!
//! - Memory grows with the number of patterns of a level: about 32 bytes for each pattern of a node and 24
//!   for each of the node above it.
//! - Nothing may be learned while a snapshot is taken or a plan is applied.
//! - A digest covers names and frequencies of patterns. Metadata, emotives, vectors and document ids are not
//!   part of it.
//!
//! [`Growth`]: growth::Growth

pub mod cleanup;
pub mod comparison;
mod error;
pub mod growth;
mod information;
mod level;
mod references;
pub mod snapshot;

pub use cleanup::{CleanupOptions, CleanupPlan};
pub use comparison::SnapshotComparison;
pub use error::AnalysisError;
pub use snapshot::{Snapshot, SnapshotOptions};
