//! The program, as cargo has built it beside the tests.

use std::process::Command;

/// A command of the program.
pub(crate) fn kato(command: &str) -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_kato"));
    program.arg(command);
    program
}
