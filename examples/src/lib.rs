//! What the example binaries share: the corpus generator, the views of a knowledge base, progress, signals.

pub mod corpus;
pub mod inspect;
pub mod interrupt;
pub mod reporter;
pub mod repository;

/// The README's example is compiled and run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
