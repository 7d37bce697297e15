//! Measurements of how training scales with the number of workers: one of them, and the table of
//! many.

mod backend;
mod measure;
mod table;

pub(crate) use backend::MeasuredBackend;
pub(crate) use measure::Bench;
pub(crate) use table::Table;
