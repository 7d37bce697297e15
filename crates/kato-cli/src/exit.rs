//! The end of a command: its error text and its exit code.

use std::io::{Write, stderr};
use std::process::ExitCode;

use anyhow::Result;
use kato_scheduler::StopSignal;

use crate::interrupt::INTERRUPTED;
use crate::output::is_reader_gone;

/// Writes an error to standard error and returns the exit code.
///
/// That is 0 for an answer, also for an empty one, 1 for an error, and 130 when the user
/// interrupted. A reader of standard output that has gone, as in `kato inspect | head`, has what it
/// wants.
#[must_use]
pub(crate) fn exit_code(outcome: Result<()>, stop: &StopSignal) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if is_reader_gone(&error) => ExitCode::SUCCESS,
        Err(error) => {
            // Also after an interruption, as the error says what was not done.
            let code = failed(&error);
            if stop.is_stopped() {
                ExitCode::from(INTERRUPTED)
            } else {
                code
            }
        }
    }
}

/// Writes an error with its causes to standard error and returns the exit code of failures.
pub(crate) fn failed(error: &anyhow::Error) -> ExitCode {
    // A closed standard error must not hide the exit code.
    drop(writeln!(stderr(), "error: {error:#}"));
    ExitCode::FAILURE
}
