//! Embeddings through the public interface.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests may fail by panic, as tests do"
)]

mod cache;
mod nearest;
mod reading;
mod support;
