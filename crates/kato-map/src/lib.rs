#![doc = include_str!("../README.md")]
//!
//! # Where to start
//!
//! Start with [`Map`], which maps one file. [`DirectoryWatch`] says when it is time to
//! [look](Map::look) at the maps of a directory.

mod fault;
mod map;
mod watch;

pub use map::{Map, MapState};
pub use watch::DirectoryWatch;
