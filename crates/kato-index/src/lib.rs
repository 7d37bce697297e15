#![doc = include_str!("../README.md")]
//!
//! # Where to start
//!
//! Start with [`build()`], which writes the index of a store beside it, and [`open`], which finds it.
//!
//! * [`StoreIndex`] has a [`FrozenIndex`] for every node; [`StoreIndex::check`] reads all of it.
//! * [`find`] also tells of damage, for those who serve; [`remove_stale`] removes what is of no use.
//! * [`BuildOptions`] has the memory that building may take, and what ends it, [`BuildReport`] what
//!   came of it.
//! * [`IndexFileError`] says what went wrong.
//!
//! [`FrozenIndex`]: kato_prediction::frozen::FrozenIndex

// A number that a cast has cut is another number, in a file whose checksums match.
#![warn(clippy::cast_possible_truncation, clippy::cast_sign_loss)]

mod build;
mod column;
mod error;
mod files;
mod open;

pub use build::{BuildOptions, BuildReport, build, remove_stale};
pub use error::IndexFileError;
pub use open::{FoundIndex, StoreIndex, find, open};
