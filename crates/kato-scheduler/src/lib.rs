#![doc = include_str!("../README.md")]
//!
//! ## Where to start
//!
//! Start with [`train_parallel`], which runs a session: the caller's thread reads documents and hands
//! them out, workers learn them, a committer makes them durable together with the position behind
//! them. They talk by messages; who holds what is decided in one place, which is tested by simulation.
//!
//! * [`RunConfiguration`] says what a run learns, [`TrainingOptions`] how: [`Workers`],
//!   [`WorkDistribution`], [`FailurePolicy`], [`StopSignal`].
//! * [`loader_at_checkpoint`] builds the loader that goes on at the last [`Checkpoint`].
//! * [`TrainingEvent`] and [`Progress`] report on a session while it runs, [`TrainingReport`] when
//!   it has ended; [`TrainError`] says why it ended early.
//! * [`train_parallel_with`] trains any [`Backend`] and its [`Teacher`]s: nodes behind a network,
//!   for example. They name what they wait for by an [`Activity`], which a [`Stall`] shows, and
//!   what went wrong by a [`BackendError`].
//! * [`work_parallel`] does [`OwnWork`] on the documents in place of learning them.
//! * [`STAGES`] are the stages that a profiler sees.
//!
//! [`FailurePolicy`]: failure::FailurePolicy
//! [`Progress`]: event::Progress
//! [`Activity`]: activity::Activity
//! [`Stall`]: event::Stall
//! [`STAGES`]: stages::STAGES

pub mod activity;
pub mod backend;
mod backend_error;
mod checkpoint;
mod committer;
mod dispatch;
mod dispatcher;
mod distribution;
mod error;
pub mod event;
pub mod failure;
mod json;
mod large_batches;
mod ledger;
mod lesson;
mod options;
pub mod own_work;
pub mod report;
mod resident;
mod resume;
mod run;
mod session;
mod session_report;
mod stage_clock;
pub mod stages;
mod stop;
mod stop_relay;
mod store_backend;
mod tuner;
mod worker;
mod worker_pool;
pub mod workers;

pub use backend::{Backend, Teacher};
pub use backend_error::{BackendError, BackendErrorKind};
pub use checkpoint::{
    Checkpoint, Counters, loader_at_checkpoint, loader_at_position, loader_behind,
};
pub use distribution::{UnknownDistribution, WorkDistribution};
pub use error::TrainError;
pub use event::TrainingEvent;
pub use options::{OnStall, TrainingOptions};
pub use own_work::{OwnWork, work_parallel};
pub use report::{SessionEnd, TrainingReport};
pub use resume::open_to_resume;
pub use run::RunConfiguration;
pub use session::{train_parallel, train_parallel_with};
pub use stop::{StopGuard, StopSignal};
pub use workers::Workers;
