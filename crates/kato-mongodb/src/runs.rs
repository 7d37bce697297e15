//! The runs of a server: created, listed, discovered, copied and deleted.

mod copying;
mod creation;
mod held_lease;
mod mongo_runs;

pub(crate) use self::creation::{check_taught, create_run, select_guard, wait_until_applied};
pub use self::mongo_runs::{DiscoveredRun, MongoRun, MongoRuns};
