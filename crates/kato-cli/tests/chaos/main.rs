//! Chaos: `train` into every backend while programs are killed and stopped, connections cut, disks
//! filled and checkpoints damaged. However it goes, what is known in the end is what an undisturbed
//! run in one thread learns.
//!
//! A schedule says what is done and when; it is a pure function of its seed. A failure prints the
//! seed, the backend and the schedule, and one schedule alone is replayed with
//!
//! ```text
//! KATO_CHAOS_BACKEND=embedded KATO_CHAOS_SEED=17 cargo test -p kato-cli --features huggingface --test chaos
//! ```
//!
//! which also keeps its folder when it fails. `KATO_CHAOS_SCHEDULES=n` runs `n` schedules for every
//! backend, `KATO_CHAOS_THREADS=n` as many at a time.

#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "helpers of tests may fail by panic and tell figures, as tests do"
)]

#[path = "../support/address.rs"]
mod address;
mod backends;
mod campaign;
mod corpus;
#[path = "../support/disk.rs"]
mod disk;
mod learned;
mod matrix;
mod place;
#[path = "../support/program.rs"]
mod program;
mod proxy;
#[path = "../support/random.rs"]
mod random;
#[path = "../support/report.rs"]
mod report;
mod run;
mod schedule;
#[path = "../support/server.rs"]
mod server;
#[path = "../support/signal.rs"]
mod signal;
mod site;
mod trainer;
