//! Former names of flags: each is understood for one release, with a word of the one that came after it.

use std::ffi::OsString;

use clap::{Arg, Command};

use crate::notice::say;
use crate::usage::has_value_behind;

/// Says on standard error which flags of a command line have another name now.
pub(crate) fn tell_former(program: &Command, given: &[OsString]) {
    for (former, flag) in former(program, given) {
        say(format_args!(
            "--{former} is called --{flag} now; the former name goes with the next release"
        ));
    }
}

/// Returns former names in a command line, each with the one of today.
fn former<'a>(mut command: &'a Command, given: &'a [OsString]) -> Vec<(&'a str, &'a str)> {
    let mut found = Vec::new();
    // What is no text is a value, and stays in its place.
    let texts = given.iter().skip(1).map(|text| text.to_str().unwrap_or(""));
    let mut texts = texts.take_while(|text| *text != "--");
    while let Some(text) = texts.next() {
        if has_value_behind(command, text) {
            texts.next();
        }
        if let Some(flag) = text.strip_prefix("--") {
            let name = flag.split('=').next().unwrap_or(flag);
            let mut arguments = command.get_arguments();
            let today = arguments.find(|argument| is_former(argument, name));
            found.extend(today.and_then(Arg::get_long).map(|today| (name, today)));
        } else if let Some(below) = command.find_subcommand(text) {
            command = below;
        }
    }
    found
}

/// Returns whether a flag had a name that help no longer shows.
fn is_former(argument: &Arg, name: &str) -> bool {
    let has = |names: Option<Vec<&str>>| names.unwrap_or_default().contains(&name);
    has(argument.get_all_aliases()) && !has(argument.get_visible_aliases())
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use crate::program;

    /// The contributors' table of names: each flag with the forms of its value, and what it is not called.
    const TABLE: &str = include_str!("../../../CONTRIBUTING.md");

    fn told(line: &str) -> Vec<(String, String)> {
        let given: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let program = program::command();
        let found = former(&program, &given);
        let owned = found.into_iter().map(|(a, b)| (a.to_owned(), b.to_owned()));
        owned.collect()
    }

    fn renamed(former: &str, flag: &str) -> Vec<(String, String)> {
        vec![(former.to_owned(), flag.to_owned())]
    }

    #[test]
    fn a_former_name_is_told_with_the_one_of_today() {
        let today = renamed("max-samples", "max-documents");
        assert_eq!(told("kato train --max-samples 5"), today);
        assert_eq!(told("kato train a.txt --max-samples=5"), today);
        assert!(told("kato train --max-documents 5").is_empty());
        // Nor what has two names, or stands behind the flags.
        assert!(told("kato serve --memory 1GiB").is_empty());
        assert!(told("kato train -- --max-samples").is_empty());
        // A value names no command, whatever its word.
        assert_eq!(told("kato --settings serve train --max-samples 5"), today);
    }

    /// Finds flags that the help of a command's flags names and does not show, but for those of other commands,
    /// which stand in backticks with the command.
    fn names_hidden(command: &Command, path: &str, faults: &mut Vec<String>) {
        let visible = || command.get_arguments().filter(|arg| !arg.is_hide_set());
        let aliases = visible().filter_map(Arg::get_visible_aliases).flatten();
        let shown: BTreeSet<&str> = visible().filter_map(Arg::get_long).chain(aliases).collect();
        let of_arguments = visible().filter_map(|argument| {
            let help = argument.get_long_help().or_else(|| argument.get_help())?;
            Some((argument.get_id().as_str(), help.to_string()))
        });
        for (place, help) in of_arguments {
            let own = help.split('`').enumerate();
            let own = own.filter(|(at, text)| at % 2 == 0 || text.starts_with("--"));
            let words =
                own.flat_map(|(_, text)| text.split(|c: char| c.is_whitespace() || c == '('));
            for word in words.filter_map(|word| word.strip_prefix("--")) {
                let name = word
                    .split(|c: char| !c.is_alphanumeric() && c != '-')
                    .next();
                let name = name.unwrap_or_default().trim_end_matches('-');
                if !shown.contains(name) {
                    faults.push(format!("{path}, {place}: --{name}"));
                }
            }
        }
        for below in command.get_subcommands() {
            names_hidden(below, &format!("{path} {}", below.get_name()), faults);
        }
    }

    #[test]
    fn help_names_no_flag_that_the_command_does_not_show() {
        let mut program = program::command();
        program.build();
        let mut faults = Vec::new();
        names_hidden(&program, "kato", &mut faults);
        assert!(faults.is_empty(), "{}", faults.join("\n"));
    }

    /// Returns the flags of all commands with the forms of their values, and where each form is.
    fn forms() -> BTreeMap<String, BTreeMap<String, Vec<String>>> {
        fn visit(command: &Command, forms: &mut BTreeMap<String, BTreeMap<String, Vec<String>>>) {
            for argument in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
                let Some(long) = argument.get_long() else {
                    continue;
                };
                let names = argument.get_value_names().unwrap_or_default();
                let takes_value = argument.get_action().takes_values();
                let form = match takes_value {
                    true => names.join(" "),
                    false => String::new(),
                };
                let places = forms.entry(long.to_owned()).or_default();
                let place = command.get_name().to_owned();
                places.entry(form).or_default().push(place);
            }
            for below in command.get_subcommands() {
                visit(below, forms);
            }
        }
        let mut forms = BTreeMap::new();
        visit(&program::command(), &mut forms);
        forms
    }

    /// Returns the rows of the table: flags with the forms that they may have, and names that are not used.
    fn rows() -> (BTreeMap<String, BTreeSet<String>>, BTreeSet<String>) {
        let table = TABLE.split("| thing | flag | not |").nth(1).unwrap();
        let rows = table
            .lines()
            .skip(2)
            .take_while(|line| line.starts_with('|'));
        let (mut flags, mut unused) = (BTreeMap::new(), BTreeSet::new());
        for row in rows {
            let row = row.replace("\\|", "\u{1}");
            let cells: Vec<&str> = row.split('|').collect();
            for span in cells[2].split('`').skip(1).step_by(2) {
                let span = span.replace('\u{1}', "|");
                let (flag, form) = span.split_once(' ').unwrap_or((&span, ""));
                let flag = flag.trim_start_matches("--").to_owned();
                let forms: &mut BTreeSet<String> = flags.entry(flag).or_default();
                forms.insert(form.to_owned());
            }
            let names = cells[3].split('`').skip(1).step_by(2);
            unused.extend(names.map(str::to_owned));
        }
        assert!(flags.len() > 10 && unused.len() > 10, "{table}");
        (flags, unused)
    }

    #[test]
    fn one_thing_has_one_name_in_all_commands() {
        let (flags, unused) = rows();
        let mut faults = Vec::new();
        for (flag, forms) in forms() {
            if unused.contains(&flag) {
                faults.push(format!("--{flag} has another name: {forms:?}"));
            }
            match flags.get(&flag) {
                Some(told) => {
                    let others = forms.iter().filter(|(form, _)| !told.contains(*form));
                    faults.extend(others.map(|other| format!("--{flag} is {told:?}: {other:?}")));
                }
                None if forms.len() > 1 => {
                    faults.push(format!("--{flag} has several forms: {forms:?}"));
                }
                None => {}
            }
        }
        assert!(faults.is_empty(), "{}", faults.join("\n"));
    }
}
