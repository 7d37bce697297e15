//! Asking the user before something goes for good.

use std::io::{IsTerminal, Write, stderr, stdin};

use anyhow::Result;

use crate::exit::bail_as;

/// Asks a question whose yes means to `verb`, if there is somebody to ask.
///
/// # Errors
///
/// When nobody is, which is wrong usage, and when the answer cannot be read.
pub(crate) fn agreed(verb: &str, question: &str) -> Result<bool> {
    if !stdin().is_terminal() {
        bail_as!(
            Usage,
            "nobody is there to ask: say --yes to {verb}, or --dry-run to look"
        );
    }
    // Standard output belongs to the result, which may go into a file.
    write!(stderr(), "\n{question} Type yes: ")?;
    let mut answer = String::new();
    stdin().read_line(&mut answer)?;
    Ok(answer.trim() == "yes")
}
