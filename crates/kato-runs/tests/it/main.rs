//! Runs through the public interface.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests may fail by panic, as tests do"
)]

mod archive;
mod forgetting;
mod manage;
mod manifest;
#[cfg(feature = "mongodb")]
mod mongodb;
mod server_runs;
mod support;
mod training;
