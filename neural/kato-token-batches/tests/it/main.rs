//! Token batches: what is in them, where they can be interrupted, and what goes wrong in its place.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests may fail by panic, as tests do"
)]

mod faults;
mod resume;
mod shape;
mod support;
mod threads;
