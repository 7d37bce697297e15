//! What surrounds a run: names of any bytes, odd neighbours of files, places that cannot be written
//! to, and numbers of workers that there cannot be.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::unix::ffi::OsStrExt;
use std::process::{Output, Stdio};
use std::thread;

use serde_json::Value;

use crate::place::Place;
use crate::report::stderr;

fn json_of(output: &Output) -> Value {
    assert_eq!(output.status.code(), Some(0), "{}", stderr(output));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn more_workers_than_there_can_be_are_refused_by_every_command() {
    let place = Place::new();
    let commands: [(&str, &[&str]); 8] = [
        ("train", &["corpus.jsonl", "--workers"]),
        ("train", &["corpus.jsonl", "--loader-workers"]),
        ("evaluate", &["--kb", "kb", "--workers"]),
        ("serve", &["--workers"]),
        ("plan", &["corpus.jsonl", "--workers"]),
        ("estimate", &["corpus.jsonl", "--workers"]),
        ("tune", &["corpus.jsonl", "--workers"]),
        ("bench", &["workers", "--workers"]),
    ];
    for (name, arguments) in commands {
        for number in ["1025", "100000", "99999999999999999999"] {
            let arguments = [arguments, &[number]].concat();
            let output = place.command(name, &arguments).output().unwrap();
            let message = stderr(&output);
            assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
            assert!(message.contains("1024"), "{arguments:?}: {message}");
        }
    }
    assert!(!place.path("kato-kb").exists());
}

// Elsewhere file systems refuse such names.
#[cfg(target_os = "linux")]
#[test]
fn a_file_whose_name_is_no_text_trains_and_resumes() {
    let place = Place::new();
    let name = OsStr::from_bytes(b"d\xe9j\xe0/caf\xe9 5%.jsonl");
    fs::create_dir(
        place
            .path("x")
            .with_file_name(OsStr::from_bytes(b"d\xe9j\xe0")),
    )
    .unwrap();
    let corpus = place.path("x").with_file_name(name);
    fs::copy(place.path("corpus.jsonl"), &corpus).unwrap();
    let run = |more: &[&str]| {
        let fixed = ["--tokenizer", "tokenizer.json", "--levels", "3,2", "--json"];
        let mut command = place.command("train", &fixed);
        json_of(&command.arg(&corpus).args(more).output().unwrap())
    };
    let first = run(&["--kb", "kb", "--max-documents", "20"]);
    assert_eq!(first["samples_processed"], 20);
    let resumed = run(&["--kb", "kb", "--resume"]);
    assert_eq!(resumed["samples_processed"], 60);
    let whole = run(&["--kb", "whole"]);
    assert_eq!(whole["levels"], resumed["levels"]);
}

#[test]
fn odd_neighbours_in_a_folder_are_counted_and_passed_over() {
    let place = Place::new();
    let folder = place.path("folder");
    fs::create_dir(&folder).unwrap();
    fs::copy(place.path("corpus.jsonl"), folder.join("a.jsonl")).unwrap();
    fs::write(folder.join("empty.jsonl"), "").unwrap();
    fs::write(folder.join("empty.parquet"), "").unwrap();
    fs::write(folder.join("picture.png"), "PNG").unwrap();
    std::os::unix::fs::symlink("nowhere", folder.join("gone.jsonl")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(folder.join("s.jsonl")).unwrap();
    let output = place.train("folder", &["--kb", "kb"]).output();
    let report = json_of(&output.unwrap());
    assert_eq!(report["samples_processed"], 60);
    assert_eq!(
        report["ignored_files"],
        serde_json::json!({
            "no known extension": 1,
            "empty": 2,
            "a link that leads nowhere": 1,
            "a pipe, a socket or a device": 1,
        })
    );
    let arguments = ["folder", "--kb", "other", "--tokenizer", "tokenizer.json"];
    let output = place.command("train", &arguments).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("not read: 2 (empty)"), "{text}");
}

#[test]
fn what_cannot_be_written_in_the_end_is_refused_before_the_run() {
    let place = Place::new();
    fs::create_dir(place.path("dir.json")).unwrap();
    let mut refused = vec![
        vec!["--profile", "--report", "nowhere/run.html"],
        vec!["--profile", "--report", "dir.json"],
    ];
    if cfg!(feature = "history") {
        refused.push(vec!["--history", "nowhere/runs.db"]);
    }
    for more in refused {
        let arguments = [&["--kb", "kb"], &more[..]].concat();
        let output = place.train("corpus.jsonl", &arguments).output().unwrap();
        let message = stderr(&output);
        // Something else is where the file was to be.
        let code = if more.contains(&"dir.json") { 6 } else { 1 };
        assert_eq!(output.status.code(), Some(code), "{more:?}: {message}");
        assert!(message.contains(more[more.len() - 2]), "{message}");
        assert!(!place.path("kb").exists(), "{more:?}: it has begun");
    }
    // A plan and a page of plots take minutes.
    for option in ["--out", "--report"] {
        let arguments = ["corpus.jsonl", "--text-size", "1GB", option, "nowhere/x"];
        let output = place.command("plan", &arguments).output().unwrap();
        let message = stderr(&output);
        assert!(
            message.contains(&format!("{option} nowhere/x")),
            "{message}"
        );
    }
}

#[test]
fn errors_speak_of_options_and_not_of_methods() {
    let place = Place::new();
    fs::write(place.path("body.jsonl"), "{\"body\": \"a\"}\n").unwrap();
    fs::create_dir(place.path("pictures")).unwrap();
    fs::write(place.path("pictures/a.png"), "PNG").unwrap();
    let commands: [(&str, &[&str], &str); 6] = [
        ("train", &["body.jsonl", "--kb", "a"], "--field"),
        ("train", &["body.jsonl", "--kb", "b"], "--on-bad skip"),
        ("train", &["pictures", "--kb", "c"], "name the files"),
        ("datasets", &["head", "body.jsonl"], "--field"),
        (
            "datasets",
            &["stats", "body.jsonl", "--on-bad", "fail"],
            "--field",
        ),
        ("train", &["corpus.jsonl", "--hold-out", "2"], "--hold-out"),
    ];
    for (name, arguments, expected) in commands {
        let output = place.command(name, arguments).output().unwrap();
        let message = stderr(&output);
        assert!(!output.status.success(), "{arguments:?}");
        assert!(message.contains(expected), "{arguments:?}: {message}");
        for theirs in ["with_", "::", "()"] {
            assert!(!message.contains(theirs), "{arguments:?}: {message}");
        }
    }
}

#[test]
fn what_is_waited_for_is_said_while_it_is_waited_for() {
    let place = Place::new();
    // Takes connections, and never answers.
    let mute = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = mute.local_addr().unwrap();
    let (server, database) = (
        format!("kato:http://{address}"),
        format!("mongodb://{address}"),
    );
    let pipe = "waiting for more of the corpus";
    let cases: [(&str, &[&str], &str); 7] = [
        ("train", &["-", "--kb", "piped"], pipe),
        ("train", &["-", "--kb", "quiet", "--quiet"], pipe),
        (
            "train",
            &["corpus.jsonl", "--backend", &server],
            "waiting for kato:http://",
        ),
        (
            "train",
            &["corpus.jsonl", "--backend", &database],
            "waiting for mongodb://",
        ),
        (
            "analyze",
            &["--kb", &database, "--run", "r"],
            "waiting for r in mongodb://",
        ),
        (
            "runs",
            &["list", "--in", &database],
            "waiting for mongodb://",
        ),
        ("datasets", &["head", "-"], "reading the sources"),
    ];
    thread::scope(|scope| {
        for (name, arguments, expected) in cases {
            let mut command = place.command(name, arguments);
            scope.spawn(move || {
                let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
                let mut line = String::new();
                BufReader::new(child.stderr.take().unwrap())
                    .read_line(&mut line)
                    .unwrap();
                let is_waiting = child.try_wait().unwrap().is_none();
                child.kill().unwrap();
                child.wait().unwrap();
                assert!(
                    line.starts_with(expected) && is_waiting,
                    "{arguments:?}: {line}"
                );
            });
        }
    });
}

#[test]
fn a_run_whose_corpus_cannot_be_read_from_its_beginning_leaves_nothing() {
    let place = Place::new();
    fs::write(place.path("empty.txt"), "").unwrap();
    fs::write(place.path("broken.jsonl"), "{\n").unwrap();
    let before = fs::read_dir(place.path("")).unwrap().count();
    for arguments in [
        &["empty.txt"][..],
        &["broken.jsonl"],
        &["corpus.jsonl", "--field", "nowhere"],
    ] {
        let output = place.command("train", arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        let left = fs::read_dir(place.path("")).unwrap().count();
        assert_eq!(left, before, "{arguments:?}");
    }
}

#[test]
fn a_tokenizer_may_be_named_by_its_folder() {
    let place = Place::new();
    fs::create_dir(place.path("words")).unwrap();
    fs::copy(
        place.path("tokenizer.json"),
        place.path("words/tokenizer.json"),
    )
    .unwrap();
    let run = |kb: &str, tokenizer: &str| {
        let line = ["corpus.jsonl", "--levels", "3,2", "--id-field", "id"];
        let of = ["--kb", kb, "--tokenizer", tokenizer, "--quiet"];
        place.command("train", &[&line[..], &of].concat()).output()
    };
    place.trained("corpus.jsonl", &["--kb", "by_file"]);
    let full = place.path("words").display().to_string();
    for (kb, folder) in [("near", "./words"), ("full", &*full)] {
        let output = run(kb, folder).unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        assert_eq!(place.exported(kb), place.exported("by_file"));
    }
    let output = run("none", "./kb").unwrap();
    let told = stderr(&output);
    assert!(
        told.contains("nor a folder with a tokenizer.json"),
        "{told}"
    );
}
