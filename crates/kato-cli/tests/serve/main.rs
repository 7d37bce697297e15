//! The real `serve` program as its users meet it: what it keeps, how it ends, what its options do
//! and what it refuses.

#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests may fail by panic, as tests do"
)]

mod ends;
mod http;
mod options;
#[path = "../support/program.rs"]
mod program;
mod refusals;
#[path = "../support/server.rs"]
mod server;
#[path = "../support/signal.rs"]
mod signal;
