//! How training scales with the number of workers: one measurement, and the table of many.

mod backend;
mod measure;
mod table;

pub use backend::{InvalidMeasuredBackend, MeasuredBackend};
pub use measure::Bench;
pub use table::Table;
