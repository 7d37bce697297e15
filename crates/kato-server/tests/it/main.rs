//! The server through its sockets.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests may fail by panic, as tests do"
)]

mod access;
mod asking;
mod cors;
mod damaged_nodes;
mod documents;
mod events;
mod extensions;
mod generations;
mod keep_alive;
mod lifecycle;
mod limits;
mod long_work;
mod memory;
mod monitoring;
mod next;
mod replay;
mod semantics;
mod slow_clients;
mod storage;
mod support;
#[cfg(feature = "tls")]
mod tls;
mod validation;
