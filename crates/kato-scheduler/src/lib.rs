//! Parallel training: documents in, committed knowledge out, the same result for any worker count.
//!
//! [`train_parallel`] runs a session: the caller's thread reads samples and hands them out, workers learn them, a committer makes
//! them durable together with the position behind them. They share nothing and talk by messages; who holds what is decided
//! in one place, which is tested by simulation. A session can end at any moment, by a [`StopSignal`], an error or a crash; the next one,
//! with a loader from [`loader_at_checkpoint`], goes on from the last commit to exactly the uninterrupted result.
//!
//! | promise | how |
//! |---|---|
//! | every document counts once | position and counts are one commit ([`Checkpoint`]) |
//! | any number of workers, one result | learning is commutative; epochs are committed in the corpus's order |
//! | no mixing of runs | configuration and corpus are compared before anything is learned ([`RunConfiguration`]) |
//! | bounded memory | a budget for learned content, bounded queues, a ceiling that slows down ([`TrainingOptions`]) |
//! | a bad sample or a dead worker ends nothing | tried again by another worker, then listed ([`FailurePolicy`]) |
//! | nothing hangs in silence | workers without progress are told, with what they wait for ([`Stall`]) |
//! | nothing silent | counts of everything dropped, a ledger of everything skipped ([`TrainingReport`]) |

mod activity;
mod backend;
mod checkpoint;
mod committer;
mod crew;
mod dispatch;
mod dispatcher;
mod distribution;
mod error;
mod event;
mod failure;
mod json;
mod ledger;
mod options;
mod report;
mod run;
mod session;
mod stage_clock;
pub mod stages;
mod stop;
mod tuner;
mod worker;
mod workers;

pub use activity::{Activity, ActivityFrame, ActivityGuard};
pub use backend::{Backend, RefusedSample, Teacher, WorkSize};
pub use checkpoint::{Checkpoint, Counters, loader_at_checkpoint};
pub use distribution::{Distribution, UnknownDistribution};
pub use error::TrainError;
pub use event::{Progress, Stall, TrainingEvent};
pub use failure::{FailureCounts, FailureKind, FailurePolicy, OnFailure};
pub use options::{OnStall, TrainingOptions};
pub use report::{LevelReport, StageSeconds, TrainingReport};
pub use run::RunConfiguration;
pub use session::{train_parallel, train_parallel_with};
pub use stages::STAGES;
pub use stop::StopSignal;
pub use workers::{ConnectionBudget, InvalidWorkers, Workers, most_workers};
