//! The programs as their users meet them: `train`, then `inspect` in every mode, and the help of all.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests may fail by panic, as tests do"
)]

mod data;
mod errors;
mod help;
mod programs;
mod text;
