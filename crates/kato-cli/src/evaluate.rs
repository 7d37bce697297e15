//! The parts of `kato evaluate`: progress in words, and the report as a table.

mod progress;
mod table;

pub(crate) use progress::facts;
