//! The program `kato-microbes`: microbial communities, their distances, and what can be predicted.

mod program;

use std::process::ExitCode;

/// Runs the program and returns its exit code.
fn main() -> ExitCode {
    program::main()
}
