//! The stand-in as its clients and tests see it.

#![expect(clippy::unwrap_used, reason = "a test that meets an error has failed")]

mod faces;
mod generations;
mod golden;
mod knowledge;
mod sequences;
mod serving;
mod sessions;
mod support;
mod transport;
