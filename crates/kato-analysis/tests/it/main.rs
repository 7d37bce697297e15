//! Snapshots, comparisons and clean-ups through the public interface.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests may fail by panic, as tests do"
)]

mod cleanup;
mod comparison;
mod golden;
mod oracle;
mod snapshot;
mod support;
mod trouble;
