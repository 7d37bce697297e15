//! A TOML file of flags: what it says counts as if it were given, unless the command line says
//! otherwise, or makes it pointless.

mod arguments;

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use clap::ArgMatches;
use clap::error::{ContextKind, ContextValue};
use clap::parser::ValueSource;
use toml::{Table, Value};

pub(crate) use self::arguments::{Arguments, has, leaves_out};
use self::arguments::{Defaults, FileFlag};
use crate::exit::bail_as;
use crate::text_file::read_text;

/// Environment variable that names the file.
pub(crate) const VARIABLE: &str = "KATO_SETTINGS";

/// Id of the flag that names the file.
const FLAG: &str = "settings";

/// Returns the arguments with those that a settings file adds, if one is named.
///
/// # Errors
///
/// When the file cannot be read, or names a command or flag that there is not.
pub(crate) fn merged(program: &clap::Command, given: Vec<OsString>) -> Result<Arguments> {
    let is_named = |argument: &OsString| {
        let text = argument.to_string_lossy();
        text == "--settings" || text.starts_with("--settings=")
    };
    // Without a file, which is the usual case, the arguments are parsed once only.
    if std::env::var_os(VARIABLE).is_none() && !given.iter().any(is_named) {
        return Ok(given.into());
    }
    // What is missing now may be in the file: errors are for the second reading.
    let lenient = program.clone().ignore_errors(true);
    // Help and version come here, too: the second reading answers them.
    let Ok(matches) = lenient.try_get_matches_from(&given) else {
        return Ok(given.into());
    };
    let Some(file) = matches.get_one::<PathBuf>(FLAG) else {
        return Ok(given.into());
    };
    let named = match matches.value_source(FLAG) {
        Some(ValueSource::EnvVariable) => format!("{VARIABLE}={}", file.display()),
        _ => format!("--settings {}", file.display()),
    };
    let text = read_text(file).with_context(|| format!("{named} cannot be read"))?;
    let table: Result<Table, toml::de::Error> = text.parse();
    // Without the excerpt, which takes several lines.
    let table = table.map_err(|error| {
        let before = error.span().and_then(|span| text.get(..span.start));
        let line = 1 + before.map_or(0, |before| before.matches('\n').count());
        let what = error.message();
        anyhow!("{named} is no TOML, line {line}: {what}")
    })?;
    Settings { file, program }.merge(&table, &matches, given)
}

/// A settings file and the program that it is for.
struct Settings<'a> {
    file: &'a Path,
    program: &'a clap::Command,
}

impl Settings<'_> {
    /// Adds to the arguments what the tables of the commands on the command line set.
    fn merge(
        &self,
        table: &Table,
        matches: &ArgMatches,
        given: Vec<OsString>,
    ) -> Result<Arguments> {
        self.check(table, self.program, &[])?;
        let (mut command, mut table, mut matches) = (self.program, table, matches);
        // The program's own name.
        let mut at = 1;
        let mut with_value = flags_with_value(command);
        let mut added = arguments(command, table, matches);
        while let Some((name, below)) = matches.subcommand() {
            // All that is added goes behind the name found last. That is right for flags of the
            // outer commands as well, because they are global.
            at += position(&given[at..], &with_value, name);
            let Some(found) = command.find_subcommand(name) else {
                break;
            };
            // Beside those of the outer commands, which are global.
            with_value.extend(flags_with_value(found));
            let empty = Table::new();
            let settings = table.get(name).and_then(Value::as_table);
            added.extend(arguments(found, settings.unwrap_or(&empty), below));
            // No table, so there is none for a command below it either.
            let Some(settings) = settings else { break };
            (command, table, matches) = (found, settings, below);
        }
        // Behind the command's name, and so before a `--` that would make values of them.
        let (file, defaults) = (self.file.to_owned(), added);
        let added = Some(Defaults { file, at, defaults });
        Ok(Arguments { given, added })
    }

    /// Finds mistakes in all of the file, also where another command is given.
    fn check(&self, table: &Table, command: &clap::Command, path: &[&str]) -> Result<()> {
        let place = match path {
            [] => "outside of all tables".to_owned(),
            path => format!("in [{}]", path.join(".")),
        };
        for (key, value) in table {
            if let (Value::Table(table), Some(below)) = (value, command.find_subcommand(key)) {
                self.check(table, below, &[path, &[key]].concat())?;
                continue;
            }
            if value.is_table() {
                let table = [path, &[key]].concat().join(".");
                let commands: Vec<_> = command
                    .get_subcommands()
                    .map(clap::Command::get_name)
                    .collect();
                bail_as!(
                    Usage,
                    "{}: there is no command for the table [{table}]{}",
                    self.file.display(),
                    meant(command, key, &commands)
                );
            }
            let is_named = |argument: &&clap::Arg| longs(argument).any(|long| long == key);
            let Some(flag) = command.get_arguments().filter(is_flag).find(is_named) else {
                let current = command.get_arguments().filter(is_flag);
                let known: BTreeSet<_> = current.filter_map(clap::Arg::get_long).collect();
                let known: Vec<_> = known.into_iter().collect();
                bail_as!(
                    Usage,
                    "{}: `{key}` {place} is no flag{}",
                    self.file.display(),
                    meant(command, &format!("--{key}"), &known)
                );
            };
            // One value is a list of one.
            let scalars = value
                .as_array()
                .map_or(std::slice::from_ref(value), Vec::as_slice);
            if !scalars.iter().all(is_scalar) {
                bail_as!(
                    Usage,
                    "{}: `{key}` {place} must be a text, a number, true or false, or a list of them",
                    self.file.display()
                );
            }
            if let Some(kind) = other_kind(flag, scalars) {
                bail_as!(Usage, "{}: `{key}` {place} {kind}", self.file.display());
            }
        }
        Ok(())
    }
}

/// Returns what a word was probably meant to be, the name of a flag or command, or else all that there are.
fn meant(command: &clap::Command, word: &str, known: &[&str]) -> String {
    // The parser knows the nearest names, as it tells them of a command line.
    let parsed = command.clone().no_binary_name(true);
    let error = parsed.try_get_matches_from([word]).err();
    let suggested = error.as_ref().and_then(|error| {
        let kinds = [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg];
        kinds.into_iter().find_map(|kind| error.get(kind))
    });
    match suggested {
        Some(ContextValue::String(name)) => format!(": is it {}?", name.trim_start_matches('-')),
        Some(ContextValue::Strings(names)) if !names.is_empty() => {
            format!(": is it {}?", names.join(" or "))
        }
        _ if known.is_empty() => String::new(),
        _ => format!(": there are {}", known.join(", ")),
    }
}

/// Whether a file may set an argument: flags are set, but those about the program itself.
fn is_flag(argument: &&clap::Arg) -> bool {
    let long = argument.get_long();
    long.is_some_and(|long| !["help", "version", FLAG].contains(&long))
}

/// Returns the names of a flag, the former ones included.
fn longs(argument: &clap::Arg) -> impl Iterator<Item = &str> {
    let former = argument.get_all_aliases().unwrap_or_default();
    argument.get_long().into_iter().chain(former)
}

/// Returns the arguments for what a table sets and the command line does not.
fn arguments(command: &clap::Command, table: &Table, matches: &ArgMatches) -> Vec<FileFlag> {
    let find = |long: &str| {
        let mut arguments = command.get_arguments();
        arguments.find(|&argument| longs(argument).any(|name| name == long))
    };
    let is_given = |long: &str| {
        find(long).is_some_and(|argument| {
            let id = argument.get_id().as_str();
            // Asking for the source of what is not defined would panic.
            let is_known = matches.try_contains_id(id).is_ok();
            is_known && matches.value_source(id) == Some(ValueSource::CommandLine)
        })
    };
    let is_list = |key: &str| find(key).is_some_and(|it| it.get_value_delimiter().is_some());
    let takes_several = |key: &str| {
        let number = find(key).and_then(clap::Arg::get_num_args);
        number.is_some_and(|number| number.min_values() > 1)
    };
    let settings = table
        .iter()
        .filter(|(key, value)| !value.is_table() && !is_given(key));
    let words = |key: &str, value: &Value| -> Vec<OsString> {
        match value {
            Value::Array(values) if is_list(key) && !values.is_empty() => {
                let texts = values.iter().map(text);
                vec![format!("--{key}={}", texts.collect::<Vec<_>>().join(",")).into()]
            }
            // A flag that takes several at once is given once, and `=` would give it one.
            Value::Array(values) if takes_several(key) && !values.is_empty() => {
                let flag = OsString::from(format!("--{key}"));
                let texts = values.iter().map(|value| text(value).into());
                [flag].into_iter().chain(texts).collect()
            }
            Value::Array(values) => values
                .iter()
                .filter_map(|value| argument(key, value))
                .collect(),
            value => Vec::from_iter(argument(key, value)),
        }
    };
    settings
        .map(|(key, value)| FileFlag {
            key: key.clone(),
            long: find(key)
                .and_then(clap::Arg::get_long)
                .unwrap_or(key)
                .to_owned(),
            words: words(key, value),
        })
        .collect()
}

/// Returns one setting as an argument; `None` for a switch that is off.
fn argument(key: &str, value: &Value) -> Option<OsString> {
    Some(OsString::from(match value {
        Value::Boolean(true) => format!("--{key}"),
        // A switch has no form that turns it off.
        Value::Boolean(false) => return None,
        // With `=`, so that a value that begins with a dash is not taken for a flag.
        value => format!("--{key}={}", text(value)),
    }))
}

/// Returns a value as it would be typed.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

/// Returns whether a value can stand on a command line.
fn is_scalar(value: &Value) -> bool {
    matches!(
        value,
        Value::String(_) | Value::Integer(_) | Value::Float(_) | Value::Boolean(_)
    )
}

/// Returns what a flag takes, where a file sets it to something else: a switch that is neither on nor off, or
/// a flag with a value that is.
fn other_kind(flag: &clap::Arg, values: &[Value]) -> Option<&'static str> {
    let n_switched = values.iter().filter(|value| value.is_bool()).count();
    match flag.get_action().takes_values() {
        false if n_switched < values.len() => Some("is a switch: write true or false"),
        true if n_switched > 0 => Some("takes a value: true and false are none"),
        _ => None,
    }
}

/// Returns the flags of a command that are followed by a value of their own.
fn flags_with_value(command: &clap::Command) -> BTreeSet<OsString> {
    let arguments = command.get_arguments();
    let with_value = arguments.filter(|argument| argument.get_action().takes_values());
    with_value
        .flat_map(|argument| {
            let long = argument.get_long().map(|long| format!("--{long}"));
            let short = argument.get_short().map(|short| format!("-{short}"));
            long.into_iter().chain(short).map(OsString::from)
        })
        .collect()
}

/// Returns how many arguments there are up to a command's name, with it.
fn position(arguments: &[OsString], with_value: &BTreeSet<OsString>, name: &str) -> usize {
    // A flag's value could be the name of a command as well.
    let mut is_value = false;
    let found = arguments.iter().position(|argument| {
        let is_name = !is_value && argument == OsStr::new(name);
        is_value = !is_value && with_value.contains(argument);
        is_name
    });
    found.map_or(arguments.len(), |at| at + 1)
}

#[cfg(test)]
mod tests {
    use clap::error::ErrorKind::{InvalidValue, ValueValidation, WrongNumberOfValues};
    use clap::{Arg, ArgAction, Command};

    use super::*;

    fn program() -> Command {
        let train = Command::new("train")
            .arg(Arg::new("source").action(ArgAction::Append))
            .arg(Arg::new("kb").long("kb").required(true))
            .arg(
                Arg::new("levels")
                    .long("levels")
                    .alias("layers")
                    .value_delimiter(',')
                    .action(ArgAction::Set),
            )
            .arg(Arg::new("stop").long("stop").action(ArgAction::Append))
            .arg(Arg::new("compare").long("compare").num_args(2))
            .arg(Arg::new("quiet").long("quiet").action(ArgAction::SetTrue));
        let list = Command::new("list").arg(Arg::new("rate").long("rate"));
        Command::new("kato")
            .arg(
                Arg::new(FLAG)
                    .long("settings")
                    .global(true)
                    .value_parser(clap::value_parser!(PathBuf)),
            )
            .arg(Arg::new("log").long("log").global(true))
            .subcommand(train)
            .subcommand(
                Command::new("datasets")
                    .arg(Arg::new("in").long("in").short('i').global(true))
                    .subcommand(list),
            )
    }

    fn check(settings: &str, given: &str) -> Result<String> {
        let dir = tempfile::tempdir()?;
        let file = dir.path().join("kato.toml");
        std::fs::write(&file, settings)?;
        let given = given.split(' ').map(|argument| match argument {
            "FILE" => file.clone().into_os_string(),
            argument => argument.into(),
        });
        let merged = merged(&program(), given.collect())?.line();
        let texts = merged.iter().map(|argument| match argument {
            argument if argument == file.as_os_str() => "FILE".to_owned(),
            argument => argument.to_string_lossy().into_owned(),
        });
        Ok(texts.collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn a_file_adds_the_flags_that_are_not_given() -> Result<()> {
        let settings = r#"
            log = "json"
            [train]
            kb = "here"
            levels = [5, 7]
            stop = ["a", "b"]
            quiet = true
            [datasets.list]
            rate = 1.5
        "#;
        assert_eq!(
            check(settings, "kato --settings FILE train text -- --odd")?,
            "kato --settings FILE train --log=json --kb=here --levels=5,7 --quiet --stop=a --stop=b text -- --odd"
        );
        assert_eq!(
            check(settings, "kato --log text train --kb there --settings FILE")?,
            "kato --log text train --levels=5,7 --quiet --stop=a --stop=b --kb there --settings FILE"
        );
        let nothing = "[train]\nkb = \"here\"\nlevels = []";
        assert_eq!(
            check(nothing, "kato train --settings FILE")?,
            "kato train --kb=here --settings FILE"
        );
        assert_eq!(
            check(settings, "kato datasets list --settings FILE")?,
            "kato datasets list --log=json --rate=1.5 --settings FILE"
        );
        // Former names of a flag are names of it.
        assert_eq!(
            check("[train]\nlayers = 5", "kato train text --settings FILE")?,
            "kato train --layers=5 text --settings FILE"
        );
        let given = "kato train text --levels 3 --settings FILE";
        assert_eq!(check("[train]\nlayers = 5", given)?, given);
        // The value of a flag may be what a command is called.
        for flag in ["--in", "-i"] {
            assert_eq!(
                check(
                    settings,
                    &format!("kato datasets {flag} list list --settings FILE")
                )?,
                format!("kato datasets {flag} list list --log=json --rate=1.5 --settings FILE")
            );
        }
        Ok(())
    }

    /// Finds the flags that take several values, with the names of their commands.
    fn of_several(command: &Command, path: &[String], found: &mut Vec<(Vec<String>, clap::Arg)>) {
        for below in command.get_subcommands() {
            let path = [path, &[below.get_name().to_owned()]].concat();
            of_several(below, &path, found);
        }
        let takes_several = |argument: &&clap::Arg| {
            let number = argument.get_num_args();
            matches!(argument.get_action(), ArgAction::Append)
                || argument.get_value_delimiter().is_some()
                || number.is_some_and(|number| number.max_values() > 1)
        };
        let flags = command.get_arguments().filter(is_flag);
        let several = flags.filter(takes_several);
        found.extend(several.map(|flag| (path.to_vec(), flag.clone())));
    }

    #[test]
    fn every_flag_that_takes_several_values_can_be_a_list() -> Result<()> {
        let program = crate::program::command();
        let mut built = program.clone();
        built.build();
        let mut found = Vec::new();
        of_several(&built, &[], &mut found);
        let dir = tempfile::tempdir()?;
        let file = dir.path().join("kato.toml");
        for (path, flag) in &found {
            let long = flag.get_long().unwrap_or_default();
            let at = path.join(" ");
            // Two values that the flag takes: the parser says which these are.
            let taken = flag.get_possible_values();
            let taken = taken.iter().map(clap::builder::PossibleValue::get_name);
            let defaults = flag.get_default_values().iter();
            let defaults = defaults.filter_map(|value| value.to_str()?.split(',').next());
            let others = ["3", "1GiB", "a=1", "rate=1", "node0", "b.json"];
            let tried = taken.chain(defaults).chain(others);
            let list = |values: &[&str]| -> Result<(Option<clap::error::ErrorKind>, Vec<String>)> {
                let table = at.replace(' ', ".");
                std::fs::write(&file, format!("[{table}]\n{long} = {values:?}\n"))?;
                let line = ["kato"].into_iter().chain(path.iter().map(String::as_str));
                let line = line.map(OsString::from);
                let line = line.chain(["--settings".into(), file.clone().into_os_string()]);
                let line = merged(&program, line.collect())?.line();
                let parsed = program.clone().ignore_errors(true);
                let mut matches = parsed.try_get_matches_from(&line)?;
                let error = program.clone().try_get_matches_from(&line).err();
                while let Some((_, below)) = matches.remove_subcommand() {
                    matches = below;
                }
                let values = matches.get_raw(flag.get_id().as_str());
                let values = values.into_iter().flatten();
                let values = values.map(|value| value.to_string_lossy().into_owned());
                Ok((error.map(|error| error.kind()), values.collect()))
            };
            let mut is_taken = false;
            for value in tried {
                let (error, values) = list(&[value, value])?;
                is_taken |= values == [value, value]
                    && !matches!(
                        error,
                        Some(InvalidValue | ValueValidation | WrongNumberOfValues)
                    );
            }
            assert!(is_taken, "{at} --{long}");
        }
        let named = |name: &str| found.iter().any(|(_, flag)| flag.get_long() == Some(name));
        assert!(found.len() > 15, "{}", found.len());
        assert!(["compare", "levels", "stop"].into_iter().all(named));
        Ok(())
    }

    #[test]
    fn without_a_file_nothing_changes() -> Result<()> {
        assert_eq!(check("", "kato train text")?, "kato train text");
        Ok(())
    }

    #[test]
    fn a_flag_that_takes_several_values_at_once_is_given_once() -> Result<()> {
        assert_eq!(
            check(
                "[train]\ncompare = [\"a\", \"b\"]\nkb = \"here\"",
                "kato train --settings FILE"
            )?,
            "kato train --compare a b --kb=here --settings FILE"
        );
        Ok(())
    }

    #[test]
    fn mistakes_are_named() {
        for (settings, message) in [
            (
                "[train]\nknowledge = 1",
                "`knowledge` in [train] is no flag: there are compare, kb, levels, quiet, stop",
            ),
            (
                "[train]\nquit = true",
                "`quit` in [train] is no flag: is it quiet?",
            ),
            (
                "[train2]\nkb = 1",
                "there is no command for the table [train2]: is it train?",
            ),
            (
                "[fetch]\nkb = 1",
                "there is no command for the table [fetch]: there are train, datasets",
            ),
            (
                "[train.list]\nkb = 1",
                "there is no command for the table [train.list]",
            ),
            (
                "learn = 1",
                "`learn` outside of all tables is no flag: there are log",
            ),
            ("[train]\nkb = 1979-05-27", "`kb` in [train] must be a text"),
            (
                "[train]\nquiet = \"yes\"",
                "`quiet` in [train] is a switch: write true or false",
            ),
            (
                "[train]\nkb = false",
                "`kb` in [train] takes a value: true and false are none",
            ),
            ("[train", "is no TOML, line 1: "),
        ] {
            let error = check(settings, "kato train --settings FILE").unwrap_err();
            assert!(format!("{error:#}").contains(message), "{error:#}");
        }
    }
}
