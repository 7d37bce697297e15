//! The end of a command: its error text and its exit code.

use std::error::Error as StdError;
use std::io;
use std::process::ExitCode;

use anyhow::Result;
use kato::head::HeadError;
use kato::head::disk::CountsError;
use kato_advice::ErrorClass;
use kato_client::ClientError;
#[cfg(feature = "cluster")]
use kato_cluster::ClusterError;
use kato_engine::EngineError;
use kato_estimator::EstimateError;
use kato_evaluation::EvaluationError;
use kato_evaluation::analysis::AnalysisError;
use kato_hardware::HardwareError;
use kato_hierarchy::HierarchyError;
use kato_learner::LearnError;
use kato_loader::LoadError;
use kato_occurrences::OccurrencesError;
use kato_planner::PlanError;
#[cfg(feature = "history")]
use kato_planner::history::HistoryError;
use kato_planner::scaling::ScalingError;
use kato_prediction::disk::IndexFileError;
use kato_profiler::ProfileError;
use kato_remote::RemoteError;
use kato_runs::RunsError;
use kato_scheduler::{BackendError, TrainError};
use kato_server::ServerError;
use kato_service::ServiceError;
#[cfg(feature = "parquet")]
use kato_store::parquet::ParquetError;
use kato_store::{ExchangeError, StoreError};
use kato_tokenizer::LoadTokenizerError;

use crate::advice::told;
use crate::interrupt::{INTERRUPTED, is_interrupted};
use crate::notice;
use crate::output::is_reader_gone;

/// What the exit codes of all commands mean, for the help of each.
pub(crate) const EXIT_CODES: &str = "\
Exit codes:
    0  done; nothing found is an answer
    1  error: mend what it names
    2  wrong usage
    3  done, but documents or records failed (kato train --fail-on-errors)
    4  try again later: a server, a network or a machine did not answer in time
    5  no room on the disk, or in the memory that may be used
    6  conflict: another writer, other settings, another corpus, another format, or something else
       where this was to be
  130  interrupted by Ctrl-C, SIGTERM or SIGHUP, even if the work was done by then";

/// An error of a command itself, with its class.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub(crate) struct CommandError {
    pub(crate) class: ErrorClass,
    pub(crate) text: String,
}

/// Makes an error that of wrong usage, with the same text.
pub(crate) fn as_usage(error: &anyhow::Error) -> anyhow::Error {
    CommandError {
        class: ErrorClass::Usage,
        text: format!("{error:#}"),
    }
    .into()
}

/// Returns from a function with an error of a class, as `bail!` does: `bail_as!(Usage, "…")` for wrong
/// usage that only shows once the command is at work.
macro_rules! bail_as {
    ($class:ident, $($text:tt)*) => {
        return Err($crate::exit::CommandError {
            class: kato_advice::ErrorClass::$class,
            text: format!($($text)*),
        }
        .into())
    };
}
pub(crate) use bail_as;

/// Writes an error to standard error and returns the exit code.
///
/// That is 0 for an answer, also for an empty one, that of the [class](class) for an error, and 130
/// when the user interrupted, even if the work was done by then. A reader of standard output that
/// has gone, as in `kato inspect | head`, has what it wants.
#[must_use]
pub(crate) fn exit_code(outcome: Result<()>) -> ExitCode {
    let code = match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if is_reader_gone(&error) => ExitCode::SUCCESS,
        // Also after an interruption, as the error says what was not done.
        Err(error) => failed(&error),
    };
    unless_interrupted(code)
}

/// Returns an exit code, or 130 when the user interrupted.
#[must_use]
pub(crate) fn unless_interrupted(code: ExitCode) -> ExitCode {
    match is_interrupted() {
        true => ExitCode::from(INTERRUPTED),
        false => code,
    }
}

/// Writes an error with its causes to standard error and returns the exit code of its class.
pub(crate) fn failed(error: &anyhow::Error) -> ExitCode {
    notice::tell("error", "error: ", &told(error));
    ExitCode::from(class(error).exit_code())
}

/// Returns what a caller can do about an error: what the first of its causes says that knows.
fn class(error: &anyhow::Error) -> ErrorClass {
    let classes = error.chain().map(|cause| {
        let known = KNOWN.iter().filter_map(|of| of(cause));
        known.fold(ErrorClass::Other, ErrorClass::or)
    });
    classes.fold(ErrorClass::Other, ErrorClass::or)
}

/// An error of a chain.
type Cause<'a> = &'a (dyn StdError + 'static);

/// Every type of error that has a class. Other errors have that of a cause, if it has one.
const KNOWN: &[fn(Cause<'_>) -> Option<ErrorClass>] = &[
    |cause| cause.downcast_ref().map(|error: &CommandError| error.class),
    |cause| cause.downcast_ref().map(kato::Error::class),
    |cause| cause.downcast_ref().map(TrainError::class),
    |cause| cause.downcast_ref().map(BackendError::class),
    |cause| cause.downcast_ref().map(RemoteError::class),
    |cause| cause.downcast_ref().map(LoadError::class),
    |cause| cause.downcast_ref().map(HierarchyError::class),
    |cause| cause.downcast_ref().map(EngineError::class),
    |cause| cause.downcast_ref().map(IndexFileError::class),
    |cause| cause.downcast_ref().map(CountsError::class),
    |cause| cause.downcast_ref().map(HeadError::class),
    |cause| cause.downcast_ref().map(OccurrencesError::class),
    |cause| cause.downcast_ref().map(RunsError::class),
    |cause| cause.downcast_ref().map(ExchangeError::class),
    #[cfg(feature = "parquet")]
    |cause| cause.downcast_ref().map(ParquetError::class),
    |cause| cause.downcast_ref().map(StoreError::class),
    |cause| cause.downcast_ref().map(LearnError::class),
    |cause| cause.downcast_ref().map(EvaluationError::class),
    |cause| cause.downcast_ref().map(AnalysisError::class),
    |cause| cause.downcast_ref().map(ProfileError::class),
    |cause| cause.downcast_ref().map(EstimateError::class),
    |cause| cause.downcast_ref().map(PlanError::class),
    |cause| cause.downcast_ref().map(ScalingError::class),
    |cause| cause.downcast_ref().map(HardwareError::class),
    |cause| cause.downcast_ref().map(LoadTokenizerError::class),
    |cause| cause.downcast_ref().map(ServerError::class),
    |cause| cause.downcast_ref().map(ServiceError::class),
    |cause| cause.downcast_ref().map(ClientError::class),
    #[cfg(feature = "cluster")]
    |cause| cause.downcast_ref().map(ClusterError::class),
    #[cfg(feature = "history")]
    |cause| cause.downcast_ref().map(HistoryError::class),
    #[cfg(feature = "remote")]
    |cause| cause.downcast_ref().map(kato_fetch::FetchError::class),
    |cause| cause.downcast_ref().map(of_system),
];

/// Returns the class of an error of the operating system.
fn of_system(error: &io::Error) -> ErrorClass {
    ErrorClass::of_io(error.kind())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use anyhow::{Context, anyhow};
    use kato_store::Place;

    use super::*;

    #[test]
    fn the_table_has_every_class() {
        for class in ErrorClass::ALL {
            let code = format!("\n{:>5}  ", class.exit_code());
            assert!(EXIT_CODES.contains(&code), "{class:?}");
        }
    }

    fn used(rate: u32) -> Result<()> {
        bail_as!(Usage, "--rate {rate}: give a number")
    }

    #[test]
    fn the_class_of_an_error_is_found_below_what_was_said_of_it() {
        let place = Place::from_path(Path::new("kb"));
        let locked = || StoreError::Locked {
            place: place.clone(),
        };
        let full = || io::Error::from(io::ErrorKind::StorageFull);
        for (error, expected) in [
            (anyhow!("something"), ErrorClass::Other),
            (used(0).unwrap_err(), ErrorClass::Usage),
            (locked().into(), ErrorClass::Conflict),
            (TrainError::Store(locked()).into(), ErrorClass::Conflict),
            (kato::Error::from(locked()).into(), ErrorClass::Conflict),
            (full().into(), ErrorClass::NoRoom),
            (EstimateError::NoModel.into(), ErrorClass::Usage),
            (
                EstimateError::Plot {
                    path: "plots".into(),
                    source: full(),
                }
                .into(),
                ErrorClass::NoRoom,
            ),
            (ScalingError::NoLaw.into(), ErrorClass::Usage),
            (
                TrainError::from(RemoteError::Provenance).into(),
                ErrorClass::Usage,
            ),
        ] {
            assert_eq!(class(&error), expected, "{error:?}");
            let below = Err::<(), _>(error).context("failed to do it");
            assert_eq!(class(&below.unwrap_err()), expected);
        }
    }
}
