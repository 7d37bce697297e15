#![doc = include_str!("../README.md")]
//!
//! # Where to start
//!
//! * [`MongoStore`] is the store of a run. [`MongoStore::builder`] returns a
//!   [`MongoStoreBuilder`], which creates it, opens it, or adopts what a KATO wrote.
//! * [`Guard`] says how commits are kept exact.
//! * [`Figures`] counts what a store sent and how often it had to try again.
//! * [`MongoRuns`] manages the runs of a server: [`MongoRun`] is one of ours, [`DiscoveredRun`]
//!   stands for databases that belong to none.

mod apply;
mod builder;
mod bulks;
mod change;
mod copying;
mod creation;
mod document;
mod documents_and_vectors;
mod engine;
mod fault;
mod figures;
mod guard;
mod held_lease;
mod indexes;
mod layout;
mod lease;
mod manifest;
mod merge;
mod paths;
mod pattern_delta;
mod record;
mod runs;
mod scan;
mod server;
mod sessions;
mod sharding;
mod size;
mod staged;
mod state;
mod store;
mod visit;
mod writer;

pub use builder::MongoStoreBuilder;
pub use figures::Figures;
pub use guard::Guard;
pub use runs::{DiscoveredRun, MongoRun, MongoRuns};
pub use store::MongoStore;
