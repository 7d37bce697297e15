//! The parts of `kato train`: its destination, its policy for errors, progress, profile and
//! summary.

pub(crate) mod destination;
pub(crate) mod errors;
mod meant_for;
pub(crate) mod profile;
pub(crate) mod reporter;
pub(crate) mod seconds;
pub(crate) mod summary;
pub(crate) mod unbegun;

pub(crate) use self::meant_for::unused;
