//! What `train` can be asked for: backends, workers, progress, failures; the manifests that it
//! keeps; and `bench_workers`.

#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests may fail by panic, as tests do"
)]

mod adding;
mod backends;
mod bench;
mod damage;
mod failures;
mod forgetting;
mod library;
mod manifests;
mod mongodb;
mod place;
#[path = "../support/program.rs"]
mod program;
mod progress;
#[path = "../support/report.rs"]
mod report;
mod stock;
mod surroundings;
mod usage;
#[path = "../support/waits.rs"]
mod waits;
mod without_effect;
mod workers;
