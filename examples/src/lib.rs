//! What the example binaries share: sources of text and views of them, the corpus generator, the views of a knowledge base
//! and of what it answers, progress, signals.

pub mod analysis;
pub mod backend;
pub mod bench_workers;
pub mod corpus;
pub mod datasets;
pub mod estimation;
pub mod evaluate;
pub mod exit;
pub mod generation;
pub mod hardware;
pub mod inspect;
pub mod interrupt;
pub mod knowledge_base;
pub mod learning;
pub mod meter;
pub mod open;
pub mod prediction;
pub mod report;
pub mod repository;
pub mod runs;
pub mod source;
pub mod tokens;
pub mod training;

/// The README's example is compiled and run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
