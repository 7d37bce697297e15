//! How training scales with the number of workers: one measurement, and the table of many.

mod measure;
mod table;

pub use measure::Bench;
pub use table::Table;
