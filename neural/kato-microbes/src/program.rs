//! Commands, one module each, and the end of the program.

mod ask;
mod baseline;
mod bench;
mod check;
mod cli;
mod cli_training;
mod data;
mod output;
mod progress;
mod report;
mod settings;
mod synth;
mod train;
mod unifrac;

use std::process::ExitCode;

use clap::Parser;
use kato_advice::ErrorClass;
use kato_microbes::MicrobesError;
use kato_neural::run::{BatchTrialError, INTERRUPTED, listen};
use kato_unifrac::UnifracError;

use cli::{BenchCommand, Cli, Command};

/// Why a command ended without what was asked for.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The library cannot do it.
    #[error(transparent)]
    Microbes(#[from] MicrobesError),
    /// No batch was found that fits.
    #[error(transparent)]
    Batch(#[from] BatchTrialError),
    /// Standard output cannot be written to.
    #[error("the output cannot be written")]
    Output(#[from] std::io::Error),
    /// The command was used wrongly.
    #[error("{0}")]
    Usage(String),
    /// What was checked does not fit; the findings are told already.
    #[error("nothing can be computed from these files as they are")]
    Check,
}

impl From<UnifracError> for Failure {
    fn from(error: UnifracError) -> Self {
        Self::Microbes(error.into())
    }
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
    let work = move || {
        match command {
            Command::Check(arguments) => check::check(&arguments)?,
            Command::Unifrac(arguments) => unifrac::unifrac(&arguments)?,
            Command::Synth(arguments) => synth::synth(&arguments)?,
            Command::Baseline(arguments) => baseline::baseline(&arguments)?,
            Command::Pretrain(arguments) => return train::pretrain(&arguments, &stop),
            Command::Train(arguments) => return train::train(&arguments, &stop),
            Command::Resume(arguments) => return train::resume(&arguments, &stop),
            Command::Predict(arguments) => ask::predict(&arguments)?,
            Command::Explain(arguments) => ask::explain(&arguments)?,
            Command::Bench(BenchCommand::Items(arguments)) => bench::items(&arguments)?,
        }
        Ok(Ended::Done)
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
        Failure::Microbes(error) => error.class(),
        Failure::Batch(error) => error.class(),
        Failure::Output(error) => ErrorClass::of_io(error.kind()),
        Failure::Usage(_) => ErrorClass::Usage,
        Failure::Check => ErrorClass::Other,
    }
}
