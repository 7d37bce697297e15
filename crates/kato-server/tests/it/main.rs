//! The server through its sockets.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests may fail by panic, as tests do"
)]

mod documents;
mod events;
mod extensions;
mod lifecycle;
mod limits;
mod replay;
mod support;
mod validation;
