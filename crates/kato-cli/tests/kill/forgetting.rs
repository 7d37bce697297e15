//! `kill -9` while a file is forgotten: the knowledge base is the one before, or the one after.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Instant;

use kato_store::{EmbeddedStore, KnowledgeBase};
use kato_test_needs::{ends_within, is_thorough};

use crate::program::kato;
use crate::random::Random;
use crate::report::stderr;
use crate::workplace::Workplace;

const SEED: u64 = 48;

fn command(place: &Workplace, name: &str, arguments: &[&str]) -> Command {
    let mut command = kato(name);
    command
        .args(arguments)
        .current_dir(place.path(""))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn done(place: &Workplace, name: &str, arguments: &[&str]) {
    let output = command(place, name, arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

fn train(place: &Workplace, sources: &[&str]) {
    let fixed = [
        "--tokenizer",
        "tokenizer.json",
        "--levels",
        "4,3,2",
        "--skip-errors",
        "--quiet",
    ];
    done(place, "train", &[sources, &fixed].concat());
}

/// How many documents were learned, and what every node exports.
fn content(place: &Workplace, kb: &str) -> (Option<u64>, Vec<u8>) {
    let store = EmbeddedStore::open_read_only(place.path(kb)).unwrap();
    let mut lines = Vec::new();
    for node in KnowledgeBase::all(&store) {
        node.export(&mut lines).unwrap();
    }
    (place.committed(kb), lines)
}

/// Directories for working files that are left, but for those that were killed while they were made: they are
/// empty.
fn scratch(place: &Workplace) -> Vec<String> {
    let entries = fs::read_dir(place.path("kb")).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let left = paths.filter(|path| path.join(".lock").exists());
    left.map(|path| path.display().to_string()).collect()
}

#[test]
fn a_forgetting_that_is_killed_has_forgotten_all_of_it_or_nothing() {
    let place = Workplace::new(300_000);
    let corpus = fs::read(place.path("corpus.jsonl")).unwrap();
    let lines: Vec<&[u8]> = corpus.split_inclusive(|&byte| byte == b'\n').collect();
    let (a, b) = lines.split_at(lines.len() / 2);
    fs::write(place.path("a.jsonl"), a.concat()).unwrap();
    fs::write(place.path("b.jsonl"), b.concat()).unwrap();
    train(
        &place,
        &["a.jsonl", "b.jsonl", "--kb", "kb", "--occurrences"],
    );
    train(&place, &["a.jsonl", "--kb", "left"]);
    let (before, after) = (content(&place, "kb"), content(&place, "left"));
    assert_ne!(before.1, after.1);
    let forget = ["b.jsonl", "--kb", "kb"];
    let start = Instant::now();
    done(&place, "forget", &forget);
    let whole = start.elapsed();

    let most_kills = if is_thorough() { 30 } else { 12 };
    let mut random = Random::from_seed(SEED);
    let (mut n_kills, mut n_done) = (0, 0);
    loop {
        if content(&place, "kb") == after {
            n_done += 1;
            // Done again it is refused, and leaves nothing of the text all the same.
            let again = command(&place, "forget", &forget).output().unwrap();
            assert_eq!(again.status.code(), Some(6), "{}", stderr(&again));
            assert!(!place.path("kb/occurrences").exists());
            assert_eq!(scratch(&place), Vec::<String>::new());
            train(&place, &["b.jsonl", "--kb", "kb", "--add", "--occurrences"]);
        }
        assert!(content(&place, "kb") == before);
        if n_kills == most_kills {
            break;
        }
        let mut child = command(&place, "forget", &forget).spawn().unwrap();
        ends_within(&mut child, random.delay(whole.mul_f64(1.2)));
        child.kill().unwrap();
        n_kills += usize::from(!child.wait().unwrap().success());
    }
    eprintln!(
        "seed {SEED}: {n_kills} kills, {n_done} times it was done by then; undisturbed {whole:.1?}"
    );
    // What the killed ones left of their work goes with the next.
    done(&place, "forget", &forget);
    assert!(content(&place, "kb") == after);
    assert_eq!(scratch(&place), Vec::<String>::new());
}
