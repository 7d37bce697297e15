//! The parts of `kato evaluate`: progress, and the report as a table.

mod progress;
mod table;

pub(crate) use progress::EvaluationReporter;
