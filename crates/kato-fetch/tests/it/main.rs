//! The fetcher through its public interface, against a local stand-in for the Hub, web servers and
//! S3.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests may fail by panic, as tests do"
)]

mod cache;
mod faults;
mod http;
mod hub;
mod layouts;
mod limits;
mod misbehaving;
mod random;
mod store;
mod stream;
mod support;
mod threads;
