//! The programs as their users meet them: `train`, then `inspect` in every mode, `predict` and
//! `generate`, and the help of all.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests may fail by panic, as tests do"
)]

mod answers;
mod batches;
mod data;
mod errors;
mod evaluate;
mod head;
mod help;
mod occurrences;
#[path = "../support/program.rs"]
mod program;
mod programs;
mod text;
#[path = "../support/waits.rs"]
mod waits;
