#![doc = include_str!("../README.md")]
//!
//! # Where to start
//!
//! Start with [`CheckedBytes`], a column; its [`View`] reads, and [`DamageWatch`] says whether what was read
//! can be believed. With the feature `files`, [`files`] writes and maps columns, and [`map`] maps any file.

mod checked;
#[cfg(feature = "files")]
pub mod files;
#[cfg(feature = "files")]
pub mod map;

pub use checked::{
    BLOCK_BYTES, BytesState, Changes, CheckedBytes, ColumnBytes, DamageWatch, SharedBytes, View,
};

/// The error of a layout that its columns contradict; it says in what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the columns do not fit their layout: {0}")]
pub struct LayoutError(pub &'static str);
