//! Keeps a run's patterns in MongoDB, in KATO's own database layout, every sample exactly once.
//!
//! * [`MongoStore`] keeps the contract of [`kato_store::PatternStore`]: stage batches, commit them together with a training
//!   position, read patterns back. What it writes, a KATO of the generation of October 2025 reads, and the other way round.
//! * [`Guard`] says how commits stay exact under any crash: in transactions, or with a journal where there are none.
//! * [`MongoRuns`] lists, finds, copies and deletes the runs of a server.
//!
//! Credentials stand only in the address that the caller gives; errors and logs show `mongodb://host:port`.

mod apply;
mod builder;
mod bulks;
mod copying;
mod core;
mod document;
mod engine;
mod extras;
mod fault;
mod figures;
mod founding;
mod guard;
mod holding;
mod indexes;
mod item;
mod layout;
mod learned;
mod lease;
mod manifest;
mod merge;
mod paths;
mod record;
mod runs;
mod scan;
mod server;
mod sessions;
mod sharding;
mod size;
mod staged;
mod store;
mod visit;
mod writer;

pub use builder::MongoStoreBuilder;
pub use figures::Figures;
pub use guard::Guard;
pub use runs::{DiscoveredRun, MongoRun, MongoRuns};
pub use store::MongoStore;
