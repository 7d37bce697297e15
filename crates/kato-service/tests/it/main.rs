//! The service through its public interface.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests may fail by panic, as tests do"
)]

mod batches;
mod bounds;
mod crashes;
mod durability;
mod faults;
mod genes;
mod keys;
mod kills;
mod nodes;
mod runs;
mod scripts;
mod sessions;
mod support;
