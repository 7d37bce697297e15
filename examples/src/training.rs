//! The parts of `train`: where it trains to, how it tells what happens, what it says in the end.

pub mod destination;
pub mod errors;
pub mod manifest;
pub mod reporter;
pub mod seconds;
pub mod summary;
