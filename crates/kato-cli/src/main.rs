//! The program `kato`: trains, asks, serves and measures, one subcommand each.

mod advice;
mod analysis;
mod backend;
mod batch;
mod bench_workers;
mod byte_size;
mod commands;
mod consent;
mod datasets;
mod estimation;
mod evaluate;
mod exit;
mod forecast;
mod generation;
mod hardware;
mod head;
mod history;
mod indexing;
mod inspect;
mod interrupt;
mod knowledge_base;
mod learning;
mod logging;
mod machine;
mod memory_limit;
mod meter;
mod names;
mod notice;
mod numbers;
mod occurrences;
mod open;
mod output;
mod overwriting;
mod parents;
mod patience;
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
mod text_file;
mod tokens;
mod trained_run;
mod training;
mod tuning;
mod unused;
mod usage;
mod writable;

use std::process::ExitCode;

/// The allocator, in the place of the system's: that of glibc kept more than four times what a
/// server of many nodes had in use after an hour (docs/server.md).
#[cfg(all(target_os = "linux", feature = "jemalloc"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Runs the program and returns its exit code.
fn main() -> ExitCode {
    program::main()
}
