//! Heads from outside: counts and probabilities against brute force over the text, live learning,
//! stores, explanations.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests may fail by panic, as tests do"
)]

mod answers;
mod bits;
mod builder;
mod disk;
mod explanations;
mod naming;
mod oracle;
mod support;
