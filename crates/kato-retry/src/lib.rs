#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! Start with [`RetryPolicy`], which says how often, how fast and for how long; [`Jitter`] says how
//! its waits are spread. A [`Backoff`] holds the waits of a policy for all who follow it, seeded by
//! [`random_seed`] where nothing else is wanted, and a [`Retry`] the failures of one operation.
//! [`retry_after`] reads what a server asks for.

mod backoff;
mod policy;
mod retry;
mod retry_after;

pub use backoff::{Backoff, random_seed};
pub use policy::{Jitter, RetryPolicy};
pub use retry::Retry;
pub use retry_after::retry_after;
