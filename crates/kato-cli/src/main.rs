//! The program `kato`: trains, asks, serves and measures, one subcommand each.

mod analysis;
mod backend;
mod bench_workers;
mod byte_size;
mod commands;
mod datasets;
mod estimation;
mod evaluate;
mod exit;
mod forecast;
mod generation;
mod hardware;
mod history;
mod inspect;
mod interrupt;
mod knowledge_base;
mod learning;
mod logging;
mod machine;
mod meter;
mod open;
mod output;
mod pilot;
mod planning;
mod prediction;
mod program;
mod remote;
mod report;
mod repository;
mod runs;
mod settings;
mod source;
mod tokens;
mod training;
mod tuning;

use std::process::ExitCode;

/// Runs the program and returns its exit code.
fn main() -> ExitCode {
    program::main()
}
