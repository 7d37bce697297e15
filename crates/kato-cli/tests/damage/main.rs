//! Random damage to every kind of file that a run leaves, and then every command and route asked:
//! none answers an absence or an older state, and none deletes what is whole.
//!
//! `KATO_DAMAGE_TRIALS` sets the trials of each test, `KATO_DAMAGE_SEED` the first seed.

#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "helpers of tests may fail by panic, as tests do"
)]

mod clusters;
mod commands;
#[path = "../support/corpus.rs"]
mod corpus;
mod files;
mod harm;
#[expect(dead_code, reason = "the tests of `serve` use the rest")]
#[path = "../serve/http.rs"]
mod http;
mod place;
#[path = "../support/program.rs"]
mod program;
#[expect(dead_code, reason = "nothing is killed at a random moment here")]
#[path = "../support/random.rs"]
mod random;
#[path = "../support/server.rs"]
mod server;
mod servers;
#[path = "../support/signal.rs"]
mod signal;
mod trials;
