//! KATO in process: sessions that observe, learn and predict over a pattern store.
//!
//! * [`Engine`] opens the nodes of a [`PatternStore`](kato_store::PatternStore), or makes nodes in memory; it makes what was
//!   learned durable.
//! * [`Node`] is a handle of one node: what it learned, and predictions for any state.
//! * [`Session`] is one user's conversation with a node: short-term memory, configuration, observe, learn, predict. Sessions
//!   see what others taught the node and nothing else of each other.
//!
//! Behaviour is that of KATO 3.10.1; [`EngineOptions`] offers sound variants where it is odd.
//!
//! ```
//! use kato_engine::{Engine, Observation, SessionConfig};
//!
//! let engine = Engine::in_memory(&["node0"]);
//! let mut session = engine.node("node0")?.session(SessionConfig::default());
//! for word in ["the", "cat", "sleeps"] {
//!     session.observe(Observation::strings([word]))?;
//! }
//! let learned = session.learn()?;
//! assert_eq!(learned.to_string(), "PTRN|4fcced76b3ddc506df362b9a8c040a592279b586");
//!
//! session.observe(Observation::strings(["the"]))?;
//! session.observe(Observation::strings(["cat"]))?;
//! let answer = session.predict();
//! assert_eq!(answer.predictions[0].future[0].symbols(), ["sleeps"]);
//! # Ok::<(), kato_engine::EngineError>(())
//! ```
//!
//! # When is it durable?
//!
//! A learned pattern is visible to all sessions of its node at once, and durable after the next [`Engine::commit`].
//! [`EngineOptions::commit_after`] commits on its own. A crash leaves the last commit.

mod config;
mod engine;
mod error;
mod load;
mod node;
mod observation;
mod options;
mod pending;
mod session;
mod state;
mod vectors;

pub use config::{ConfigError, IndexerType, SessionConfig, SessionConfigBuilder, StmMode};
pub use engine::{Engine, PendingCommit};
pub use error::EngineError;
pub use node::{LearnOutcome, Lesson, Node, NodeTotals};
pub use observation::Observation;
pub use options::{AttributeScope, EngineOptions, Limits};
pub use session::{Observed, Sequence, SequenceItem, SequenceOutcome, SequenceStep, Session};
pub use state::{Percept, SessionState};
