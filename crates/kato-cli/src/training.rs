//! The parts of `kato train`: where it trains to, how it tells what happens, watching it, what it says in the end.

pub(crate) mod destination;
pub(crate) mod errors;
pub(crate) mod flags;
pub(crate) mod manifest;
pub(crate) mod profile;
pub(crate) mod reporter;
pub(crate) mod seconds;
pub(crate) mod summary;
