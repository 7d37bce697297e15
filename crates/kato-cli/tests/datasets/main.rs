//! `datasets`, and `train` on sources behind a network, as their users meet them.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests may fail by panic, as tests do"
)]

mod errors;
mod local;
mod place;
#[path = "../support/program.rs"]
mod program;
mod remote;
#[path = "../support/waits.rs"]
mod waits;
