//! `train --hold-out`, then `evaluate`: the held-out documents, others, and what is refused.

use std::fs;

use serde_json::Value;

use crate::programs::Workplace;

/// Lines that repeat themselves, so that there is something to predict.
fn lines(first: usize) -> String {
    let text = |n: usize| {
        format!(
            "Day {}: the cat sat on the mat, and dog {} lay there.",
            n % 7,
            n % 5
        )
    };
    (first..first + 60)
        .map(|n| serde_json::json!({"text": text(n)}).to_string() + "\n")
        .collect()
}

/// A folder whose `kb` has learned four fifths of `days.jsonl`.
fn trained(options: &[&str]) -> Workplace {
    let place = Workplace::new();
    fs::write(place.path("days.jsonl"), lines(0)).unwrap();
    let fixed = ["days.jsonl", "--kb", "kb", "--levels", "3,2", "--quiet"];
    let arguments: Vec<&str> = fixed.iter().chain(options).copied().collect();
    place.succeeds("train", &arguments);
    place
}

fn evaluated(place: &Workplace, options: &[&str]) -> Value {
    let fixed = ["--kb", "kb", "--quiet", "--json"];
    let arguments: Vec<&str> = fixed.iter().chain(options).copied().collect();
    let text = place.succeeds("evaluate", &arguments);
    assert_eq!(text.lines().count(), 1, "one object on one line: {text}");
    serde_json::from_str(&text).unwrap()
}

#[test]
fn held_out_documents_are_evaluated() {
    let place = trained(&["--hold-out", "0.2", "--seed", "1"]);
    let report = evaluated(&place, &[]);
    // Twelve of sixty, give or take.
    let documents = report["documents"].as_u64().unwrap();
    assert!((1..=24).contains(&documents), "{documents}");
    assert_eq!(report["levels"].as_array().unwrap().len(), 2);
    assert!(report["levels"][0]["next"]["top_1"]["share"].as_f64() > Some(0.5));
    assert_eq!(report, evaluated(&place, &["--workers", "3"]));

    let table = place.succeeds("evaluate", &["--kb", "kb", "--quiet"]);
    let heading = format!("{documents} documents that the nodes have not seen");
    for part in [
        heading.as_str(),
        "node0",
        "node1",
        "KATO, chunk so far",
        "uniform",
    ] {
        assert!(table.contains(part), "{table}");
    }
}

#[test]
fn a_corpus_that_was_moved_is_evaluated_where_it_is() {
    let place = trained(&["--hold-out", "0.2"]);
    let before = evaluated(&place, &[]);
    fs::rename(place.path("days.jsonl"), place.path("moved.jsonl")).unwrap();
    assert_eq!(evaluated(&place, &["moved.jsonl"]), before);
    fs::write(place.path("moved.jsonl"), lines(1)).unwrap();
    let (code, message) = place.fails("evaluate", &["--kb", "kb", "moved.jsonl"]);
    assert_eq!(code, 6);
    assert!(
        message.contains("what is named in place of the training's corpus is another one"),
        "{message}"
    );
}

#[test]
fn without_a_hold_out_other_documents_are_needed() {
    let place = trained(&[]);
    let (code, message) = place.fails("evaluate", &["--kb", "kb"]);
    assert_eq!(code, 2);
    assert!(message.contains("train one with --hold-out"), "{message}");

    fs::write(place.path("other.jsonl"), lines(1000)).unwrap();
    assert_eq!(
        evaluated(&place, &["--unseen", "other.jsonl"])["documents"],
        60
    );
    fs::copy(place.path("days.jsonl"), place.path("copy.jsonl")).unwrap();
    let (code, message) = place.fails("evaluate", &["--kb", "kb", "--unseen", "copy.jsonl"]);
    assert_eq!(code, 6);
    assert!(
        message
            .contains("copy.jsonl is not unseen: the corpus of the training has it as days.jsonl"),
        "{message}"
    );
}

#[test]
fn another_hold_out_does_not_go_on() {
    let place = trained(&["--hold-out", "0.2", "--max-documents", "30"]);
    let again = [
        "days.jsonl",
        "--kb",
        "kb",
        "--levels",
        "3,2",
        "--quiet",
        "--resume",
    ];
    let (code, message) = place.fails("train", &again);
    assert_eq!(code, 6);
    assert!(
        message.contains("held-out documents: it was a share of 0.2 with seed 0, now it is none"),
        "{message}"
    );
}
