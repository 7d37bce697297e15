//! `train --profile`, `estimate_storage` and `analyze_hardware` as their users meet them.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests may fail by panic, as tests do"
)]

mod estimating;
mod forecasts;
mod measuring;
mod place;
mod planning;
mod profiling;
#[path = "../support/program.rs"]
mod program;
