#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! Every part stands alone. Settings are read with serde and checked by `new`; what changes while
//! a model is trained is a state that can be saved, and everything else is a pure function.

pub mod curriculum;
mod draw;
mod error;
mod exact_float;
pub mod finder;
pub mod forcing;
mod goal;
pub mod metric;
pub mod plateau;
pub mod sampler;
pub mod scaler;
pub mod schedule;
pub mod stop;

pub use error::GradientError;
pub use goal::Goal;
