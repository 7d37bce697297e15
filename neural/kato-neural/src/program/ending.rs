//! The end of a program: its last words and its exit code.

use std::error::Error;
use std::io::ErrorKind;
use std::num::NonZeroUsize;
use std::process::ExitCode;

use super::{CommandFailure, tell};
use crate::run::INTERRUPTED;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// With what was asked for.
    Done,
    /// By Ctrl-C; it told how to go on.
    Interrupted,
}

/// Runs a command on as many threads as were asked for; on those that there are where none were.
///
/// # Errors
///
/// Those of the command, or when the threads cannot be started.
pub fn on_threads<T: Send>(
    threads: Option<NonZeroUsize>,
    command: impl FnOnce() -> Result<T, CommandFailure> + Send,
) -> Result<T, CommandFailure> {
    let Some(threads) = threads else {
        return command();
    };
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads.get())
        .build();
    let pool =
        pool.map_err(|error| CommandFailure::Usage(format!("--threads {threads}: {error}")))?;
    pool.install(command)
}

/// Tells why a command failed, with every cause, and returns the program's exit code.
#[must_use]
pub fn end(result: Result<Ended, CommandFailure>) -> ExitCode {
    end_in_words(result, str::to_owned)
}

/// Does so in a program's words, which `words` makes of a library's: flags where that names settings.
#[must_use]
pub fn end_in_words(
    result: Result<Ended, CommandFailure>,
    words: impl Fn(&str) -> String,
) -> ExitCode {
    let failure = match result {
        Ok(Ended::Done) => return ExitCode::SUCCESS,
        Ok(Ended::Interrupted) => return ExitCode::from(INTERRUPTED),
        // Whoever reads the output has read enough, as `head` does.
        Err(CommandFailure::Output(error)) if error.kind() == ErrorKind::BrokenPipe => {
            return ExitCode::SUCCESS;
        }
        Err(failure @ CommandFailure::Silent) => {
            return ExitCode::from(failure.class().exit_code());
        }
        Err(failure) => failure,
    };
    tell(words(&format!("error: {failure}")));
    let mut cause = failure.source();
    while let Some(error) = cause {
        tell(words(&format!("  because: {error}")));
        cause = error.source();
    }
    ExitCode::from(failure.class().exit_code())
}
