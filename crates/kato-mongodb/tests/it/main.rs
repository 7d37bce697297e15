//! The store through its public interface, against a real server.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests may fail by panic, as tests do"
)]

mod conformance;
mod crashes;
mod cutter;
mod golden;
mod indexes;
mod kato;
mod layout;
mod metadata;
mod raw;
mod runs;
mod safety;
mod sizes;
mod support;
