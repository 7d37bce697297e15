//! Options that do nothing with what is read: one that is typed is refused, and one of a settings file is left out
//! with a word.

use std::fs;
use std::process::Output;

use crate::place::Place;
use crate::report::stderr;

/// Options that not every source has a use for, and the sources that have one.
const OPTIONS: [(&str, &str, &[&str]); 7] = [
    ("field", "text", &["a.jsonl", "a.csv", "a.tsv", "all"]),
    ("id-field", "id", &["a.jsonl", "a.csv", "a.tsv", "all"]),
    ("quoting", "double", &["a.csv", "a.tsv", "all"]),
    ("text-unit", "line", &["a.txt", "all"]),
    ("cache", "cache", &[]),
    ("mixing-seed", "3", &[MIXTURE]),
    ("when-exhausted", "stop", &[MIXTURE]),
];

/// Two sources with weights.
const MIXTURE: &str = "1.0*all/a.csv 1.0*all/a.tsv";

/// A file of each format, and a folder of all.
fn sources() -> Place {
    let place = Place::new();
    fs::create_dir(place.path("all")).unwrap();
    for (name, text) in [
        ("a.txt", "the old sea sings\nat night\n"),
        (
            "a.jsonl",
            "{\"id\": \"a\", \"text\": \"the old sea sings at night\"}\n",
        ),
        ("a.csv", "id,text\nb,the old sea sings at night\n"),
        ("a.tsv", "id\ttext\nc\tthe old sea sings at night\n"),
    ] {
        fs::write(place.path(name), text).unwrap();
        fs::write(place.path("all").join(name), text).unwrap();
    }
    place
}

/// Runs a command with an option of a settings file, in the table of the command.
fn with_default(place: &Place, line: &str, table: &str, option: &str, value: &str) -> Output {
    let settings = format!("[{table}]\n{option} = \"{value}\"\n");
    fs::write(place.path("kato.toml"), settings).unwrap();
    run(place, &format!("{line} --settings kato.toml"))
}

fn run(place: &Place, line: &str) -> Output {
    let mut words = line.split(' ');
    let command = words.next().unwrap();
    let words: Vec<&str> = words.collect();
    place.command(command, &words).output().unwrap()
}

#[test]
fn an_option_that_no_source_has_a_use_for_is_refused_or_left_out() {
    let place = sources();
    for (option, value, uses) in OPTIONS {
        let mut sources = vec!["a.txt", "a.jsonl", "a.csv", "a.tsv", "all", MIXTURE];
        if option == "field" || option == "id-field" || option == "quoting" {
            sources.retain(|source| *source != MIXTURE);
        }
        for source in sources {
            let is_used = uses.contains(&source);
            let line = format!("datasets head {source}");
            let typed = run(&place, &format!("{line} --{option} {value}"));
            let told = stderr(&typed);
            let refused = format!("--{option} has no effect: ");
            assert_eq!(
                typed.status.code(),
                Some(if is_used { 0 } else { 2 }),
                "{source}: {told}"
            );
            assert_eq!(told.contains(&refused), !is_used, "{source}: {told}");
            let default = with_default(&place, &line, "datasets.head", option, value);
            let told = stderr(&default);
            let left_out = format!("kato.toml: `{option}` is left out: ");
            assert_eq!(default.status.code(), Some(0), "{source}: {told}");
            // A cache is for what is fetched whenever something is: no word is needed where nothing is.
            let is_told = !is_used && option != "cache";
            assert_eq!(told.contains(&left_out), is_told, "{source}: {told}");
        }
    }
}

#[test]
fn every_command_that_reads_text_refuses_it() {
    let place = sources();
    for line in [
        "train a.txt --kb kb",
        "estimate a.txt",
        "plan a.txt",
        "tune a.txt",
        "datasets info a.txt --rate 1",
        "datasets sample a.txt",
        "datasets stats a.txt",
        "cluster plan a.txt --store plan --tasks 1 --ranges 1",
    ] {
        // What `info` reads are no records.
        let option = if line.contains("info") {
            "cache"
        } else {
            "id-field"
        };
        let output = run(&place, &format!("{line} --{option} id"));
        let told = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{line}: {told}");
        let refused = format!("--{option} has no effect: ");
        assert!(told.contains(&refused), "{line}: {told}");
    }
    assert!(!place.path("kb").exists() && !place.path("plan").exists());
}

#[test]
fn a_run_that_is_resumed_without_its_source_is_read_as_it_was() {
    let place = sources();
    let line = "train all --kb kb --tokenizer tokenizer.json --levels 3,2 --quiet";
    let begun = run(&place, line);
    assert_eq!(begun.status.code(), Some(0), "{}", stderr(&begun));
    let again = line.replace("train all", "train --resume");
    for (option, code) in [
        ("--text-unit file", 0),
        ("--text-unit line", 6),
        ("--id-field id", 6),
        ("--shuffle 1", 6),
        ("--min-chars 3", 6),
    ] {
        let output = run(&place, &format!("{again} {option}"));
        assert_eq!(
            output.status.code(),
            Some(code),
            "{option}: {}",
            stderr(&output)
        );
    }
}
