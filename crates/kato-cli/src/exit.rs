//! The end of a command: its error text and its exit code.

use std::io::{Write, stderr};
use std::process::ExitCode;

use anyhow::Result;

use crate::advice::told;
use crate::interrupt::{INTERRUPTED, is_interrupted};
use crate::output::is_reader_gone;

/// Writes an error to standard error and returns the exit code.
///
/// That is 0 for an answer, also for an empty one, 1 for an error, and 130 when the user
/// interrupted, even if the work was done by then. A reader of standard output that has gone, as in
/// `kato inspect | head`, has what it wants.
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

/// Writes an error with its causes to standard error and returns the exit code of failures.
pub(crate) fn failed(error: &anyhow::Error) -> ExitCode {
    // A closed standard error must not hide the exit code.
    drop(writeln!(stderr(), "error: {}", told(error)));
    ExitCode::FAILURE
}
