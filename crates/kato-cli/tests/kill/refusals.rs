//! What `train` refuses to do to a knowledge base, and what it leaves untouched.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use crate::report::{counters, stderr};
use crate::workplace::Workplace;

/// Runs `train` on a knowledge base that must not change, and returns exit code and standard error.
fn refused(place: &Workplace, input: &str, more: &[&str]) -> String {
    let before = place.files("undisturbed");
    let output = place.train(input, "undisturbed", more).output().unwrap();
    assert_eq!(
        output.status.code(),
        // Another corpus, other settings, another run; or nothing to read.
        Some(if input == "missing.jsonl" { 1 } else { 6 }),
        "{more:?}: {}",
        stderr(&output)
    );
    assert!(output.stdout.is_empty());
    assert!(
        place.files("undisturbed") == before,
        "{more:?} changed the knowledge base"
    );
    stderr(&output)
}

#[test]
fn a_finished_run_is_neither_overwritten_nor_mixed_nor_changed() {
    let place = Workplace::new(100_000);
    place.undisturbed("corpus.jsonl");
    fs::copy(place.path("corpus.jsonl"), place.path("copy.jsonl")).unwrap();
    let cases: [(&str, &[&str], &[&str]); 9] = [
        (
            "corpus.jsonl",
            &[],
            &["undisturbed is a knowledge base already", "--resume"],
        ),
        (
            "corpus.jsonl",
            &["--resume", "--min-paragraph-chars", "9"],
            &["min_paragraph_chars: it was 0, now it is 9"],
        ),
        (
            "corpus.jsonl",
            &["--resume", "--tail", "promote"],
            &["tail_policy: it was \"drop\", now it is \"promote\""],
        ),
        (
            "corpus.jsonl",
            &["--resume", "--field", "body"],
            &["text field: was `text`, is `body`"],
        ),
        (
            "corpus.jsonl",
            &["--resume", "--levels", "4,3"],
            &[", now it is 4,3"],
        ),
        (
            "corpus.jsonl",
            &["--resume", "--tokenizer", "gpt2"],
            &["now it is \"gpt2\""],
        ),
        (
            "copy.jsonl",
            &["--resume"],
            &["file missing: `corpus.jsonl`", "file added: `copy.jsonl`"],
        ),
        (
            "corpus.jsonl",
            &["copy.jsonl", "--resume"],
            &["file added: `copy.jsonl`"],
        ),
        ("missing.jsonl", &["--resume"], &["missing.jsonl"]),
    ];
    for (input, more, expected) in cases {
        let message = refused(&place, input, more);
        assert!(
            expected.iter().all(|part| message.contains(part)),
            "{more:?}: {message}"
        );
    }
}

#[test]
fn resuming_a_finished_run_changes_no_byte() {
    let place = Workplace::new(100_000);
    let expected = place.undisturbed("corpus.jsonl");
    let before = place.files("undisturbed");
    for more in [
        ["--resume", "--workers", "3"],
        ["--resume", "--memory", "1KB"],
    ] {
        let output = place
            .train("corpus.jsonl", "undisturbed", &more)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert_eq!(counters(&output), *expected.counters());
        assert!(
            place.files("undisturbed") == before,
            "{more:?} changed the knowledge base"
        );
    }
}

#[test]
fn one_writer_at_a_time() {
    let place = Workplace::new(100_000);
    let corpus = fs::read(place.path("corpus.jsonl")).unwrap();
    let mut first = place
        .train("-", "kb", &[])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    place.wait_for("kb", 0, &mut first);
    for _ in 0..2 {
        let second = place.train("-", "kb", &["--resume"]).output().unwrap();
        assert_eq!(second.status.code(), Some(6));
        assert!(
            stderr(&second).contains("in use by another writer"),
            "{}",
            stderr(&second)
        );
    }
    first.stdin.take().unwrap().write_all(&corpus).unwrap();
    let output = first.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(counters(&output)["complete"], true);
}
