//! Recommendations, times from recorded runs, and successive halving.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests may fail by panic, as tests do"
)]

mod cluster;
mod halving;
mod history;
mod original;
mod recommending;
mod recorded;
mod scaling;
