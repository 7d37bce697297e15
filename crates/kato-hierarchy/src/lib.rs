#![doc = include_str!("../README.md")]
//!
//! # Map of the crate
//!
//! Start with [`Hierarchy`], which joins an engine, the tokenizer and the settings of training.
//!
//! * [`Hierarchy::activate`] takes text up: tokens, chunks, names, names of names, with each
//!   level's predictions.
//! * [`Hierarchy::unravel`] takes a pattern, or any future, down to tokens and text; an
//!   [`Unraveller`] does so for many.
//! * [`Hierarchy::generate`] goes up and down until nothing that was learned continues the text;
//!   every [`Span`] states where it comes from. A [`Generator`] yields them one by one.
//! * [`transfer_predictions`] passes predictions of one session to another, as symbols.

mod activation;
mod chunked_prompt;
mod error;
mod generation;
mod hierarchy;
mod level_state;
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
