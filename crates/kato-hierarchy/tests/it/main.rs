//! The hierarchy through its public interface.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests may fail by panic, as tests do"
)]

mod activation;
mod generation;
mod head;
mod hostile;
mod support;
mod transfer;
mod unravel;
