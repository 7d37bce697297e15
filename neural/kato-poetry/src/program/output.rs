//! Lines on standard output and standard error.

use std::error::Error as StdError;
use std::fmt::Display;
use std::io::{IsTerminal, Write, stderr, stdout};

use serde::Serialize;

use super::Failure;

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

/// Returns whether standard output may be coloured.
pub(crate) fn may_color() -> bool {
    stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}

/// Returns a text in the colour of a cosine: green from 0.8, yellow from 0.5, else red.
pub(crate) fn colored(text: &str, cosine: f64, may_color: bool) -> String {
    if !may_color {
        return text.to_owned();
    }
    let code = if cosine >= 0.8 {
        32
    } else if cosine >= 0.5 {
        33
    } else {
        31
    };
    format!("\u{1b}[{code}m{text}\u{1b}[0m")
}
