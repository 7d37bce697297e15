//! A command line with what a settings file adds: a default that what else is given makes pointless is left out
//! with a word, as it would be refused if it were typed.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::OnceLock;

use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use clap::{ArgMatches, Command};

use crate::{notice, unused};

/// The defaults of this process's command line, for what only shows once the command is at work.
static IN_USE: OnceLock<Defaults> = OnceLock::new();

/// A command line with what a settings file adds.
#[derive(Debug)]
pub(crate) struct Arguments {
    pub(super) given: Vec<OsString>,
    /// `None` where no file is named.
    pub(super) added: Option<Defaults>,
}

/// What a settings file adds to a command line.
#[derive(Debug, Clone)]
pub(super) struct Defaults {
    pub(super) file: PathBuf,
    /// How many arguments are given before them.
    pub(super) at: usize,
    pub(super) defaults: Vec<FileFlag>,
}

/// A flag of a settings file.
#[derive(Debug, Clone)]
pub(super) struct FileFlag {
    /// As the file calls it.
    pub(super) key: String,
    /// Its name of today.
    pub(super) long: String,
    /// As it would be given.
    pub(super) words: Vec<OsString>,
}

impl From<Vec<OsString>> for Arguments {
    fn from(given: Vec<OsString>) -> Self {
        Self { given, added: None }
    }
}

impl Arguments {
    /// Returns the command line as it would be typed without the file.
    #[must_use]
    pub(crate) fn line(&self) -> Vec<OsString> {
        let mut line = self.given.clone();
        if let Some(Defaults { at, defaults, .. }) = &self.added {
            let words = defaults.iter().flat_map(|default| default.words.clone());
            line.splice(*at..*at, words);
        }
        line
    }

    /// Parses the command line, without the defaults that are pointless in it, each of which is told.
    ///
    /// # Errors
    ///
    /// When it is wrong without them, too.
    pub(crate) fn parsed(&mut self, program: &Command) -> Result<ArgMatches, Error> {
        loop {
            let error = match parse(program, self.line()) {
                Ok(matches) => {
                    if let Some(added) = &self.added {
                        // Only a program that parses twice finds it set.
                        drop(IN_USE.set(added.clone()));
                    }
                    return Ok(matches);
                }
                Err(error) => error,
            };
            // One at a time, as what is left out may give another its point.
            let Some((long, why)) = self.pointless(program, &error) else {
                return Err(self.placed(error));
            };
            let Some(added) = &mut self.added else {
                return Err(error);
            };
            added.leave_out(&long, &why);
        }
    }

    /// Returns the error of a value with the place that it comes from, where that is the file.
    fn placed(&self, mut error: Error) -> Error {
        let is_of_value = matches!(
            error.kind(),
            ErrorKind::InvalidValue | ErrorKind::ValueValidation
        );
        let flag = texts(&error, ContextKind::InvalidArg).pop();
        // A flag that is given as well is not taken from the file at all.
        if let (true, Some(flag), Some(added)) = (is_of_value, flag, &self.added)
            && let Some(long) = added.of(&flag)
        {
            let place = format!(
                "{flag} (`{}` in {})",
                added.key(&long),
                added.file.display()
            );
            error.insert(ContextKind::InvalidArg, ContextValue::String(place));
        }
        error
    }

    /// Returns a default without which a command line is not wrong in this way, and what makes it pointless.
    fn pointless(&self, program: &Command, error: &Error) -> Option<(String, String)> {
        let added = self.added.as_ref()?;
        match error.kind() {
            ErrorKind::ArgumentConflict => added.conflicting(error),
            // The parser tells what is missing, and not for what.
            ErrorKind::MissingRequiredArgument => {
                let is_mended = |long: &str| {
                    let mut without = Self {
                        given: self.given.clone(),
                        added: Some(added.clone()),
                    };
                    let left = without.added.iter_mut();
                    left.for_each(|added| added.defaults.retain(|default| default.long != long));
                    let again = parse(program, without.line()).err();
                    again.is_none_or(|again| missing(&again) != missing(error))
                };
                let mut longs = added.defaults.iter().map(|default| &default.long);
                let long = longs.find(|long| is_mended(long))?;
                Some((long.clone(), format!("it needs {}", missing(error))))
            }
            _ => None,
        }
    }
}

impl Defaults {
    /// Returns the default of a conflict, and why it is pointless; `None` where the command line conflicts with
    /// itself, and where the file does.
    fn conflicting(&self, error: &Error) -> Option<(String, String)> {
        let flag = texts(error, ContextKind::InvalidArg).pop()?;
        let others = texts(error, ContextKind::PriorArg);
        if let Some(why) = texts(error, ContextKind::Custom).pop() {
            return self.of(&flag).map(|long| (long, why));
        }
        let mut typed = others.iter().filter(|other| self.of(other).is_none());
        let cannot = |other: &str| format!("it cannot be used with {other}");
        match (self.of(&flag), typed.next()) {
            (Some(long), Some(typed)) => Some((long, cannot(typed))),
            (Some(_), None) => None,
            (None, _) => {
                let mut longs = others.iter().filter_map(|other| self.of(other));
                longs.next().map(|long| (long, cannot(&flag)))
            }
        }
    }

    /// Returns the name of a flag that the file sets, of a flag as the parser shows it.
    fn of(&self, shown: &str) -> Option<String> {
        let name = shown.strip_prefix("--")?;
        let name = name.split([' ', '=']).next().unwrap_or(name);
        let mut longs = self.defaults.iter().map(|default| &default.long);
        longs.find(|long| *long == name).cloned()
    }

    /// Removes a default and says so.
    fn leave_out(&mut self, long: &str, why: &str) {
        self.tell(long, why);
        self.defaults.retain(|default| default.long != long);
    }

    /// Says that a default is left out.
    fn tell(&self, long: &str, why: &str) {
        let (file, key) = (self.file.display(), self.key(long));
        notice::say(format_args!("{file}: `{key}` is left out: {why}"));
    }

    /// Returns what the file calls a flag.
    fn key<'a>(&'a self, long: &'a str) -> &'a str {
        let mut defaults = self.defaults.iter();
        let default = defaults.find(|default| default.long == long);
        default.map_or(long, |default| &default.key)
    }
}

/// Returns whether a flag is a default of a settings file.
pub(crate) fn has(long: &str) -> bool {
    let defaults = IN_USE.get();
    defaults.is_some_and(|it| it.defaults.iter().any(|it| it.long == long))
}

/// Returns whether a flag that does nothing is a default of a settings file, and says then that it is left out.
pub(crate) fn leaves_out(long: &str, why: &str) -> bool {
    let is_default = has(long);
    if let Some(defaults) = IN_USE.get().filter(|_| is_default) {
        defaults.tell(long, why);
    }
    is_default
}

/// Parses a command line, and refuses what does nothing in it.
fn parse(program: &Command, line: Vec<OsString>) -> Result<ArgMatches, Error> {
    let matches = program.clone().try_get_matches_from(line)?;
    unused::check(program, &matches)?;
    Ok(matches)
}

/// Returns the flags that an error names as one of a kind.
fn texts(error: &Error, kind: ContextKind) -> Vec<String> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => vec![text.clone()],
        Some(ContextValue::Strings(texts)) => texts.clone(),
        _ => Vec::new(),
    }
}

/// Returns the flags that an error names as missing.
fn missing(error: &Error) -> String {
    let flags = texts(error, ContextKind::InvalidArg);
    flags
        .into_iter()
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect::<Vec<_>>()
        .join(" and ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program;

    /// A command line of words, with defaults of a file behind the command's name.
    fn arguments(command: &str, typed: &[String], file: &[(&str, String)]) -> Arguments {
        let words = command.split(' ');
        let given: Vec<OsString> = words
            .chain(typed.iter().map(String::as_str))
            .map(OsString::from)
            .collect();
        let defaults = file.iter().map(|(key, word)| FileFlag {
            key: (*key).to_owned(),
            long: (*key).to_owned(),
            words: vec![word.into()],
        });
        let added = Defaults {
            file: "kato.toml".into(),
            at: command.split(' ').count(),
            defaults: defaults.collect(),
        };
        Arguments {
            given,
            added: Some(added),
        }
    }

    /// Parses a line whose flags of a file are written `@levels=5`; returns those that were left out, or the error.
    fn left_out(line: &str) -> Result<Vec<String>, String> {
        let words: Vec<&str> = line.split(' ').collect();
        let n_words = words
            .iter()
            .position(|word| word.starts_with(['-', '@']))
            .unwrap();
        let (command, flags) = words.split_at(n_words);
        let is_of_file = |flag: &&str| flag.starts_with('@');
        let file = flags
            .iter()
            .copied()
            .filter(is_of_file)
            .map(|flag| flag.trim_start_matches('@'));
        let file: Vec<_> = file
            .map(|flag| (flag.split('=').next().unwrap(), format!("--{flag}")))
            .collect();
        let typed = flags
            .iter()
            .filter(|flag| !is_of_file(flag))
            .map(|&flag| flag.to_owned());
        let typed: Vec<String> = typed.collect();
        let mut arguments = arguments(&command.join(" "), &typed, &file);
        let parsed = arguments.parsed(&program::command());
        parsed.map_err(|error| error.to_string())?;
        let kept = arguments.added.unwrap().defaults;
        let is_kept = |key: &str| kept.iter().any(|default| default.key == key);
        let gone = file.iter().filter(|(key, _)| !is_kept(key));
        Ok(gone.map(|(key, _)| (*key).to_owned()).collect())
    }

    #[test]
    fn a_default_without_a_point_is_left_out_and_refused_if_it_is_typed() {
        for (line, gone) in [
            ("kato estimate @levels=5,7 --from-run=kb", "levels"),
            ("kato estimate @from-run=kb --levels=5,7", "from-run"),
            ("kato estimate @for=3s --max-documents=8", "for"),
            ("kato estimate @compact --engine=mongodb", "compact"),
            ("kato estimate @workers=3 --engine=mongodb", "workers"),
            ("kato estimate @memory=1GiB --engine=stock-kato", "memory"),
            (
                "kato train @min-paragraph-chars=3 --whole-document",
                "min-paragraph-chars",
            ),
            (
                "kato train @whole-document --min-paragraph-chars=3",
                "whole-document",
            ),
            ("kato train @kb=here --backend=kato:http://a", "kb"),
            ("kato train @backend=kato:http://a --kb=here", "backend"),
            ("kato train @batch=8 --kb=here", "batch"),
            ("kato train @index --backend=mongodb://a", "index"),
            ("kato train @sharded --backend=kato:http://a", "sharded"),
            ("kato train @max-errors=3 --quiet", "max-errors"),
            ("kato train @epoch=1 --quiet", "epoch"),
            ("kato train @resume --no-index", ""),
            (
                "kato plan @catalogue=a.toml --backend=mongodb://a",
                "catalogue",
            ),
            (
                "kato plan @occurrences --backend=mongodb://a",
                "occurrences",
            ),
            ("kato plan @window=8MiB --quiet", "window"),
            ("kato generate @top-k=5 --text=a", "top-k"),
            (
                "kato generate @temperature=0.5 --text=a --strategy=beam",
                "temperature",
            ),
            (
                "kato generate @top-p=0.5 --text=a --strategy=sample",
                "top-p",
            ),
            ("kato analyze @run=r --kb=here", "run"),
            ("kato analyze @go-back --kb=mongodb://a --run=r", "go-back"),
            ("kato purge @rewrite --kb=mongodb://a --run=r", "rewrite"),
            ("kato inspect @histogram --export=a.jsonl", "histogram"),
            ("kato inspect @after=3 --json", "after"),
            ("kato serve @data=here --in-memory", "data"),
        ] {
            let gone: Vec<String> = Some(gone)
                .filter(|it| !it.is_empty())
                .map(str::to_owned)
                .into_iter()
                .collect();
            assert_eq!(left_out(line).as_ref(), Ok(&gone), "{line}");
            let typed = line.replace('@', "--");
            assert_eq!(left_out(&typed).is_err(), !gone.is_empty(), "{typed}");
        }
    }

    #[test]
    fn a_wrong_value_is_told_with_the_place_that_it_comes_from() {
        for (line, told) in [
            (
                "kato train @workers=0 --kb=kb",
                "'0' for '--workers <N|auto> (`workers` in kato.toml)': ",
            ),
            (
                "kato train @levels=5,x --kb=kb",
                "'x' for '--levels <N,…> (`levels` in kato.toml)': ",
            ),
            (
                "kato train @tail=up --kb=kb",
                "'up' for '--tail <POLICY> (`tail` in kato.toml)'\n",
            ),
            (
                "kato train @kb=kb --workers=0",
                "'0' for '--workers <N|auto>': ",
            ),
        ] {
            let error = left_out(line).unwrap_err();
            assert!(error.contains(&format!("invalid value {told}")), "{error}");
        }
    }

    #[test]
    fn a_file_that_conflicts_with_itself_is_refused() {
        for line in [
            "kato train @kb=here @backend=kato:http://a",
            "kato inspect @histogram @export=a.jsonl",
        ] {
            let error = left_out(line).unwrap_err();
            assert!(error.contains("cannot be used with"), "{error}");
        }
    }

    /// Values of which one is right for every flag.
    const VALUES: [&str; 14] = [
        "3",
        "0.5",
        "1GiB",
        "5s",
        "a.json",
        "5,7",
        "0/2",
        "embedded:a",
        "kato:http://a",
        "a=1",
        "rate=1",
        "node0",
        "http://a",
        "a",
    ];

    /// Returns a flag as it can be typed.
    fn typed(path: &str, argument: &clap::Arg, program: &Command) -> String {
        let long = argument.get_long().unwrap();
        if !argument.get_action().takes_values() {
            return format!("--{long}");
        }
        let possible = argument.get_possible_values();
        let possible = possible.iter().map(|value| value.get_name());
        let defaults = argument.get_default_values().iter();
        let defaults = defaults.filter_map(|value| value.to_str());
        let values = possible.chain(defaults).chain(VALUES);
        let mut forms = values.map(|value| format!("--{long}={value}"));
        let is_right = |form: &String| {
            let words = path.split(' ').chain([form.as_str()]);
            let kind = program
                .clone()
                .try_get_matches_from(words)
                .err()
                .map(|error| error.kind());
            !matches!(
                kind,
                Some(ErrorKind::InvalidValue | ErrorKind::ValueValidation)
            )
        };
        forms
            .find(is_right)
            .unwrap_or_else(|| format!("--{long}=3"))
    }

    fn conflicts(path: &str, command: &Command, program: &Command, tried: &mut usize) {
        for below in command.get_subcommands() {
            conflicts(
                &format!("{path} {}", below.get_name()),
                below,
                program,
                tried,
            );
        }
        let is_flag = |argument: &&clap::Arg| {
            let is_one_value = argument
                .get_num_args()
                .is_none_or(|number| number.max_values() <= 1);
            argument.get_long().is_some() && is_one_value
        };
        for argument in command.get_arguments().filter(is_flag) {
            let others = command.get_arg_conflicts_with(argument);
            for other in others.into_iter().filter(is_flag) {
                let [one, another] = [argument, other].map(|it| typed(path, it, program));
                let both = arguments(path, &[one.clone(), another.clone()], &[]).parsed(program);
                let kind = both.err().map(|error| error.kind());
                assert_eq!(
                    kind,
                    Some(ErrorKind::ArgumentConflict),
                    "{path} {one} {another}"
                );
                for (of_file, word, typed) in [(argument, &one, &another), (other, &another, &one)]
                {
                    let long = of_file.get_long().unwrap();
                    let file = [(long, word.clone())];
                    let mut mixed = arguments(path, std::slice::from_ref(typed), &file);
                    let mut alone = arguments(path, std::slice::from_ref(typed), &[]);
                    let [kind, kind_alone] = [&mut mixed, &mut alone]
                        .map(|line| line.parsed(program).err().map(|error| error.kind()));
                    assert_eq!(kind, kind_alone, "{path} {typed}, file: {word}");
                    assert!(
                        mixed.added.unwrap().defaults.is_empty(),
                        "{path} {typed}, file: {word}"
                    );
                    *tried += 1;
                }
            }
        }
    }

    #[test]
    fn of_two_flags_that_conflict_the_typed_one_counts() {
        let mut program = program::command();
        program.build();
        let mut tried = 0;
        conflicts("kato", &program.clone(), &program, &mut tried);
        assert!(tried > 100, "{tried}");
    }
}
