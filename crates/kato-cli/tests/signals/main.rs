//! Ctrl-C and SIGTERM at any moment: every command ends within seconds with the right exit code, and
//! what is resumed ends like what was not disturbed.
//!
//! `KATO_SIGNAL_MOMENTS` says at how many moments of each kind (2 by default).

#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests may fail by panic, as tests do"
)]

mod clustering;
mod commands;
#[path = "../support/corpus.rs"]
mod corpus;
mod indexing;
mod interrupted;
#[path = "../kill/knowledge.rs"]
#[expect(dead_code, reason = "the tests of kills use all of it")]
mod knowledge;
#[path = "../train/place.rs"]
#[expect(dead_code, reason = "the tests of training use all of it")]
mod place;
mod planning;
#[path = "../support/program.rs"]
mod program;
#[path = "../support/random.rs"]
mod random;
#[path = "../support/report.rs"]
mod report;
#[path = "../support/server.rs"]
#[expect(dead_code, reason = "the tests of servers use all of it")]
mod server;
mod serving;
#[path = "../support/signal.rs"]
mod signal;
mod stock;
mod training;
#[path = "../support/waits.rs"]
mod waits;
#[path = "../kill/workplace.rs"]
mod workplace;
