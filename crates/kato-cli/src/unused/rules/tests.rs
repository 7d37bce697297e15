//! Every command with every option alone: what the rules refuse, and nothing else.

use clap::error::{Error, ErrorKind};
use clap::{Arg, Command};

use crate::program;
use crate::unused::Innermost;

/// Options that do nothing alone, by command: each is for another option, or for another kind of place.
const ALONE: [(&str, &[&str]); 16] = [
    ("analyze", &["limit", "run"]),
    ("cleanup", &["run"]),
    ("cluster diff", &["generation"]),
    ("cluster extend", &["epoch", "generation", "window"]),
    ("cluster forecast", &["generation", "store"]),
    ("cluster gc", &["generation"]),
    ("cluster learn", ORDER),
    ("cluster plan", &["epoch", "generation", "window"]),
    ("datasets head", ORDER),
    ("datasets stats", ORDER),
    (
        "generate",
        &["seed", "temperature", "top-k", "top-p", "width"],
    ),
    ("history plot", &["json"]),
    ("plan", ORDER),
    ("purge", &["run"]),
    ("retire", &["run"]),
    (
        "train",
        &[
            "allow-existing-patterns",
            "batch",
            "check-interval",
            "compare-all",
            "connections",
            "epoch",
            "patience",
            "run",
            "settle",
            "sharded",
            "state",
            "timeout",
            "token-file",
            "torn-learns",
            "window",
        ],
    ),
];

/// What an order that is not shuffled has no use for.
const ORDER: &[&str] = &["epoch", "window"];

/// Values of which every option takes one.
const VALUES: [&str; 23] = [
    "1",
    "0.5",
    "2,3",
    "name",
    "8",
    "info",
    "chunks",
    "simple",
    "work-stealing",
    "1/2",
    "1MB",
    "1h",
    "{}",
    "[[]]",
    "a.html",
    "mongodb://h",
    "http://h",
    "rate=1",
    "3.10",
    "127.0.0.1:8000",
    "embedded:1",
    "4,4",
    "4fcced76b3ddc506df362b9a8c040a592279b586",
];

/// Commands that have none below them, each with its words.
fn commands() -> Vec<(String, Command)> {
    let mut program = program::command();
    program.build();
    let (mut found, mut left) = (Vec::new(), vec![(String::new(), program)]);
    while let Some((words, command)) = left.pop() {
        let named = command
            .get_subcommands()
            .filter(|it| it.get_name() != "help");
        for below in named {
            let words = format!("{words} {}", below.get_name());
            match below.has_subcommands() {
                true => left.push((words, below.clone())),
                false => found.push((words.trim().to_owned(), below.clone())),
            }
        }
    }
    found
}

/// Returns the words that give an argument under a name, with a value that it takes.
fn given(command: &Command, argument: &Arg, name: Option<&str>) -> Vec<String> {
    let flag: Vec<String> = name.map(|name| format!("--{name}")).into_iter().collect();
    if !argument.get_action().takes_values() {
        return flag;
    }
    let possible = argument.get_possible_values();
    let possible = possible.iter().map(|value| value.get_name().to_owned());
    let values = possible.chain(VALUES.map(str::to_owned));
    let mut lines = values.map(|value| [&flag[..], &[value]].concat());
    let is_taken = |line: &Vec<String>| {
        let refused = parsed(command, line).err().map(|error| error.kind());
        !matches!(
            refused,
            Some(ErrorKind::ValueValidation | ErrorKind::InvalidValue)
        )
    };
    let taken = lines.find(is_taken);
    taken.unwrap_or_else(|| panic!("{} {flag:?} takes no value", command.get_name()))
}

fn parsed(command: &Command, line: &[String]) -> Result<clap::ArgMatches, Error> {
    let words = [&[command.get_name().to_owned()][..], line].concat();
    command.clone().try_get_matches_from(words)
}

/// Returns the words without which a command takes no line, beside one of its options.
fn needed(command: &Command, beside: &Arg) -> Vec<String> {
    let groups = command.get_groups().filter(|group| group.is_required_set());
    let groups = groups.filter(|group| !group.get_args().any(|id| id == beside.get_id()));
    let groups = groups.filter_map(|group| {
        let first = group.get_args().next()?;
        let mut arguments = command.get_arguments();
        arguments.find(|argument| argument.get_id() == first)
    });
    let arguments = command
        .get_arguments()
        .filter(|argument| argument.is_required_set());
    let arguments = arguments.filter(|argument| argument.get_id() != beside.get_id());
    let words = arguments.chain(groups);
    words
        .flat_map(|argument| given(command, argument, argument.get_long()))
        .collect()
}

/// Returns whether an option is refused alone, under any of its names; `None` where it cannot stand alone.
fn is_refused(words: &str, command: &Command, argument: &Arg) -> Option<bool> {
    let names = argument.get_long().into_iter();
    let names = names.chain(argument.get_all_aliases().into_iter().flatten());
    let mut found = None;
    for name in names {
        let line = needed(command, argument).into_iter();
        let line: Vec<String> = line.chain(given(command, argument, Some(name))).collect();
        // What needs another option, or is help, is no line of its own.
        let matches = parsed(command, &line).ok()?;
        let innermost = Innermost {
            command: command.clone(),
            path: words.to_owned(),
            matches: &matches,
        };
        let is_refused = super::find(&innermost).is_some();
        assert_eq!(found.unwrap_or(is_refused), is_refused, "{words} --{name}");
        found = Some(is_refused);
    }
    found
}

#[test]
fn no_option_is_refused_alone_that_has_an_effect() {
    let (mut refused, mut n_taken) = (Vec::new(), 0);
    for (words, command) in commands() {
        let options = command.get_arguments();
        for argument in options.filter(|argument| argument.get_long().is_some()) {
            let found = is_refused(&words, &command, argument);
            n_taken += usize::from(found.is_some());
            if found == Some(true) {
                let flag = argument.get_long().unwrap_or_default();
                refused.push(format!("{words} --{flag}"));
            }
        }
    }
    assert!(n_taken > 300, "{n_taken}");
    let is_here = |words: &str| match words.split(' ').next() {
        Some("cluster") => cfg!(feature = "cluster"),
        Some("history") => cfg!(feature = "history"),
        _ => true,
    };
    let expected = ALONE.iter().filter(|(words, _)| is_here(words));
    let told = |(words, flags): &(&str, &[&str])| -> Vec<String> {
        let lines = flags.iter().map(|flag| format!("{words} --{flag}"));
        lines.collect()
    };
    let mut expected: Vec<String> = expected.flat_map(told).collect();
    expected.sort();
    refused.sort();
    assert_eq!(refused, expected);
}

/// Returns the ids of what an argument is only for. The parser tells them nowhere but to those who look for its faults.
fn required_by(argument: &Arg) -> Vec<String> {
    let told = format!("{argument:?}");
    let (_, rest) = told
        .split_once(" requires: [")
        .expect("all that an argument is");
    let (list, _) = rest.split_once(']').expect("a list that ends");
    list.split('"')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect()
}

#[test]
fn no_option_stands_beside_one_that_excludes_what_it_is_for() {
    // The parser asks for no option that conflicts with one that is given: what is for it would do nothing.
    let (mut found, mut n_bound) = (Vec::new(), 0);
    for (words, command) in commands() {
        let excludes = |one: &Arg, other: &Arg| {
            let of = |one, id: &Arg| {
                (command.get_arg_conflicts_with(one).iter()).any(|it| it.get_id() == id.get_id())
            };
            of(one, other) || of(other, one)
        };
        for argument in command.get_arguments() {
            for id in required_by(argument) {
                n_bound += 1;
                let required = command
                    .get_arguments()
                    .find(|it| it.get_id() == id.as_str());
                let required = required.unwrap_or_else(|| panic!("{words}: {id} is no argument"));
                let excluding = command
                    .get_arguments()
                    .filter(|it| it.get_id() != argument.get_id() && excludes(required, it));
                let left = excluding.filter(|it| !excludes(argument, it));
                found.extend(left.map(|it| {
                    format!(
                        "{words}: {} is for {id}, and stands beside {}",
                        argument.get_id(),
                        it.get_id()
                    )
                }));
            }
        }
    }
    assert!(n_bound > 20, "{n_bound}");
    assert_eq!(found, Vec::<String>::new());
}
