#![doc = include_str!("../README.md")]
//!
//! # Overview
//!
//! Start with [`Embeddings::builder`]. The [`EmbeddingsBuilder`] opens [`Embeddings`], of `f32` or,
//! [with doubles](EmbeddingsBuilder::with_doubles), of `f64`; these are the [`Element`]s there are.
//! [`OnBadLine`] says what becomes of a [`BadLine`], the [`Report`] what was read and from where,
//! and a [`Neighbour`] is one of the nearest words.
//!
//! [`OnBadLine`]: options::OnBadLine
//! [`BadLine`]: report::BadLine
//! [`Report`]: report::Report

mod bad_line;
mod blocks;
mod builder;
mod cache;
mod cosine;
mod decimal;
mod element;
mod embeddings;
mod error;
mod head;
mod line;
mod nearest;
pub mod options;
pub mod report;
mod source;
mod text;
mod vectors;
mod words;

pub use builder::EmbeddingsBuilder;
pub use element::Element;
pub use embeddings::Embeddings;
pub use error::{EmbeddingsError, QueryError};
pub use nearest::Neighbour;
