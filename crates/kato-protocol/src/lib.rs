#![doc = include_str!("../README.md")]
//!
//! # Where to start
//!
//! * [`session`]: the life of a session and its settings; the root of the API.
//! * Work in a session: [`observation`], with [`Observation`] and what comes of learning;
//!   [`sequence`], with [`Sequence`]; [`percept`] for what a session has seen last.
//! * [`prediction`]: answers of any type, or of [`Prediction`].
//! * [`node`]: what a node has learned; [`retirement`]: patterns that are taken back.
//! * [`error`]: refusals, with [`ErrorBody`]. [`event`]: the WebSocket, with [`ServerEvent`].
//! * [`monitoring`]: health, status, metrics and statistics.
//! * [`extension`]: what kato-rs servers have beyond KATO, such as batches of [`BatchItem`]s.
//!
//! [`ServerEvent`]: event::ServerEvent
//! [`BatchItem`]: extension::BatchItem

// A number that a cast has cut is another number, and nobody notices.
#![warn(clippy::cast_possible_truncation, clippy::cast_sign_loss)]

pub mod error;
pub mod event;
pub mod extension;
pub mod monitoring;
pub mod node;
pub mod observation;
pub mod percept;
pub mod prediction;
pub mod retirement;
pub mod sequence;
pub mod session;

pub use error::ErrorBody;
pub use observation::Observation;
pub use prediction::Prediction;
pub use sequence::Sequence;
