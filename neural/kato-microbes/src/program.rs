//! The commands, and the end of the program.

mod ask;
mod baseline;
mod bench;
mod check;
mod cli;
mod cli_training;
mod data;
mod names;
mod replicas;
mod report;
mod settings;
mod synth;
mod train;
mod unifrac;

use std::process::ExitCode;

use clap::Parser;
use kato_microbes::Run;
use kato_neural::program::{CommandFailure, Ended, end_in_words, on_threads};
use kato_neural::run::Signals;

use cli::{BenchCommand, Cli, Command};

/// Runs the program and returns its exit code.
pub(crate) fn main() -> ExitCode {
    end_in_words(run(Cli::parse()), check::in_flags)
}

/// Runs a command, on as many threads as were asked for.
fn run(cli: Cli) -> Result<Ended, CommandFailure> {
    let command = cli.command;
    let signals = Signals::listen()?;
    let work = move || {
        match command {
            Command::Check(arguments) => check::check(&arguments)?,
            Command::Unifrac(arguments) => unifrac::unifrac(&arguments)?,
            Command::Synth(arguments) => synth::synth(&arguments)?,
            Command::Baseline(arguments) => baseline::baseline(&arguments)?,
            Command::Pretrain(arguments) => return train::pretrain(&arguments, &signals),
            Command::Train(arguments) => return train::train(&arguments, &signals),
            Command::Resume(arguments) => return train::resume(&arguments, &signals),
            Command::Follow(arguments) => replicas::follow(&arguments, &signals)?,
            Command::Predict(arguments) => ask::predict(&arguments)?,
            Command::Explain(arguments) => ask::explain(&arguments)?,
            Command::Bench(BenchCommand::Items(arguments)) => bench::items(&arguments, &signals)?,
            Command::Bench(BenchCommand::Course { run, out }) => Run::write_course(&run, &out)?,
        }
        Ok(Ended::Done)
    };
    on_threads(cli.threads, work)
}
