//! Profiles of real pipelines through the public interface.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests may fail by panic, as tests do"
)]

mod engine;
mod experiment;
#[path = "../support/mod.rs"]
mod support;
