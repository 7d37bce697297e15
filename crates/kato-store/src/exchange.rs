//! Exchange of patterns as JSON Lines: out of a knowledge base and back, byte for byte.

mod check;
mod error;
mod export;
mod import;

#[cfg(feature = "parquet")]
pub(crate) use check::Check;
pub use error::ExchangeError;
pub(crate) use export::export;
#[cfg(feature = "parquet")]
pub(crate) use import::Import;
pub(crate) use import::import;
