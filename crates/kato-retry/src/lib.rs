#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! Start with [`Backoff`], which gives the pauses; [`Jitter`] says how they are spread and
//! [`random_seed`] gives it a seed. [`retry_after`] reads what a server asks for.

mod backoff;
mod retry_after;

pub use backoff::{Backoff, Jitter, random_seed};
pub use retry_after::retry_after;
