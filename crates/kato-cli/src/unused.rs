//! Options that do nothing with what else is given: one that was typed is refused, and a default of a settings
//! file is left out with a word.

mod rules;

use std::fmt::Display;

use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command};

use crate::settings;

/// An option that does nothing, by its id, and why.
#[derive(Debug)]
pub(crate) struct Unused {
    pub(crate) id: &'static str,
    pub(crate) why: String,
}

/// Returns an option that does nothing, unless it is not given.
pub(crate) fn unless_absent(
    matches: &ArgMatches,
    id: &'static str,
    why: impl Display,
) -> Option<Unused> {
    is_given(matches, id).then(|| Unused {
        id,
        why: why.to_string(),
    })
}

/// Returns whether a command has an option, and it was given, on the command line or by a settings file.
pub(crate) fn is_given(matches: &ArgMatches, id: &str) -> bool {
    // Asking for the source of what is not defined would panic.
    let is_known = matches.try_contains_id(id).is_ok();
    is_known && matches.value_source(id) == Some(ValueSource::CommandLine)
}

/// The command of a command line that stands last in it, by which flags are looked up.
#[derive(Debug)]
pub(crate) struct Innermost<'a> {
    pub(crate) command: Command,
    /// Its words.
    path: String,
    pub(crate) matches: &'a ArgMatches,
}

/// Returns the command that a command line names.
pub(crate) fn innermost<'a>(program: &Command, matches: &'a ArgMatches) -> Innermost<'a> {
    let mut program = program.clone();
    // Fills in the names by which usage errors call a subcommand.
    program.build();
    let (mut command, mut matches, mut path) = (&program, matches, Vec::new());
    while let Some((name, below)) = matches.subcommand() {
        let Some(found) = command.find_subcommand(name) else {
            break;
        };
        path.push(name);
        (command, matches) = (found, below);
    }
    Innermost {
        command: command.clone(),
        path: path.join(" "),
        matches,
    }
}

impl Innermost<'_> {
    /// Returns whether options that commands share are among those of this one. Matches do not tell: outside of
    /// debug builds they take every id for one that is defined.
    fn shares<A: Args>(&self) -> bool {
        let mut groups = self.command.get_groups();
        let id = A::group_id();
        groups.any(|group| Some(group.get_id()) == id.as_ref())
    }
}

/// Refuses an option that does nothing, as far as a command line alone shows it.
///
/// # Errors
///
/// A wrong usage, which tells the option as [`ContextKind::InvalidArg`] and the reason as [`ContextKind::Custom`].
pub(crate) fn check(program: &Command, matches: &ArgMatches) -> Result<(), Error> {
    let innermost = innermost(program, matches);
    let Some(unused) = rules::find(&innermost) else {
        return Ok(());
    };
    let command = innermost.command;
    let mut arguments = command.get_arguments();
    let argument = arguments.find(|argument| argument.get_id() == unused.id);
    let long = argument.and_then(clap::Arg::get_long).unwrap_or(unused.id);
    let why = unused.why;
    let text = format!("--{long} has no effect: {why}");
    let error = Error::raw(ErrorKind::ArgumentConflict, text);
    let mut error = error.format(&mut command.clone());
    let flag = ContextValue::String(format!("--{long}"));
    error.insert(ContextKind::InvalidArg, flag);
    error.insert(ContextKind::Custom, ContextValue::String(why));
    Err(error)
}

/// Refuses an option that does nothing, which only shows once the command is at work.
///
/// # Errors
///
/// A wrong usage, unless a settings file has it.
pub(crate) fn refuse(flag: &str, why: &str) -> anyhow::Result<()> {
    if !settings::leaves_out(flag, why) {
        crate::exit::bail_as!(Usage, "--{flag} has no effect: {why}");
    }
    Ok(())
}
