//! The arguments of an example, by their places, and how it ends: 0 when done, also where nobody reads
//! on; 1 after an error, which is told; 2 after wrong arguments.

use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;
use std::str::FromStr;

/// Arguments that an example takes, each with what it means; those in brackets may be missing.
pub type Places = [(&'static str, &'static str)];

/// The text that an example learns.
pub const SOURCE: (&str, &str) = (
    "[SOURCE]",
    "a file, folder or glob; this repository's own text where none is named",
);

/// The arguments that were given.
#[derive(Debug)]
pub struct Arguments {
    places: Vec<(&'static str, &'static str)>,
    given: Vec<String>,
}

/// Standard output, which remembers whether its reader has gone.
#[derive(Debug, Default)]
pub struct Output {
    is_closed: bool,
}

/// Arguments that the example cannot take.
#[derive(Debug)]
struct Wrong(String);

impl Arguments {
    /// Returns the argument at a place; `None` where it is missing.
    #[must_use]
    pub fn get(&self, place: usize) -> Option<&str> {
        self.given.get(place).map(String::as_str)
    }

    /// Returns the argument at a place, or what stands for it.
    #[must_use]
    pub fn or<'a>(&'a self, place: usize, missing: &'a str) -> &'a str {
        self.get(place).unwrap_or(missing)
    }

    /// Reads the argument at a place, or what stands for it.
    ///
    /// # Errors
    ///
    /// When it is none; the example ends with 2.
    pub fn parse<T: FromStr<Err: fmt::Display>>(
        &self,
        place: usize,
        missing: &str,
    ) -> anyhow::Result<T> {
        let text = self.or(place, missing);
        text.parse().map_err(|error| {
            let (name, _) = self.places[place];
            Wrong(format!("{name} is {text:?}: {error}")).into()
        })
    }
}

/// Runs an example that takes these arguments.
pub fn run(
    places: &Places,
    example: impl FnOnce(&Arguments, &mut Output) -> anyhow::Result<()>,
) -> ExitCode {
    let mut out = Output::default();
    let given = std::env::args_os().map(|argument| argument.to_string_lossy().into_owned());
    let mut given = given.collect::<Vec<_>>().into_iter();
    let name = given.next().unwrap_or_default();
    let arguments = Arguments {
        places: places.to_vec(),
        given: given.collect(),
    };
    let done = match usage(&name, places, &arguments.given) {
        Ok(Some(help)) => out.write_all(help.as_bytes()).map_err(Into::into),
        Ok(None) => example(&arguments, &mut out),
        Err(wrong) => Err(wrong.into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) if out.is_closed => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody is left to tell where this fails.
            drop(writeln!(io::stderr(), "error: {error:#}"));
            ExitCode::from(if error.is::<Wrong>() { 2 } else { 1 })
        }
    }
}

/// Returns the help where it is asked for, and an error where the arguments are wrong by their number or
/// look like options.
fn usage(name: &str, places: &Places, given: &[String]) -> Result<Option<String>, Wrong> {
    let name = name.rsplit(['/', '\\']).next().unwrap_or(name);
    let names: Vec<_> = places.iter().map(|(name, _)| *name).collect();
    let usage = format!("usage: {name} {}", names.join(" "));
    let usage = usage.trim_end();
    if given.iter().any(|text| text == "--help" || text == "-h") {
        let meanings = places
            .iter()
            .map(|(name, meaning)| format!("  {name}: {meaning}\n"));
        return Ok(Some(format!("{usage}\n{}", meanings.collect::<String>())));
    }
    if let Some(option) = given.iter().find(|text| text.starts_with("--")) {
        return Err(Wrong(format!("there is no option {option}; {usage}")));
    }
    if let Some(surplus) = given.get(places.len()) {
        return Err(Wrong(format!("{surplus:?} is one too many; {usage}")));
    }
    match places.get(given.len()) {
        Some((name, meaning)) if !name.starts_with('[') => {
            Err(Wrong(format!("name the {name}, {meaning}; {usage}")))
        }
        _ => Ok(None),
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = io::stdout().write(bytes);
        self.is_closed |=
            matches!(&written, Err(error) if error.kind() == io::ErrorKind::BrokenPipe);
        written
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stdout().flush()
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Wrong {}
