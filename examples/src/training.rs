//! The parts of `train`: where it trains to, how it tells what happens, watching it, what it says in the end.

pub mod destination;
pub mod errors;
pub mod flags;
pub mod manifest;
pub mod profile;
pub mod reporter;
pub mod seconds;
pub mod summary;
