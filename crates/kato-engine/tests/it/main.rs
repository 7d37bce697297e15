//! The engine through its public interface.
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test reports a broken expectation by panicking"
)]

mod attributes;
mod config;
mod durability;
mod golden_predictions;
mod golden_sessions;
mod hostile;
mod indexed;
mod isolation;
mod long_predictions;
mod retiring;
mod support;
mod vectors;
