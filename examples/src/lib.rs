//! What the example binaries share: the corpus generator, the views of a knowledge base, progress, signals.

pub mod corpus;
pub mod inspect;
pub mod interrupt;
pub mod reporter;
pub mod repository;
