#![doc = include_str!("../README.md")]
//!
//! # Map
//!
//! [`TrainingHistory`] is the file. What goes in is a [`NewRun`], what comes out a [`RunRecord`];
//! their parts are in [`record`]. [`RunFilter`] says which runs. [`Comparison`] lays runs side by
//! side; [`accuracy`] says how good estimates were.

pub mod accuracy;
mod comparison;
mod error;
mod history;
pub mod import;
pub mod record;
mod row;
mod schema;
mod similarity;

pub use accuracy::Accuracy;
pub use comparison::Comparison;
pub use error::HistoryError;
pub use history::{RunFilter, TrainingHistory};
pub use record::{NewRun, RunRecord};
pub use similarity::{SimilarRun, similarity};
