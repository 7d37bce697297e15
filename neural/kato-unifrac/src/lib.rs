#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! Start with [`Table::read`], [`Tree::read`] and [`Community::new`].
//!
//! - What goes in: [`Table`], [`Tree`], [`newick`]; [`check()`] says what does not fit,
//!   [`MatchOptions`] what is done about it.
//! - What is computed, with [`ComputeOptions`]: [`Community::distances`] and
//!   [`Community::distances_of`] of a [`Metric`], and [`Community::faith_pd`].
//! - What comes out: [`DistanceMatrix`], which is read back as well, and [`DistanceRows`].
//! - Beside it: [`rarefy()`].

pub mod check;
mod community;
mod compute;
mod error;
mod input;
mod matrix;
mod metric;
pub mod newick;
mod options;
mod output;
mod rarefy;
pub mod table;
mod tree;

pub use check::check;
pub use community::{Community, LeftOut};
pub use error::UnifracError;
pub use matrix::{DistanceMatrix, DistanceRows};
pub use metric::Metric;
pub use options::{ComputeOptions, MatchOptions};
pub use rarefy::{Rarefied, rarefy};
pub use table::Table;
pub use tree::Tree;
