//! The command `kato completions`: prints a script that completes commands and flags in a shell.
//!
//! ```text
//! kato completions bash > ~/.local/share/bash-completion/completions/kato
//! ```

use std::io::Write;
use std::process::ExitCode;

use clap_complete::Shell;

use crate::exit::exit_code;
use crate::output::stdout;
use crate::program;

/// Prints a script that completes this program's commands and flags in a shell.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The shell.
    shell: Shell,
}

/// Runs `kato completions` and returns its exit code.
pub(crate) fn main(args: &Args) -> ExitCode {
    // Through memory, because clap panics when it cannot write, as into a closed pipe.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut program::command(), "kato", &mut script);
    let written = stdout().write_all(&script);
    exit_code(written.map_err(Into::into))
}
