//! Lines on standard output and standard error.

use std::error::Error as StdError;
use std::fmt::Display;
use std::io::{Write, stderr, stdout};

use serde::Serialize;

use super::Failure;

/// How many names a line shows.
const N_NAMES: usize = 10;

/// Writes a line to standard output.
pub(crate) fn say(line: impl Display) -> Result<(), Failure> {
    Ok(writeln!(stdout(), "{line}")?)
}

/// Writes a value as JSON to standard output.
pub(crate) fn say_json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).map_err(std::io::Error::from)?;
    say(text)
}

/// Writes a line to standard error. A closed one must not keep the program from its work.
pub(crate) fn tell(line: impl Display) {
    drop(writeln!(stderr(), "{line}"));
}

/// Tells why a command failed, with every cause.
pub(crate) fn tell_failure(failure: &Failure) {
    tell(format_args!("error: {failure}"));
    let mut cause = StdError::source(failure);
    while let Some(error) = cause {
        tell(format_args!("  because: {error}"));
        cause = error.source();
    }
}

/// Returns how many names there are and the first ten, or `None` for none.
pub(crate) fn names(what: &str, names: &[String]) -> Option<String> {
    let shown: Vec<String> = names
        .iter()
        .take(N_NAMES)
        .map(|name| format!("`{name}`"))
        .collect();
    let more = names.len().saturating_sub(N_NAMES);
    let rest = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    (!names.is_empty()).then(|| format!("{} {what}: {}{rest}", names.len(), shown.join(", ")))
}
