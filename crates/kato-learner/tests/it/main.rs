//! The learner through its public API.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test reports a broken expectation by panicking"
)]

mod broken_tokenizers;
mod golden_training;
mod laws;
