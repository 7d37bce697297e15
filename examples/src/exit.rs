//! How the programs that answer end: error text, exit code.

use std::io::{self, Write, stderr};
use std::process::ExitCode;

use anyhow::Result;
use kato_scheduler::StopSignal;

use crate::interrupt::INTERRUPTED;

/// Tells an error on standard error and gives the exit code: 0 for an answer, also for an empty one, 1 for an error, 130 when
/// the user interrupted. A reader of standard output that has gone, as in `inspect | head`, has what it wants.
#[must_use]
pub fn exit_code(outcome: Result<()>, stop: &StopSignal) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            // A closed standard error must not hide the exit code.
            drop(writeln!(stderr(), "error: {error:#}"));
            if stop.is_stopped() {
                ExitCode::from(INTERRUPTED)
            } else {
                ExitCode::FAILURE
            }
        }
    }
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let mut causes = error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>());
    causes.any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}
