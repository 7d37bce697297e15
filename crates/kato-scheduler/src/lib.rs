//! Parallel training: documents in, committed knowledge out, the same result for any worker count.

mod checkpoint;
mod committer;
mod error;
mod event;
mod ledger;
mod options;
mod report;
mod run;
mod session;
mod stage_clock;
mod stop;
mod worker;

pub use checkpoint::{Checkpoint, Counters};
pub use error::TrainError;
pub use event::{Progress, TrainingEvent};
pub use options::{TrainingOptions, default_workers};
pub use report::{LevelReport, StageSeconds, TrainingReport};
pub use run::RunConfiguration;
pub use session::train;
pub use stop::StopSignal;
