//! Keeps a history of training runs in one SQLite file: settings, what was foretold, and what it took.
//!
//! Take it when runs are to be compared with each other and with the estimates made before them.
//! Opening makes the file where it is missing; several programs may record into it at once; its
//! schema has a version, and newer builds migrate what older ones wrote. The module knows no trainer: a
//! record is a plain value, whoever made it.
//!
//! ```rust
//! use kato_planner::Forecast;
//! use kato_planner::history::record::{LevelOutcome, Outcome, RunSettings};
//! use kato_planner::history::{NewRun, RunFilter, TrainingHistory};
//!
//! fn main() -> Result<(), kato_planner::history::HistoryError> {
//!     let mut history = TrainingHistory::in_memory()?;
//!     let settings = RunSettings { workers: Some(2), ..RunSettings::new([5, 7, 9]) };
//!     let outcome = Outcome {
//!         samples: 469_177,
//!         disk_bytes: Some(1_550_000_000),
//!         levels: vec![LevelOutcome::new("node0", 45_000_000)],
//!         ..Outcome::new(15.3)
//!     };
//!     let estimate = Forecast { seconds: Some(14.5.into()), ..Forecast::default() };
//!     let id = history.record(&NewRun {
//!         estimate: Some(estimate),
//!         ..NewRun::new(settings.clone(), outcome)
//!     })?;
//!     assert_eq!(id, "run_c5-7-9_w2_s469177");
//!
//!     let alike = history.similar(&settings, 10)?;
//!     assert_eq!(alike[0].similarity, 1.0);
//!     let accuracy = history.accuracy(&RunFilter::default())?;
//!     println!("{accuracy}"); // time: 1 estimate, 5.2 % off on average …
//!     Ok(())
//! }
//! ```
//!
//! # What is in it
//!
//! | part | type |
//! |---|---|
//! | a run before it is recorded, and after | `NewRun`, `HistoryRun` |
//! | filters, newest first | `RunFilter`, `TrainingHistory::runs` |
//! | runs with like settings, by the original's weights | `TrainingHistory::similar` |
//! | forecasts of runs to come, and what those before them teach | `NewForecast`, `TrainingHistory::forecast`, `Corrections` |
//! | errors of estimates, whether intervals held, and whether estimates get better | `TrainingHistory::accuracy` |
//! | a table of runs; CSV; JSON | `Comparison` |
//! | databases and snapshots of the Python original | `import` |
//!
//! # Guarantees
//!
//! - A record is written as a whole or not at all, and is on the disk when `record` returns.
//! - Writers wait for each other up to 30 s; ids are given within the transaction, so none is given twice.
//! - A file of a newer build is refused, and so is one that is no history. Nothing is ever changed in them.
//! - What is not known is absent, but for times, samples, learn calls, errors and warnings, which
//!   are 0 then.
//!
//! # Limits
//!
//! - SQLite locks by the file system: a history on a network drive is as safe as its locks are.
//! - One row a run and one a level; nothing of what a run was while it went on.

pub mod accuracy;
mod comparison;
mod error;
mod file;
mod forecasts;
pub mod import;
pub mod record;
mod row;
mod schema;
mod similarity;

pub use accuracy::Accuracy;
pub use comparison::Comparison;
pub use error::HistoryError;
pub use file::{RunFilter, TrainingHistory};
pub use forecasts::{Corrections, NewForecast};
pub use record::{HistoryRun, NewRun};
pub use similarity::{SimilarRun, similarity};
