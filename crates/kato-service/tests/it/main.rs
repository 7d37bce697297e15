//! The service through its public interface.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests may fail by panic, as tests do"
)]

mod batches;
mod crashes;
mod durability;
mod genes;
mod keys;
mod nodes;
mod sessions;
mod support;
