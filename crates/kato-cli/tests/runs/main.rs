//! The program `runs` as its users meet it.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests may fail by panic, as tests do"
)]

mod commands;
#[path = "../support/program.rs"]
mod program;
