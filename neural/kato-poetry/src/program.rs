//! The commands, and the end of the program.

mod ask;
mod bench;
mod cli;
mod compare;
mod find;
mod report;
mod settings;
mod text;
mod train;

use std::process::ExitCode;

use clap::Parser;
use kato_neural::program::{CommandFailure, Ended, end, on_threads};
use kato_neural::run::Signals;

use cli::{Cli, Command};

/// Runs the program and returns its exit code.
pub(crate) fn main() -> ExitCode {
    end(run(Cli::parse()))
}

/// Runs a command, on as many threads as were asked for.
fn run(cli: Cli) -> Result<Ended, CommandFailure> {
    let command = cli.command;
    let signals = Signals::listen()?;
    let work = move || match command {
        Command::Train(arguments) => train::train(&arguments, &signals),
        Command::Resume(arguments) => train::resume(&arguments, &signals),
        Command::Reconstruct(arguments) => ask::reconstruct(&arguments),
        Command::Encode(arguments) => ask::encode(&arguments),
        Command::Neighbours(arguments) => ask::neighbours(&arguments),
        Command::Walk(arguments) => ask::walk(&arguments),
        Command::Compare(arguments) => compare::compare(&arguments),
        Command::Bench(command) => bench::bench(&command),
    };
    on_threads(cli.threads, work)
}
