//! What training promises: the original's knowledge bases, and one result whatever the threads,
//! sizes and interruptions.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests may fail by panic, as tests do"
)]

mod dying_workers;
mod edges;
mod endless;
mod extending;
mod faults;
mod golden;
mod holding_out;
mod interruptions;
mod laws;
mod own_work;
mod probing;
mod refusals;
mod retiring;
mod skipping;
mod slow_backends;
mod support;
