//! Snapshots, comparisons and clean-ups through the public interface.

mod cleanup;
mod comparison;
mod golden;
mod oracle;
mod snapshot;
mod support;
mod trouble;
