#![doc = include_str!("../README.md")]
//!
//! # Where to start
//!
//! * [`RemoteBackend::builder`] returns a [`RemoteBackendBuilder`], which begins a run or opens it
//!   again.
//! * [`RemoteBackend`] is a [`Backend`](kato_scheduler::Backend) for
//!   [`train_parallel_with`](kato_scheduler::train_parallel_with).
//! * [`RemoteError`] says why a run cannot be begun or opened; a run in progress ends with a
//!   [`TrainError`](kato_scheduler::TrainError) that is made of it.
//! * [`Doubts`] counts what came of requests to a stock server that had no answer; [`TornLearns`]
//!   says what becomes of a run when the server tears a learn call in two.

mod backend;
mod builder;
mod doubts;
mod error;
mod items;
mod record;
mod state;
mod stock;
mod teacher;

pub use backend::{RemoteBackend, RemotePart};
pub use builder::RemoteBackendBuilder;
pub use doubts::{Doubts, TornLearn, TornLearns};
pub use error::RemoteError;
