#![doc = include_str!("../README.md")]
//!
//! # Where to start
//!
//! * [`KatoClient::builder`] takes the address of a server and the [`SessionOptions`] of a node;
//!   the [`KatoClientBuilder`] sets time-outs, headers and the [`RetryPolicy`].
//! * [`KatoClient`] has the methods of the API. One client is one session;
//!   [`fork`](KatoClient::fork) creates another over the same connections.
//! * [`KatoClient::learn_all`] teaches many sequences with few requests,
//!   planned by a [`BatchPlan`]. [`LearnSession`] is for trainers that journal what they send to a
//!   stock server.
//! * [`ClientError`] says what to do next; [`ClientError::OutcomeUnknown`] names the one operation
//!   in doubt.
//!
//! Where a description says (3.10) or (6.x), it is about servers of that generation of KATO and of
//! later ones.
//!
//! [`BatchPlan`]: batch::BatchPlan

mod address;
pub mod batch;
#[cfg(feature = "blocking")]
pub mod blocking;
mod builder;
mod call;
pub mod calls;
mod checks;
mod client;
mod connect;
mod error;
#[cfg(feature = "events")]
pub mod events;
mod forecast;
mod learn_session;
mod mirror;
mod options;
mod server;
mod session;
#[cfg(feature = "https")]
mod tls;
mod transport;

pub use builder::KatoClientBuilder;
pub use client::{KatoClient, TypedBatchAnswer, TypedPredictions};
pub use error::ClientError;
pub use kato_advice::retry::{Jitter, RetryPolicy};
pub use kato_model::KatoGeneration;
pub use kato_protocol as protocol;
pub use learn_session::LearnSession;
pub use options::SessionOptions;
