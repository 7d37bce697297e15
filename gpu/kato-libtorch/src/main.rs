//! The program `kato-libtorch`.

use std::process::ExitCode;

use clap::Parser;
use kato_libtorch::program::Program;

fn main() -> ExitCode {
    match Program::parse().run() {
        Ok(code) => code,
        Err(error) => {
            report(&error);
            ExitCode::from(2)
        }
    }
}

/// Tells an error and its causes.
#[expect(
    clippy::print_stderr,
    reason = "a program tells its user what is wrong"
)]
fn report(error: &kato_libtorch::Error) {
    eprintln!("error: {error}");
    let mut cause = std::error::Error::source(error);
    while let Some(reason) = cause {
        eprintln!("  because {reason}");
        cause = reason.source();
    }
}
