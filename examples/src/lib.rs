//! What the example binaries share: the corpus generator, progress, signals.

pub mod corpus;
pub mod interrupt;
pub mod repository;
pub mod reporter;
