//! A KATO node over HTTP: a typed client for every known KATO server that never loses or doubles an observation without saying so.
//!
//! It speaks to servers of generation 3.10, of the 2025-10 (MongoDB) generation, and to those of kato-rs, whose extensions it
//! finds and uses.
//!
//! # What is repeated, and what is not
//!
//! | request | after no answer |
//! |---|---|
//! | reads, session set-up, settings, extension, deletion | repeated, with growing pauses, honouring `Retry-After` |
//! | any, when no connection was made or the server limited the rate (429) | repeated: it was not carried out |
//! | observe and sequence from which nothing can be learned | asked whether it acted; if not, carried out in a new session with the same short-term memory |
//! | other observe and sequence, learn, learn-batch, clear on a kato-rs server | repeated with its idempotency key until it is answered |
//! | the same on a stock server | the server is asked whether it acted; repeated only if it certainly did not |
//!
//! When a stock server cannot tell, the call fails with [`ClientError::OutcomeUnknown`], which names the one operation in
//! doubt, and the session takes no more work until [`KatoClient::start_over`].
//!
//! # Sessions
//!
//! A client remembers what it observed since the last learn or clear, vectors, emotives and metadata included. When the server
//! has lost the session (it expired, or the server restarted), a new one is made with the same settings, gets the same
//! short-term memory, and the call goes on.
//!
//! # Features
//!
//! - `events` (default): the server's stream of events, over a WebSocket.
//! - `blocking`: the same client for programs without an async runtime.

mod batch;
#[cfg(feature = "blocking")]
pub mod blocking;
mod builder;
mod call;
mod calls;
mod client;
mod error;
#[cfg(feature = "events")]
mod events;
mod forecast;
mod generation;
mod learn_session;
mod mirror;
mod options;
mod retry;
mod session;
mod tls;
mod transport;

pub use batch::{BatchMode, BatchPlan, LearnReport, PlannedCall};
pub use builder::KatoClientBuilder;
pub use calls::{CallKind, Calls};
pub use client::{KatoClient, Predictions};
pub use error::ClientError;
#[cfg(feature = "events")]
pub use events::{EventStream, TimedEvent};
pub use generation::Generation;
pub use kato_protocol::{
    BatchItem, FuturePotential, Observation, Prediction, Sequence, SequenceItem, ServerEvent,
};
pub use learn_session::LearnSession;
pub use options::SessionOptions;
pub use retry::RetryPolicy;
