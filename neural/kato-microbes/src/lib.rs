#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! - What goes in: [`Microbes`], [`Metadata`](metadata::Metadata), [`distances`], [`tokens`],
//!   [`fasta`].
//! - What is made: [`synth`].
//! - What is predicted without a model of our own, and how good it is: [`baseline`], [`folds`],
//!   [`evaluation`].
//! - What was computed before: [`Cache`](cache::Cache).

pub mod baseline;
pub mod cache;
mod community;
pub mod distances;
mod error;
pub mod evaluation;
pub mod fasta;
pub mod folds;
pub mod metadata;
pub mod synth;
pub mod tokens;

pub use community::{CommunityOptions, CommunityReport, Microbes, rarefied};
pub use error::MicrobesError;
