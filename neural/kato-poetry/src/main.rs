//! The program `kato-poetry`: trains an autoencoder of poems, and asks it.

mod program;

use std::process::ExitCode;

/// Runs the program and returns its exit code.
fn main() -> ExitCode {
    program::main()
}
