//! The client through its public interface, against a miniature of KATO that can be made to fail.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests may fail by panic, as tests do"
)]

mod basics;
mod batch;
#[cfg(feature = "blocking")]
mod blocking;
mod bodies;
mod faults;
mod late;
mod mini;
mod recovery;
mod server;
