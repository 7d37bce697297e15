//! What is said of a command line that cannot be taken, where the parser would point elsewhere: a number
//! below 0, which looks like a flag, a flag of another command, and what this build lacks.

use std::error::Error as _;
use std::ffi::OsString;
use std::net::AddrParseError;
use std::num::{IntErrorKind, ParseFloatError, ParseIntError};

use clap::error::{ContextKind, ContextValue, Error, ErrorKind};

/// Commands and flags that not every build has, each with the feature that adds it.
const OPTIONAL: [(&str, &str, bool); 3] = [
    ("cluster", "cluster", cfg!(feature = "cluster")),
    ("--tls-certificate", "tls", cfg!(feature = "tls")),
    ("--tls-key", "tls", cfg!(feature = "tls")),
];

/// Returns the error of a command line in words about what was given.
pub(crate) fn explained(mut error: Error, program: &clap::Command, given: &[OsString]) -> Error {
    if let Some((flag, value, reason)) = unreadable_number(&error) {
        let text = format!("invalid value '{value}' for '{flag}': {reason}");
        return Error::raw(error.kind(), text).format(&mut named(program, given));
    }
    if !matches!(
        error.kind(),
        ErrorKind::UnknownArgument | ErrorKind::InvalidSubcommand
    ) {
        return error;
    }
    let unknown = [ContextKind::InvalidSubcommand, ContextKind::InvalidArg];
    let unknown = unknown.into_iter().find_map(|kind| text(&error, kind));
    let mut missing = OPTIONAL.iter().filter(|(.., is_there)| !is_there);
    if let Some((name, feature, _)) = missing.find(|(name, ..)| unknown == Some(*name)) {
        let text =
            format!("this build of kato has no {name}: build it with `--features {feature}`");
        return Error::raw(error.kind(), text).format(&mut named(program, given));
    }
    if let Some((flag, value)) = negative(&error, given) {
        let text = format!("invalid value '{value}' for '{flag}': it takes no number below 0");
        let mut command = named(program, given);
        return Error::raw(ErrorKind::InvalidValue, text).format(&mut command);
    }
    // Nobody who mistypes a flag means a value that begins with two dashes.
    error.remove(ContextKind::Suggested);
    error
}

/// Returns a flag whose value is no number that it takes, with the value and what to give: the parsers of the
/// standard library speak of digits and types.
fn unreadable_number(error: &Error) -> Option<(&str, &str, &'static str)> {
    let cause = error.source()?;
    let whole = cause
        .downcast_ref()
        .map(|error: &ParseIntError| match error.kind() {
            IntErrorKind::PosOverflow => "that is too large",
            IntErrorKind::Zero => "give a whole number from 1",
            _ => "give a whole number",
        });
    let number = cause
        .downcast_ref()
        .map(|_: &ParseFloatError| "give a number");
    let address = cause
        .downcast_ref()
        .map(|_: &AddrParseError| "give an address and a port, such as 127.0.0.1:8000");
    let (flag, value) = (
        text(error, ContextKind::InvalidArg)?,
        text(error, ContextKind::InvalidValue)?,
    );
    Some((flag, value, whole.or(number).or(address)?))
}

/// Returns what an error tells of a kind, where it is a text.
fn text(error: &Error, kind: ContextKind) -> Option<&str> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text),
        _ => None,
    }
}

/// Returns the flag that was given a number below 0, with that number.
fn negative<'a>(error: &Error, given: &'a [OsString]) -> Option<(&'a str, &'a str)> {
    let unknown = text(error, ContextKind::InvalidArg)?;
    let is_number = |text: &str| {
        let rest = text.strip_prefix('-').unwrap_or_default();
        rest.starts_with(|first: char| first.is_ascii_digit() || first == '.')
    };
    let pairs = given.iter().zip(given.iter().skip(1));
    let mut texts = pairs.filter_map(|(flag, value)| Some((flag.to_str()?, value.to_str()?)));
    texts.find(|(flag, value)| {
        flag.starts_with('-') && is_number(value) && value.starts_with(unknown)
    })
}

/// Returns the innermost command that words of a command line name.
fn named(program: &clap::Command, given: &[OsString]) -> clap::Command {
    let mut program = program.clone();
    // Fills in the names by which usage errors call a subcommand.
    program.build();
    let mut command = &program;
    let mut words = given.iter().skip(1).map(|word| word.to_string_lossy());
    while let Some(word) = words.next() {
        if has_value_behind(command, &word) {
            words.next();
        }
        command = command.find_subcommand(&*word).unwrap_or(command);
    }
    command.clone()
}

/// Returns whether a word is a flag of a command whose value is the next word.
pub(crate) fn has_value_behind(command: &clap::Command, word: &str) -> bool {
    let is_it = |argument: &&clap::Arg| match word.strip_prefix("--") {
        Some(long) => {
            let aliases = argument.get_all_aliases().unwrap_or_default();
            argument.get_long() == Some(long) || aliases.contains(&long)
        }
        None => argument.get_short().is_some_and(|short| {
            word.strip_prefix('-')
                .is_some_and(|it| it == short.to_string())
        }),
    };
    let flag = command.get_arguments().find(is_it);
    flag.is_some_and(|flag| {
        let may_stand_alone = flag.get_num_args().is_some_and(|it| it.min_values() == 0);
        flag.get_action().takes_values() && !may_stand_alone
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program;

    fn told(line: &str) -> String {
        let given: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let program = program::command();
        let error = program.clone().try_get_matches_from(&given).unwrap_err();
        explained(error, &program, &given).to_string()
    }

    #[test]
    fn a_number_below_0_is_told_with_its_flag() {
        for (line, expected) in [
            ("kato train a --levels -3", "'-3' for '--levels'"),
            ("kato train a --memory -5MB", "'-5MB' for '--memory'"),
            ("kato datasets head a -n -1", "'-1' for '-n'"),
            (
                "kato generate --text a --temperature -.5",
                "'-.5' for '--temperature'",
            ),
        ] {
            let told = told(line);
            let expected = format!("error: invalid value {expected}: it takes no number below 0\n");
            assert!(told.starts_with(&expected), "{told}");
            assert!(told.contains("Usage: kato "), "{told}");
        }
    }

    #[test]
    fn a_value_that_is_no_number_is_told_without_digits_and_types() {
        for (line, expected) in [
            (
                "kato train a --shuffle x",
                "'x' for '--shuffle <SEED>': give a whole number",
            ),
            (
                "kato train a --levels 5,,7",
                "'' for '--levels <N,…>': give a whole number",
            ),
            (
                "kato train a --batch 0",
                "'0' for '--batch <N>': give a whole number from 1",
            ),
            (
                "kato cleanup --threshold 0",
                "'0' for '--threshold <N>': give a whole number from 1",
            ),
            (
                "kato serve --data a --addr 127.0.0.1:99999",
                "'127.0.0.1:99999' for '--addr <ADDR>': give an address and a port, such as 127.0.0.1:8000",
            ),
            (
                "kato plan a --within soon",
                "'soon' for '--within <TIME>': give a time above 0, such as 90s, 30min or 24h",
            ),
            (
                "kato plan a --within 0h",
                "'0h' for '--within <TIME>': give a time above 0, such as 90s, 30min or 24h",
            ),
            (
                "kato generate --temperature hot",
                "'hot' for '--temperature <T>': give a number",
            ),
            (
                "kato cleanup --threshold 99999999999999999999",
                "'99999999999999999999' for '--threshold <N>': that is too large",
            ),
        ] {
            let told = told(line);
            let expected = format!("error: invalid value {expected}\n");
            assert!(told.starts_with(&expected), "{told}");
        }
    }

    #[test]
    fn a_flag_without_an_effect_is_refused() {
        for line in [
            "kato datasets info a --shuffle 1",
            "kato datasets info a --max-rows 3",
            "kato estimate --from-run kb --levels 5,7",
            "kato estimate --from-run kb --field body",
            "kato inspect --export a --after 3",
            "kato inspect --histogram --after 3",
            "kato train a --whole-document --min-paragraph-chars 3",
        ] {
            let told = told(line);
            assert!(told.contains(" cannot be used with"), "{told}");
        }
    }

    #[test]
    fn a_flag_is_given_once_unless_its_help_says_otherwise() {
        for line in [
            "kato train a --levels 5 --levels 7",
            "kato bench --workers 1 --workers 2",
            "kato predict --text a --text b",
            "kato train a --json --json",
        ] {
            let told = told(line);
            assert!(told.contains("cannot be used multiple times"), "{told}");
        }
        let mut commands = vec![program::command()];
        while let Some(command) = commands.pop() {
            for argument in command.get_arguments() {
                let adds_up = matches!(argument.get_action(), clap::ArgAction::Append);
                if adds_up && argument.get_long().is_some() {
                    let help = argument.get_long_help().or(argument.get_help());
                    let help = help.unwrap_or_default().to_string();
                    let (name, argument) = (command.get_name(), argument.get_id());
                    assert!(
                        help.contains("an be given several times"),
                        "{name} {argument}"
                    );
                }
            }
            commands.extend(command.get_subcommands().cloned());
        }
    }

    #[test]
    fn what_is_not_there_is_told_by_its_name() {
        for (line, expected) in [
            ("kato clustre plan", "clustre"),
            ("kato serve --data a --tls-kei=b", "--tls-kei"),
            ("kato serve --data a --tls-kei b", "--tls-kei"),
        ] {
            let error = program::command().try_get_matches_from(line.split(' '));
            let error = error.unwrap_err();
            let unknown = [ContextKind::InvalidSubcommand, ContextKind::InvalidArg];
            let mut unknown = unknown.into_iter().filter_map(|kind| text(&error, kind));
            assert_eq!(unknown.next(), Some(expected), "{line}");
        }
    }

    #[test]
    fn the_value_of_a_flag_is_not_taken_for_a_command() {
        for (line, usage) in [
            ("kato --settings train score a --bogus", "kato score "),
            (
                "kato runs --in list rename a b --bogus",
                "kato runs rename ",
            ),
            (
                "kato runs --in=list rename a b --bogus",
                "kato runs rename ",
            ),
        ] {
            // Usage alone is made from the words; what is wrong is not the point.
            let given: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let usage_told = named(&program::command(), &given)
                .render_usage()
                .to_string();
            assert!(usage_told.contains(usage), "{line}: {usage_told}");
        }
    }

    #[test]
    fn a_flag_of_another_command_is_not_taken_for_a_value() {
        let told = told("kato score a --limit 3");
        assert!(
            told.starts_with("error: unexpected argument '--limit' found\n"),
            "{told}"
        );
        assert!(!told.contains("as a value"), "{told}");
    }
}
