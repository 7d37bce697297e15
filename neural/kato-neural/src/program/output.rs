//! Lines on standard output and standard error.

use std::fmt::Display;
use std::io::{Write, stderr, stdout};

use serde::Serialize;

use super::CommandFailure;

/// Writes a line to standard output.
///
/// # Errors
///
/// When it cannot be written to.
pub fn say(line: impl Display) -> Result<(), CommandFailure> {
    Ok(writeln!(stdout(), "{line}")?)
}

/// Writes a value as JSON to standard output.
///
/// # Errors
///
/// When it cannot be written to.
pub fn say_json(value: &impl Serialize) -> Result<(), CommandFailure> {
    let text = serde_json::to_string_pretty(value).map_err(std::io::Error::from)?;
    say(text)
}

/// Writes a line to standard error. A closed one must not keep the program from its work.
pub fn tell(line: impl Display) {
    drop(writeln!(stderr(), "{line}"));
}
