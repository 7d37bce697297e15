//! Predictions through the public interface, against recorded results and independent
//! implementations.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests may fail by panic, as tests do"
)]

mod cancel;
mod equivalence;
mod golden;
mod hostile;
mod matching;
mod metrics;
mod naive;
mod oracle;
mod pages;
mod predictions;
