//! Files that are taken out of what was learned: the knowledge base is that of a training without them.

use std::fs;

use crate::place::{Place, object};
use crate::report::stderr;

/// A folder with the corpus in three parts, `a.jsonl` to `c.jsonl`, all of which `kb` has learned.
fn place(more: &[&str]) -> Place {
    let place = Place::new().in_parts();
    let forecast = r#"{"schema": 1, "forecast": {"seconds": {"value": 1.0}}}"#;
    fs::write(place.path("plan.json"), forecast).unwrap();
    place.trained(
        "a.jsonl",
        &[&["b.jsonl", "c.jsonl", "--kb", "kb"], more].concat(),
    );
    place
}

/// What a command says that is refused, and its exit code.
fn refusal(place: &Place, arguments: &[&str]) -> (Option<i32>, String) {
    let output = place.command("forget", arguments).output().unwrap();
    (output.status.code(), stderr(&output))
}

#[test]
fn what_is_forgotten_is_as_if_it_had_never_been_there() {
    let place = place(&["--occurrences", "--forecast", "plan.json"]);
    let all = place.exported("kb");
    let foretold = || place.run("kb")["manifest"]["forecast"].clone();
    assert_eq!(foretold()["seconds"]["value"], 1.0);
    place.trained("a.jsonl", &["c.jsonl", "--kb", "without"]);
    let forget = ["b.jsonl", "--kb", "kb", "--rewrite", "--json"];
    let output = place.command("forget", &forget).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let told = object(&output);
    assert_eq!(told["files"], serde_json::json!(["b.jsonl"]));
    assert_eq!(
        (&told["documents"], &told["had_occurrences"]),
        (&20.into(), &true.into())
    );
    assert_eq!(place.exported("kb"), place.exported("without"));
    assert!(!place.path("kb/occurrences").exists());
    let results = |run| place.run(run)["manifest"]["results"]["documents"].clone();
    assert_eq!(results("kb"), 40);
    assert!(foretold().is_null(), "it was of all files");
    // Also as it is written, and not only as it is found out.
    let written = |kb: &str| -> serde_json::Value {
        let text = fs::read_to_string(place.path(kb).join("run.json")).unwrap();
        serde_json::from_str(&text).unwrap()
    };
    for key in ["corpus", "state"] {
        assert_eq!(written("kb")[key], written("without")[key], "{key}");
    }
    for key in ["documents", "errors", "tokens"] {
        let results = |kb| written(kb)["results"][key].clone();
        assert_eq!(results("kb"), results("without"), "{key}");
    }
    // It goes on as the other does: there is nothing left to learn, and the file can be added again.
    let resumed = place.trained("a.jsonl", &["c.jsonl", "--kb", "kb", "--resume"]);
    assert_eq!(resumed["samples_processed"], 40);
    place.trained("b.jsonl", &["--kb", "kb", "--add"]);
    assert_eq!(place.exported("kb"), all);
}

#[test]
fn what_cannot_be_forgotten_is_refused_with_the_reason_and_changes_nothing() {
    let place = place(&[]);
    let before = place.exported("kb");
    let (code, told) = refusal(&place, &["corpus.jsonl", "--kb", "kb"]);
    assert_eq!(code, Some(6), "{told}");
    assert!(told.contains("never learned"), "{told}");
    let (code, told) = refusal(&place, &["b.jsonl", "--kb", "mongodb://localhost/none"]);
    assert_eq!(code, Some(2), "{told}");
    assert!(told.contains("name a directory"), "{told}");
    fs::write(place.path("b.jsonl"), "{\"text\": \"the old sea\"}\n").unwrap();
    let (code, told) = refusal(&place, &["b.jsonl", "--kb", "kb"]);
    assert_eq!(code, Some(6), "{told}");
    assert!(told.contains("size of"), "{told}");
    assert_eq!(place.exported("kb"), before);
    place.trained("a.jsonl", &["c.jsonl", "--kb", "held", "--hold-out", "0.3"]);
    let (code, told) = refusal(&place, &["c.jsonl", "--kb", "held"]);
    assert_eq!(code, Some(6), "{told}");
    assert!(told.contains("held out"), "{told}");
}

#[test]
fn a_run_of_which_all_is_forgotten_names_no_corpus() {
    let place = place(&["--forecast", "plan.json"]);
    let files = ["a.jsonl", "b.jsonl", "c.jsonl", "--kb", "kb"];
    let output = place.command("forget", &files).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let manifest = &place.run("kb")["manifest"];
    assert_eq!(manifest["results"]["documents"], 0);
    assert!(manifest["corpus"].is_null(), "{manifest}");
    assert!(manifest["forecast"].is_null(), "{manifest}");
    // Something was trained into it, and nothing of it is left.
    let add = ["a.jsonl", "--kb", "kb", "--add"];
    let output = place.command("train", &add).output().unwrap();
    assert_eq!(output.status.code(), Some(6));
    let told = stderr(&output);
    assert!(told.contains("no training is in it"), "{told}");
    let (code, told) = refusal(&place, &["a.jsonl", "--kb", "kb"]);
    assert_eq!(code, Some(6), "{told}");
    assert!(told.contains("no training is in kb"), "{told}");
    // It begins again as a new run does.
    let again = place.trained("a.jsonl", &["b.jsonl", "c.jsonl", "--kb", "kb", "--resume"]);
    assert_eq!(again["samples_processed"], 60);
}
