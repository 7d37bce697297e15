#![doc = include_str!("../README.md")]
//!
//! # Where to start
//!
//! A [`Writer`] takes documents with the plans of their learn calls. [`Occurrences`] answers: [how
//! often](Occurrences::count) a sequence of tokens is in the documents and [where](Occurrences::places), the
//! [longest spans](Occurrences::spans) of a text that are there, [with their places](Occurrences::trace), and
//! [who taught](Occurrences::lessons) a pattern. A [`LessonShape`] is a learn call: its tokens and where those of lower levels begin.

mod bits;
mod calls;
mod code;
mod cuts;
mod documents;
mod error;
mod header;
mod occurrences;
mod page;
mod parts;
mod reach;
mod sequence;
mod shape;
mod spans;
mod suffix_array;
mod unit;
mod unit_writer;
mod writer;

pub use documents::DocumentRef;
pub use error::OccurrencesError;
pub use header::Position;
pub use occurrences::{Occurrences, Removal};
pub use page::{TokenPlace, TracedSpan};
pub use shape::LessonShape;
pub use spans::Span;
pub use writer::{Documents, Writer, Written};
