//! The command `kato man`: prints the manual, or writes a page for the program and one for each
//! command.
//!
//! ```text
//! kato man --out ~/.local/share/man/man1
//! ```

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap_mangen::Man;

use crate::output::stdout;
use crate::program;
use crate::writable::check_directory;

/// Prints the program's manual page, or writes one for each command as well.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Write the pages of the program and its commands into this directory instead: kato.1,
    /// kato-train.1 and so on.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Prints the page of the program, or writes all pages into a directory.
pub(crate) fn run(args: &Args) -> Result<()> {
    let Some(dir) = &args.out else {
        let mut page = Vec::new();
        Man::new(program::command()).render(&mut page)?;
        return Ok(stdout().write_all(&page)?);
    };
    check_directory("--out", dir)?;
    write_all(dir).with_context(|| {
        format!(
            "--out {}: the manual cannot be written there",
            dir.display()
        )
    })
}

/// Writes the pages of the program and its commands into a directory, which is made if need be.
fn write_all(dir: &Path) -> Result<()> {
    fs::create_dir_all(dir)?;
    clap_mangen::generate_to(program::command(), dir)?;
    Ok(())
}
