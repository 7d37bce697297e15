//! The parts of `kato evaluate`: which documents a knowledge base was not trained on, progress, and
//! the report as a table.

mod progress;
mod run;
mod table;

pub(crate) use progress::EvaluationReporter;
pub(crate) use run::TrainedRun;
