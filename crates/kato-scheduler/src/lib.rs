//! Parallel training: documents in, committed knowledge out, the same result for any worker count.
//!
//! [`train`] runs a session: the caller's thread reads documents, workers learn them, a committer makes them durable together
//! with the position behind them. A session can end at any moment, by a [`StopSignal`], an error or a crash; the next one,
//! with a loader from [`loader_at_checkpoint`], goes on from the last commit to exactly the uninterrupted result.
//!
//! | promise | how |
//! |---|---|
//! | every document counts once | position and counts are one commit ([`Checkpoint`]) |
//! | any number of workers, one result | learning is commutative; epochs are committed in the corpus's order |
//! | no mixing of runs | configuration and corpus are compared before anything is learned ([`RunConfiguration`]) |
//! | bounded memory | a budget for learned content, bounded queues ([`TrainingOptions`]) |
//! | nothing silent | counts of everything dropped, a ledger of everything skipped ([`TrainingReport`]) |

mod backend;
mod checkpoint;
mod committer;
mod dispatcher;
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

pub use backend::{Backend, Teacher, WorkSize};
pub use checkpoint::{Checkpoint, Counters, loader_at_checkpoint};
pub use error::TrainError;
pub use event::{Progress, TrainingEvent};
pub use options::{TrainingOptions, default_workers};
pub use report::{LevelReport, StageSeconds, TrainingReport};
pub use run::RunConfiguration;
pub use session::{train, train_with};
pub use stop::StopSignal;
