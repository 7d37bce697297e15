//! What the crate promises, seen from outside.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests may fail by panic, as tests do"
)]

mod exact_sum;
mod finder;
mod forcing;
mod golden;
mod metric;
mod sampler;
mod schedule;
mod settings;
mod stop;
