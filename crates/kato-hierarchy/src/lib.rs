#![doc = include_str!("../README.md")]
//!
//! # Map of the crate
//!
//! Start with [`Hierarchy`], which joins an engine, the tokenizer and the settings of training.
//!
//! * [`Hierarchy::activate`] takes text up: tokens, chunks, names, names of names, with each
//!   level's predictions.
//! * [`Hierarchy::unravel`] takes a pattern down to tokens and text, and [`Hierarchy::unravel_events`]
//!   a future or any other events; an [`Unraveller`] does so for many.
//! * [`Hierarchy::generate`] goes up and down while something that was learned continues the text, by
//!   100 tokens at most unless told otherwise; every [`GeneratedSpan`] states where it comes from. A
//!   [`Generator`] yields them one by one.
//! * [`Hierarchy::head`] gives a [`TextHead`]: the next token with its probability, why it has that,
//!   the surprise of a text, and text written by probabilities.
//! * [`Hierarchy::learn`] learns a text at all levels in one step, beside whoever asks and commits.
//! * [`transfer_predictions`] passes predictions of one session to another, as symbols.
//!
//! [`Unraveller`]: unravel::Unraveller
//! [`GeneratedSpan`]: generation::GeneratedSpan
//! [`Generator`]: generation::Generator
//! [`transfer_predictions`]: transfer::transfer_predictions

pub mod activation;
mod chunked_prompt;
mod error;
pub mod generation;
pub mod head;
mod hierarchy;
mod learning;
mod level_state;
mod prompt;
mod random;
mod source;
pub mod transfer;
pub mod unravel;

pub use activation::{Activation, ActivationOptions};
pub use error::HierarchyError;
pub use generation::{Generation, GenerationOptions, Strategy};
pub use head::TextHead;
pub use hierarchy::Hierarchy;
pub use kato_head::HeadOptions;
pub use kato_store::Source;
pub use learning::{Learned, LearnedLevel};
pub use prompt::Prompt;
