//! Writing an index, by `kato index` and at the end of a training.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::Value;

use crate::interrupted::{interrupt, n_moments};
use crate::program::kato;
use crate::random::Random;
use crate::report::stderr;
use crate::workplace::Workplace;

fn index(place: &Workplace, kb: &str) -> Command {
    let mut command = kato("index");
    command
        .args(["--json", "--kb"])
        .arg(place.path(kb))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// What an index says of itself, without what belongs to one build.
fn indexed(place: &Workplace, kb: &str) -> Value {
    let output = index(place, kb).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let mut value: Value = serde_json::from_slice(&output.stdout).unwrap();
    // Its threads share the patterns otherwise each time, which moves some bytes and no answer.
    for key in ["kb", "bytes", "seconds", "was_there"] {
        value.as_object_mut().unwrap().remove(key);
    }
    for key in ["seconds", "was_there"] {
        value["head"].as_object_mut().unwrap().remove(key);
    }
    value
}

#[test]
fn an_index_that_is_interrupted_at_any_moment_is_written_or_not() {
    let place = Workplace::new(3_000_000);
    let output = place
        .train("corpus.jsonl", "undisturbed", &["--no-index"])
        .output();
    assert_eq!(output.unwrap().status.code(), Some(0));
    let before = place.files("undisturbed");
    copy(&place, "indexed");
    let start = Instant::now();
    let expected = indexed(&place, "indexed");
    let whole = start.elapsed();
    let with_index = place.files("indexed");
    assert!(before.len() < with_index.len());
    let mut random = Random::from_seed(39);
    for number in 0..n_moments() {
        let kb = format!("kb{number}");
        copy(&place, &kb);
        let after = random.delay(whole);
        let interrupted = interrupt(index(&place, &kb), after, &mut random);
        // Its lock file stays, and says nothing.
        let names = |files: &BTreeMap<PathBuf, Vec<u8>>| -> BTreeSet<PathBuf> {
            let names = files.keys().filter(|path| !path.ends_with("LOCK"));
            let kb_depth = place.path(&kb).iter().count();
            names
                .map(|path| path.iter().skip(kb_depth).collect())
                .collect()
        };
        let found = names(&place.files(&kb));
        // The head's counts are written after the index.
        let is_head = |path: &PathBuf| path.starts_with("head");
        let index_alone: BTreeSet<PathBuf> = names(&with_index)
            .into_iter()
            .filter(|path| !is_head(path))
            .collect();
        assert!(
            interrupted.was_over
                || found == names(&before)
                || found == index_alone
                || found == names(&with_index),
            "{found:?}"
        );
        assert_eq!(indexed(&place, &kb), expected);
        std::fs::remove_dir_all(place.path(&kb)).unwrap();
    }
}

/// Copies the knowledge base of the undisturbed run.
fn copy(place: &Workplace, to: &str) {
    let status = Command::new("cp")
        .arg("-r")
        .args([place.path("undisturbed"), place.path(to)])
        .status();
    assert!(status.unwrap().success());
}

#[test]
fn a_training_that_is_interrupted_while_it_indexes_is_whole() {
    let place = Workplace::new(1_000_000);
    let expected = place.undisturbed("corpus.jsonl");
    let mut random = Random::from_seed(40);
    let start = Instant::now();
    let output = place.train("corpus.jsonl", "whole", &["--index"]).output();
    assert_eq!(output.unwrap().status.code(), Some(0));
    let whole = start.elapsed();
    for number in 0..n_moments() {
        let kb = format!("kb{number}");
        let after = whole.mul_f64(0.5 + random.next() / 2.0);
        interrupt(
            place.train("corpus.jsonl", &kb, &["--index"]),
            after,
            &mut random,
        );
        let output = place
            .train("corpus.jsonl", &kb, &["--index", "--resume"])
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        place.finish("corpus.jsonl", &kb).assert_equals(&expected);
    }
}
