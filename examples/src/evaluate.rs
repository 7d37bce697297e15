//! Evaluating a knowledge base: which documents it was not trained on, progress, and the report as a table.

mod progress;
mod run;
mod table;

pub use progress::EvaluationReporter;
pub use run::TrainedRun;
