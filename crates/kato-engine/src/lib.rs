#![doc = include_str!("../README.md")]
//!
//! # Where to start
//!
//! Start with [`Engine`], which opens the nodes of a [`PatternStore`](kato_store::PatternStore) or
//! creates nodes in memory, and makes what was learned durable.
//!
//! * [`Node`] is a handle of one node: what it learned, and predictions for any state.
//! * [`Session`] is one user's conversation with a node: short-term memory, configuration, observe,
//!   learn, predict. It takes in an [`Observation`] or a [`Sequence`]; [`SessionConfig`] has its
//!   settings, and [`SessionState`] is what a server stores of it.
//! * [`Lesson`] is one learn as a value, for journals and for learning without a session.
//! * [`EngineOptions`] has the behaviour of all nodes and the [`Limits`] of input.
//!
//! [`SessionState`]: session::SessionState
//! [`Lesson`]: node::Lesson
//! [`Limits`]: options::Limits

// A number that a cast has cut is another number, in a file whose checksums match.
#![warn(clippy::cast_possible_truncation, clippy::cast_sign_loss)]

pub mod config;
mod engine;
mod error;
mod load;
pub mod node;
mod observation;
pub mod options;
mod pending;
pub mod session;
mod state;
pub mod vectors;

pub use config::SessionConfig;
pub use engine::{Engine, PendingCommit};
pub use error::EngineError;
pub use node::{LearnOutcome, Node};
pub use observation::Observation;
pub use options::EngineOptions;
pub use session::{Sequence, Session};
pub use vectors::VectorSearchAccount;
