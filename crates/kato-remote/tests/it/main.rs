//! Training over the wire equals training in process: any server, any number of workers, any faults
//! in between.

#![expect(clippy::unwrap_used, reason = "a test that meets an error has failed")]

mod equality;
mod proxy;
mod repetition;
mod reteaching;
mod retired;
mod sessions;
mod support;
