#![doc = include_str!("../README.md")]
//!
//! # Map
//!
//! [`ScalingAnalyzer`] has the settings, its [`fit`](ScalingAnalyzer::fit) gives a [`Scaling`], and
//! that gives a [`Prediction`].

mod analyzer;
mod error;
mod form;
mod law;
mod mixture;
mod prediction;
pub mod regression;
mod scaling;
mod search;

pub use analyzer::ScalingAnalyzer;
pub use error::ScalingError;
pub use law::Law;
pub use prediction::{Crossing, Limit, Prediction};
pub use scaling::{FittedLaw, Scaling};
