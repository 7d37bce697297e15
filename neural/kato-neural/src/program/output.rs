//! Lines on standard output and standard error.

use std::fmt::Display;
use std::fs;
use std::io::{Write, stderr, stdout};
use std::path::Path;

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

/// Refuses a file that is to be written where the command reads it as well.
///
/// # Errors
///
/// A conflict, which names the file.
pub fn refuse_inputs<'p>(
    out: &Path,
    inputs: impl IntoIterator<Item = &'p Path>,
) -> Result<(), CommandFailure> {
    // What is not there is not read either, and a device, such as a terminal, may be both.
    let Some(place) = fs::canonicalize(out).ok().filter(|place| place.is_file()) else {
        return Ok(());
    };
    let mut inputs = inputs.into_iter();
    if inputs.any(|input| fs::canonicalize(input).is_ok_and(|input| input == place)) {
        return Err(CommandFailure::taken(format!(
            "`{}` would be written over, and is read; name another file",
            out.display()
        )));
    }
    Ok(())
}

/// Writes a line to standard error. A closed one must not keep the program from its work.
pub fn tell(line: impl Display) {
    drop(writeln!(stderr(), "{line}"));
}
