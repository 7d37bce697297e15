//! The real `train` program, killed, interrupted, refused and short of disk: nothing committed is ever lost or repeated.

#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests may fail by panic, as tests do"
)]

mod full_disk;
mod interrupts;
mod kills;
mod knowledge;
mod refusals;
mod workplace;
