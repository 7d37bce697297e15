//! Up and down a learned hierarchy: activation from text, unravelling to text, generation with provenance.
//!
//! A [`Hierarchy`] is an engine, the tokenizer and the settings it was trained with. It only reads: nothing is learned, and no
//! session notices.
//!
//! * [`Hierarchy::activate`] takes text up: tokens, chunks, names, names of names, with each level's predictions.
//! * [`Hierarchy::unravel`] takes a pattern, or any future, down to tokens and text.
//! * [`Hierarchy::generate`] goes up and down until there is nothing more to say; every [`Span`] tells where it is from.
//! * [`transfer_predictions`] hands predictions of one session to another, as symbols.
//!
//! ```
//! use kato_engine::{Engine, Observation, Sequence, SessionConfig};
//! use kato_hierarchy::{End, GenerationOptions, Hierarchy};
//! use kato_learner::{HierarchicalNode, LearnerConfig};
//! use kato_tokenizer::Whitespace;
//!
//! // Two chunks of three words, and the pattern of both.
//! let text = "the cat sleeps on the mat";
//! let engine = Engine::in_memory(&["node0", "node1"]);
//! let mut names = Vec::new();
//! for chunk in [["the", "cat", "sleeps"], ["on", "the", "mat"]] {
//!     let mut session = engine.node("node0")?.session(SessionConfig::default());
//!     session.observe_sequence(Sequence::of(chunk.map(|word| Observation::strings([word]))))?;
//!     names.push(session.learn()?.to_string());
//! }
//! let mut session = engine.node("node1")?.session(SessionConfig::default());
//! session.observe_sequence(Sequence::of(names.into_iter().map(|name| Observation::strings([name]))))?;
//! session.learn()?;
//!
//! let nodes = vec![HierarchicalNode::new("node0", 3), HierarchicalNode::new("node1", 2)];
//! let hierarchy = Hierarchy::new(engine, Whitespace::of_texts([text]), LearnerConfig::new(nodes))?;
//! let generation = hierarchy.generate("the cat", &GenerationOptions::default())?;
//! assert_eq!(generation.text, "sleeps on the mat");
//! assert_eq!(generation.spans[0].level, 1);
//! assert_eq!(generation.end, End::Learned);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod activation;
mod cut;
mod error;
mod generation;
mod hierarchy;
mod ladder;
mod prompt;
mod random;
mod source;
mod transfer;
mod unravel;

pub use activation::{Activation, ActivationMode, ActivationOptions, LevelActivation};
pub use error::HierarchyError;
pub use generation::{
    End, Fit, Generation, GenerationOptions, Generator, Link, Part, Span, Strategy,
};
pub use hierarchy::Hierarchy;
pub use prompt::Prompt;
pub use source::Source;
pub use transfer::{
    Transfer, TransferField, TransferOutcome, Transferable, transfer_all, transfer_predictions,
    transfer_threshold, transfer_top_n, transfer_weighted,
};
pub use unravel::{EventReading, Leaf, Unravelled, Unraveller};
