//! Files that a command writes, beside those that it reads: a slip of the finger must not put a report into
//! the place of a corpus.

use std::any::TypeId;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::Result;
use clap::{Arg, ArgMatches};
use kato_loader::StreamingDatasetLoader;

use crate::exit::bail_as;
use crate::unused::Innermost;

/// The options that name a file that is written whole, by their ids.
const WRITTEN: [&str; 5] = ["out", "report", "snapshot", "csv", "export"];

/// The files that are there and will be replaced, each behind the words that name it.
static REPLACED: OnceLock<Vec<(String, PathBuf)>> = OnceLock::new();

/// Refuses an output that the command line names as something else, too, and keeps the others for
/// [`refuse_files_of`].
///
/// # Errors
///
/// A conflict, which names both.
pub(crate) fn check(innermost: &Innermost<'_>) -> Result<()> {
    let (command, matches) = (&innermost.command, innermost.matches);
    let named = command
        .get_arguments()
        .filter(|argument| names_a_file(argument))
        .flat_map(|argument| values(matches, argument).map(move |value| (argument, value)));
    let named: Vec<_> = named.collect();
    let mut replaced = Vec::new();
    for (nth, (output, file)) in named.iter().enumerate() {
        let is_written = output.get_long().is_some() && WRITTEN.contains(&output.get_id().as_str());
        let Some(place) = place(file).filter(|_| is_written) else {
            continue;
        };
        let words = format!("{} {}", name(output), Path::new(file).display());
        let others = named.iter().enumerate().filter(|&(other, _)| other != nth);
        for (_, (other, value)) in others {
            if readings(value).any(|value| self::place(value).as_ref() == Some(&place)) {
                let other = name(other);
                bail_as!(
                    Conflict,
                    "{words}: {other} names this file as well; name another one"
                );
            }
        }
        if place.is_file() {
            replaced.push((words, place));
        }
    }
    // Only a program that begins twice finds it set.
    drop(REPLACED.set(replaced));
    Ok(())
}

/// Refuses outputs that are files of a corpus, such as those of a folder or a glob.
///
/// # Errors
///
/// A conflict, which names the output.
pub(crate) fn refuse_files_of(corpus: &StreamingDatasetLoader) -> Result<()> {
    let Some(replaced) = REPLACED.get().filter(|replaced| !replaced.is_empty()) else {
        return Ok(());
    };
    let identity = corpus.identity();
    for file in identity.files() {
        let file = fs::canonicalize(&file.name).ok();
        if let Some((words, _)) = replaced
            .iter()
            .find(|(_, place)| file.as_ref() == Some(place))
        {
            bail_as!(
                Conflict,
                "{words}: it is a file of the corpus; name another one"
            );
        }
    }
    Ok(())
}

/// Returns whether an argument may name a file: a word may be the name of one by chance.
fn names_a_file(argument: &Arg) -> bool {
    let names = argument.get_value_names().unwrap_or_default();
    names.iter().any(|name| name.as_str().contains("FILE"))
        || argument.get_value_parser().type_id() == TypeId::of::<PathBuf>()
}

/// Returns what stands for an argument on the command line.
fn values<'m>(matches: &'m ArgMatches, argument: &Arg) -> impl Iterator<Item = &'m OsStr> {
    let takes_values = argument.get_action().takes_values();
    let id = argument.get_id().as_str();
    // Asking for what is not defined would panic.
    let raw = match takes_values && matches.try_contains_id(id).is_ok() {
        true => matches.get_raw(id),
        false => None,
    };
    raw.into_iter().flatten()
}

/// Returns the name by which a user knows an argument.
fn name(argument: &Arg) -> String {
    let of_place = || argument.get_value_names()?.first().map(ToString::to_string);
    let long = argument.get_long().map(|long| format!("--{long}"));
    long.or_else(of_place)
        .unwrap_or_else(|| argument.get_id().to_string())
}

/// Returns what a value may name: itself, and a source behind its weight.
fn readings(value: &OsStr) -> impl Iterator<Item = &OsStr> {
    let weighted = value.to_str().and_then(|text| text.split_once('*'));
    let source = weighted.filter(|(weight, _)| weight.parse::<f64>().is_ok());
    std::iter::once(value).chain(source.map(|(_, source)| OsStr::new(source)))
}

/// Returns the one name of a file that is there or can be made; `None` where nothing is replaced, as of
/// standard output, a directory, a device or a pipe.
fn place(file: &OsStr) -> Option<PathBuf> {
    let file = Path::new(file);
    if file == Path::new("-") {
        return None;
    }
    // Ahead of its real name, as a pipe has none.
    if fs::metadata(file).is_ok_and(|found| !found.is_file()) {
        return None;
    }
    if let Ok(place) = fs::canonicalize(file) {
        return Some(place);
    }
    // A bare name has an empty parent, which is no directory to the system.
    let parent = file.parent()?;
    let parent = match parent == Path::new("") {
        true => Path::new("."),
        false => parent,
    };
    Some(fs::canonicalize(parent).ok()?.join(file.file_name()?))
}

#[cfg(test)]
mod tests {
    use clap::{Command, arg, value_parser};

    use super::*;
    use crate::unused::innermost;

    fn checked(line: &[&str]) -> Result<(), String> {
        let plan = Command::new("plan")
            .arg(
                arg!([SOURCE]...)
                    .id("sources")
                    .value_parser(value_parser!(PathBuf)),
            )
            .arg(arg!(--out <FILE>).required(false))
            .arg(arg!(--report <FILE>).required(false))
            .arg(arg!(--node <NAME>).required(false));
        let program = Command::new("kato").subcommand(plan);
        let line = ["kato", "plan"].iter().chain(line);
        let matches = program.clone().try_get_matches_from(line).unwrap();
        check(&innermost(&program, &matches)).map_err(|error| error.to_string())
    }

    #[test]
    fn an_output_that_is_named_as_something_else_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
        let (text, new) = (at("text.jsonl"), at("new"));
        fs::write(&text, "text").unwrap();
        let roundabout = at("../") + dir.path().file_name().unwrap().to_str().unwrap();
        let roundabout = roundabout + "/text.jsonl";
        let weighted = format!("0.7*{text}");
        for (line, other) in [
            ([text.as_str(), "--out", &text], "SOURCE"),
            (["--out", &text, &weighted], "SOURCE"),
            (["--out", &roundabout, &text], "SOURCE"),
        ] {
            let told = checked(&line).unwrap_err();
            let end = format!(": {other} names this file as well; name another one");
            assert!(
                told.starts_with("--out /") && told.ends_with(&end),
                "{told}"
            );
        }
        let told = checked(&["--out", &new, "--report", &new]).unwrap_err();
        assert!(told.contains(": --report names this file"), "{told}");
        for line in [
            ["--out", &new, &text].as_slice(),
            &["--out", "/dev/null", "--report", "/dev/null"],
            &["--out", "-", "-"],
            &["--out", &new, "--node", &new],
            &[&text, &text, "--out", &new],
        ] {
            assert_eq!(checked(line), Ok(()), "{line:?}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_pipe_may_be_named_twice() {
        use std::os::fd::AsRawFd as _;

        let (_reader, writer) = std::io::pipe().unwrap();
        let pipe = format!("/proc/self/fd/{}", writer.as_raw_fd());
        assert_eq!(checked(&["--out", &pipe, "--report", &pipe]), Ok(()));
    }
}
