//! Damaged knowledge bases: every command answers as before the damage, or ends with an error that says
//! what is lost; none answers an absence or an older state, and nothing that is whole is deleted.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use kato_test_needs::is_thorough;
use serde_json::{Value, json};

use crate::place::Place;
use crate::report::stderr;

/// Trains the corpus in three sessions, each of which commits what it learned.
fn train_in_sessions(place: &Place, kb: &str) {
    place.trained("corpus.jsonl", &["--kb", kb, "--max-documents", "20"]);
    place.trained(
        "corpus.jsonl",
        &["--kb", kb, "--resume", "--max-documents", "40"],
    );
    place.trained("corpus.jsonl", &["--kb", kb, "--resume"]);
}

#[test]
fn a_damaged_manifest_is_told_and_loses_nothing() {
    let place = Place::new();
    place.trained("corpus.jsonl", &["--kb", "kb"]);
    let whole = place.exported("kb");
    fs::write(place.path("kb/MANIFEST"), "{").unwrap();
    let looked = place.command("inspect", &["--kb", "kb"]).output().unwrap();
    assert!(looked.status.success());
    let told = stderr(&looked);
    assert!(
        told.starts_with("warning: kb/MANIFEST is damaged"),
        "{told}"
    );
    assert!(told.contains("nothing is lost"), "{told}");
    assert_eq!(place.exported("kb"), whole);
}

/// Damages both copies of the newest manifest, or the newest segment.
fn damage(place: &Place, kb: &str, is_segment: bool) {
    if is_segment {
        let segments = fs::read_dir(place.path(kb).join("segments")).unwrap();
        let newest = segments.map(|entry| entry.unwrap().path()).max().unwrap();
        fs::write(newest, "KATO").unwrap();
    } else {
        for name in ["MANIFEST", "MANIFEST.twin"] {
            fs::write(place.path(kb).join(name), "{").unwrap();
        }
    }
}

/// Resumes a damaged run, which sets aside what is damaged and ends as one that nothing happened to.
fn assert_is_learned_again(place: &Place, kb: &str) {
    let arguments = ["--kb", kb, "--resume", "--quiet"];
    let output = place.train("corpus.jsonl", &arguments).output().unwrap();
    let told = stderr(&output);
    assert!(output.status.success(), "{told}");
    assert!(told.contains("set-aside/1"), "{told}");
    assert_eq!(place.exported(kb), place.exported("whole"));
}

#[test]
fn a_damaged_newest_commit_is_refused_and_trained_again() {
    let place = Place::new();
    place.trained("corpus.jsonl", &["--kb", "whole"]);
    for is_segment in [true, false] {
        let kb = format!("kb-{is_segment}");
        train_in_sessions(&place, &kb);
        damage(&place, &kb, is_segment);
        let looked = place.command("inspect", &["--kb", &kb]).output().unwrap();
        assert_eq!(looked.status.code(), Some(1));
        assert!(looked.stdout.is_empty(), "{looked:?}");
        for way in [
            "is damaged",
            "--go-back",
            "kato train --resume",
            "kato salvage",
        ] {
            assert!(stderr(&looked).contains(way), "{}", stderr(&looked));
        }
        let arguments = ["--kb", &kb, "--go-back", "--json"];
        let looked = place.command("inspect", &arguments).output().unwrap();
        assert!(looked.status.success(), "{}", stderr(&looked));
        assert!(
            stderr(&looked).contains("went back to commit"),
            "{}",
            stderr(&looked)
        );

        // Another corpus would not bring back what is lost.
        let arguments = ["--kb", &kb, "--resume", "--quiet"];
        fs::write(place.path("other.jsonl"), "{\"text\": \"another text\"}\n").unwrap();
        let refused = place.train("other.jsonl", &arguments).output().unwrap();
        assert_eq!(refused.status.code(), Some(1));
        let told = stderr(&refused);
        assert!(told.contains("cannot be learned again"), "{told}");
        assert!(!place.path(&kb).join("set-aside").exists());
        // Nor would other settings.
        let other = [
            "corpus.jsonl",
            "--tokenizer",
            "tokenizer.json",
            "--levels",
            "4,2",
        ];
        let other = [&other[..], &arguments].concat();
        let refused = place.command("train", &other).output().unwrap();
        assert_eq!(refused.status.code(), Some(1));
        assert!(!place.path(&kb).join("set-aside").exists());

        assert_is_learned_again(&place, &kb);
        assert_eq!(place.run(&kb)["manifest"]["state"], json!("complete"));
    }
}

/// Changes a byte of a block of the newest segment, behind its few words, which opening does not read.
fn damage_a_block(place: &Place, kb: &str) {
    let segments = fs::read_dir(place.path(kb).join("segments")).unwrap();
    let newest = segments.map(|entry| entry.unwrap().path()).max().unwrap();
    let mut bytes = fs::read(&newest).unwrap();
    bytes[100] ^= 1;
    fs::write(newest, bytes).unwrap();
}

#[test]
fn damage_that_a_later_read_finds_has_the_same_ways_out() {
    let place = Place::new();
    place.trained("corpus.jsonl", &["--kb", "whole"]);
    train_in_sessions(&place, "kb");
    place.trained("corpus.jsonl", &["--kb", "one"]);
    for kb in ["kb", "one"] {
        damage_a_block(&place, kb);
        for (command, flags) in [
            ("inspect", &["--export", "-"][..]),
            ("predict", &["--text", "the old sea sings"]),
            ("next", &["--text", "the old sea"]),
            ("index", &[]),
        ] {
            let arguments = [&["--kb", kb], flags].concat();
            let output = place.command(command, &arguments).output().unwrap();
            assert_eq!(output.status.code(), Some(1), "{command}: {output:?}");
            let told = stderr(&output);
            for way in ["is damaged", "--go-back", "kato salvage"] {
                assert!(told.contains(way), "{command}: {told}");
            }
        }
    }
    let arguments = ["--kb", "kb", "--go-back", "--export", "-"];
    let looked = place.command("inspect", &arguments).output().unwrap();
    let told = stderr(&looked);
    assert!(looked.status.success(), "{told}");
    assert!(told.contains("went back to commit"), "{told}");
    for kb in ["kb", "one"] {
        let arguments = ["--kb", kb, "--resume", "--go-back", "--quiet"];
        let output = place.train("corpus.jsonl", &arguments).output().unwrap();
        let told = stderr(&output);
        assert!(output.status.success(), "{told}");
        assert!(told.contains("set-aside/1"), "{told}");
        assert_eq!(place.exported(kb), place.exported("whole"));
    }
}

#[test]
fn the_only_commit_of_a_run_is_never_an_empty_one_and_is_trained_again() {
    let place = Place::new();
    place.trained("corpus.jsonl", &["--kb", "whole"]);
    for is_segment in [true, false] {
        let kb = format!("kb-{is_segment}");
        place.trained("corpus.jsonl", &["--kb", &kb]);
        damage(&place, &kb, is_segment);
        for flags in [&[][..], &["--go-back"]] {
            let arguments = [&["--kb", &kb, "--text", "the"], flags].concat();
            let asked = place.command("predict", &arguments).output().unwrap();
            assert_eq!(asked.status.code(), Some(1), "{asked:?}");
            assert!(asked.stdout.is_empty(), "{asked:?}");
        }
        assert_is_learned_again(&place, &kb);
    }
}

/// The files of a knowledge base, by their paths.
fn files(kb: &Path) -> Vec<PathBuf> {
    let listed = |dir: PathBuf| {
        fs::read_dir(dir)
            .unwrap()
            .map(|entry| entry.unwrap().path())
    };
    let segments = listed(kb.join("segments"));
    let all = listed(kb.to_owned()).chain(segments);
    let mut files: Vec<_> = all.filter(|path| path.is_file()).collect();
    files.retain(|path| !path.ends_with("LOCK") && !path.ends_with("run.json"));
    files.sort();
    files
}

/// The contents of all segments, wherever they lie.
fn segments(dir: &Path) -> BTreeSet<Vec<u8>> {
    let mut found = BTreeSet::new();
    for path in fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
    {
        if path.is_dir() {
            found.append(&mut segments(&path));
        } else if path.extension().is_some_and(|it| it == "seg") {
            found.insert(fs::read(path).unwrap());
        }
    }
    found
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(|entry| entry.unwrap()) {
        let to = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy(&entry.path(), &to),
            false => drop(fs::copy(entry.path(), to).unwrap()),
        }
    }
}

/// What is to be the same in two answers of a command.
fn said(output: &Output) -> Value {
    match serde_json::from_slice(&output.stdout) {
        Ok(Value::Object(mut said)) => {
            for changing in ["kb", "milliseconds", "seconds", "was_there"] {
                said.remove(changing);
                if let Some(Value::Object(head)) = said.get_mut("head") {
                    head.remove(changing);
                }
            }
            Value::Object(said)
        }
        _ => json!(String::from_utf8_lossy(&output.stdout)),
    }
}

#[test]
fn no_command_takes_damage_for_an_absence_or_an_older_state() {
    const COMMANDS: [(&str, &[&str]); 5] = [
        ("inspect", &["--export", "-"]),
        ("predict", &["--text", "the old sea sings", "--json"]),
        ("next", &["--text", "the old sea", "--json"]),
        ("analyze", &["--json"]),
        ("index", &["--json"]),
    ];
    type Damage = fn(&Path);
    let damages: [(&str, Damage); 4] = [
        ("flipped", |path| {
            let mut bytes = fs::read(path).unwrap();
            let at = bytes.len() - 9;
            bytes[at] ^= 1;
            fs::write(path, bytes).unwrap();
        }),
        ("cut", |path| {
            fs::write(path, &fs::read(path).unwrap()[..9]).unwrap()
        }),
        ("gone", |path| fs::remove_file(path).unwrap()),
        ("a directory", |path| {
            fs::remove_file(path).unwrap();
            fs::create_dir(path).unwrap();
        }),
    ];
    let place = Place::new();
    let mut n_cases = 0;
    for original in ["one", "many"] {
        match original {
            "one" => drop(place.trained("corpus.jsonl", &["--kb", original])),
            _ => train_in_sessions(&place, original),
        }
        let ask = |kb: &str, (name, arguments): (&str, &[&str])| {
            let arguments = [&["--kb", kb], arguments].concat();
            place.command(name, &arguments).output().unwrap()
        };
        let expected = COMMANDS.map(|command| {
            let output = ask(original, command);
            assert!(output.status.success(), "{}", stderr(&output));
            said(&output)
        });
        fs::remove_dir_all(place.path(original).join("index")).unwrap();
        for file in files(&place.path(original)) {
            let file = file.strip_prefix(place.path(original)).unwrap().to_owned();
            for (damage, make) in damages {
                // Each of them takes a process for each command.
                n_cases += 1;
                if n_cases % 3 != 0 && !is_thorough() {
                    continue;
                }
                let what = format!("{original}, {}: {damage}", file.display());
                let kb = "damaged";
                let _ = fs::remove_dir_all(place.path(kb));
                copy(&place.path(original), &place.path(kb));
                make(&place.path(kb).join(&file));
                let before = segments(&place.path(kb));
                for (command, expected) in COMMANDS.into_iter().zip(&expected) {
                    let output = ask(kb, command);
                    match output.status.code() {
                        Some(0) => assert_eq!(&said(&output), expected, "{what}: {command:?}"),
                        code => {
                            assert_eq!(code, Some(1), "{what}: {command:?}: {}", stderr(&output));
                            let told = stderr(&output);
                            assert!(told.contains("damaged"), "{what}: {command:?}: {told}");
                        }
                    }
                }
                // What training makes of it is all or an error.
                let arguments = ["--kb", kb, "--resume", "--quiet"];
                let resumed = place.train("corpus.jsonl", &arguments).output().unwrap();
                let exported = ask(kb, COMMANDS[0]);
                if exported.status.success() {
                    assert!(resumed.status.success(), "{what}: {}", stderr(&resumed));
                    assert_eq!(said(&exported), expected[0], "{what}, resumed");
                }
                let after = segments(&place.path(kb));
                assert!(before.is_subset(&after), "{what}: a segment was deleted");
            }
        }
    }
}

#[test]
fn salvage_saves_what_is_whole_and_nobody_trains_on_it() {
    let place = Place::new();
    train_in_sessions(&place, "kb");
    let whole = place.json("salvage", &["kb", "--out", "whole"]);
    assert_eq!(
        (&whole["complete"], &whole["lost"]),
        (&json!(true), &json!([]))
    );
    assert_eq!(place.exported("whole"), place.exported("kb"));
    let newest = fs::read_dir(place.path("kb/segments")).unwrap();
    let newest = newest.map(|entry| entry.unwrap().path()).max().unwrap();
    fs::write(&newest, "KATO").unwrap();
    let part = place.json("salvage", &["kb", "--out", "part"]);
    assert_eq!(part["complete"], false);
    assert!(
        part["lost"][0]["held"]["learns"].as_u64().unwrap() > 0,
        "{part}"
    );
    let again = place
        .command("salvage", &["kb", "--out", "part"])
        .output()
        .unwrap();
    assert_eq!(again.status.code(), Some(6), "{again:?}");
    let asked = place.json("predict", &["--kb", "part", "--text", "the old sea"]);
    assert!(asked["patterns"].as_u64().is_some(), "{asked}");
    let shown = place
        .command("inspect", &["--kb", "part"])
        .output()
        .unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("salvaged"), "{shown}");
    let arguments = ["--kb", "part", "--resume", "--quiet"];
    let resumed = place.train("corpus.jsonl", &arguments).output().unwrap();
    assert_eq!(resumed.status.code(), Some(6));
    assert!(
        stderr(&resumed).contains("salvaged"),
        "{}",
        stderr(&resumed)
    );
}
