//! Exchange of patterns as JSON Lines: out of a knowledge base and back, byte for byte.

mod error;
mod export;
mod import;

pub use error::ExchangeError;
pub(crate) use export::export;
pub(crate) use import::import;
