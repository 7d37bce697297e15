//! The real `train` program, killed, interrupted, refused and short of disk: nothing committed is
//! ever lost or repeated.

#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests may fail by panic, as tests do"
)]

#[path = "../support/corpus.rs"]
mod corpus;
#[path = "../support/disk.rs"]
mod disk;
mod forgetting;
mod full_disk;
mod interrupts;
mod kills;
mod knowledge;
#[path = "../support/program.rs"]
mod program;
#[path = "../support/random.rs"]
mod random;
mod refusals;
#[path = "../support/report.rs"]
mod report;
#[path = "../support/signal.rs"]
mod signal;
mod workplace;
