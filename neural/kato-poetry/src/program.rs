//! Commands, one module each, and the end of the program.

mod ask;
mod bench;
mod cli;
mod compare;
mod find;
mod output;
mod progress;
mod report;
mod settings;
mod text;
mod train;

use std::process::ExitCode;

use clap::Parser;
use kato_advice::ErrorClass;
use kato_neural::run::{BatchTrialError, INTERRUPTED, listen};
use kato_poetry::PoetryError;

use cli::{Cli, Command};

/// Why a command ended without what was asked for.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The library cannot do it.
    #[error(transparent)]
    Poetry(#[from] PoetryError),
    /// No batch was found that fits.
    #[error(transparent)]
    Batch(#[from] BatchTrialError),
    /// Standard output cannot be written to.
    #[error("the output cannot be written")]
    Output(#[from] std::io::Error),
    /// The command was used wrongly.
    #[error("{0}")]
    Usage(String),
}

/// How a command ended.
pub(crate) enum Ended {
    /// With what was asked for.
    Done,
    /// By Ctrl-C; it told how to go on.
    Interrupted,
}

/// Runs the program and returns its exit code.
pub(crate) fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(cli) {
        Ok(Ended::Done) => ExitCode::SUCCESS,
        Ok(Ended::Interrupted) => ExitCode::from(INTERRUPTED),
        // Whoever reads the output has read enough, as `head` does.
        Err(Failure::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(failure) => {
            output::tell_failure(&failure);
            ExitCode::from(class(&failure).exit_code())
        }
    }
}

/// Runs a command, on as many threads as were asked for.
fn run(cli: Cli) -> Result<Ended, Failure> {
    let stop = listen()?;
    let command = cli.command;
    let work = move || match command {
        Command::Train(arguments) => train::train(&arguments, &stop),
        Command::Resume(arguments) => train::resume(&arguments, &stop),
        Command::Reconstruct(arguments) => ask::reconstruct(&arguments),
        Command::Encode(arguments) => ask::encode(&arguments),
        Command::Neighbours(arguments) => ask::neighbours(&arguments),
        Command::Walk(arguments) => ask::walk(&arguments),
        Command::Compare(arguments) => compare::compare(&arguments),
        Command::Bench(command) => bench::bench(&command),
    };
    let Some(threads) = cli.threads else {
        return work();
    };
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads.get())
        .build();
    let pool = pool.map_err(|error| Failure::Usage(format!("--threads {threads}: {error}")))?;
    pool.install(work)
}

/// Returns what the user can do about a failure.
fn class(failure: &Failure) -> ErrorClass {
    match failure {
        Failure::Poetry(error) => error.class(),
        Failure::Batch(error) => error.class(),
        Failure::Output(error) => ErrorClass::of_io(error.kind()),
        Failure::Usage(_) => ErrorClass::Usage,
    }
}
