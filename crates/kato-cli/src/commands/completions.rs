//! The command `kato completions`: prints a script that completes commands and flags in a shell.
//!
//! ```text
//! kato completions bash > ~/.local/share/bash-completion/completions/kato
//! ```

use std::io::Write;

use anyhow::Result;
use clap_complete::Shell;

use crate::output::stdout;
use crate::program;

/// Prints a script that completes this program's commands and flags in a shell.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The shell.
    shell: Shell,
}

/// Prints the script.
pub(crate) fn run(args: &Args) -> Result<()> {
    // Through memory, because clap panics when it cannot write, as into a closed pipe.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut program::command(), "kato", &mut script);
    Ok(stdout().write_all(&script)?)
}
