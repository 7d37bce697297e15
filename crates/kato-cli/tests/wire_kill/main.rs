//! `train --kato` into `serve`, either of them killed at any moment: everything is learned exactly
//! once.

#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "helpers of tests may fail by panic and tell figures, as tests do"
)]

#[path = "../support/address.rs"]
mod address;
#[path = "../support/corpus.rs"]
mod corpus;
mod kills;
mod place;
#[path = "../support/program.rs"]
mod program;
#[path = "../support/random.rs"]
mod random;
#[path = "../support/report.rs"]
mod report;
#[path = "../support/server.rs"]
mod server;
#[path = "../support/signal.rs"]
mod signal;
