//! The crate as its users see it.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests may fail by panic, as tests do"
)]

mod checks;
mod distances;
mod golden;
mod newick;
mod oracle;
mod outputs;
mod rarefaction;
mod tables;
