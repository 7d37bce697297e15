//! The estimator against the real learner, the real store, recorded runs and real text.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "helpers of tests may fail by panic, as tests do, and tell what they skip and measure"
)]

mod bytes;
mod chains;
mod corpus;
mod kinds;
mod learner;
mod original;
mod range;
mod real_text;
mod recorded_runs;
mod trials;
