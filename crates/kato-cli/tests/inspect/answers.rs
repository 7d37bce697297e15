//! What a trained knowledge base answers: `predict` and `generate`.

use std::fs;

use serde_json::{Value, json};

use crate::programs::Workplace;

/// Text without the time that an answer took.
fn without_time(text: &str) -> String {
    let lines = text.lines().map(|line| match line.split_once(" ms") {
        Some((before, after)) => {
            let number = before.rfind(' ').map_or(0, |at| at + 1);
            format!("{}[time] ms{after}\n", &before[..number])
        }
        None => format!("{line}\n"),
    });
    lines.collect()
}

fn json_of(place: &Workplace, program: &str, arguments: &[&str]) -> Value {
    let arguments: Vec<&str> = ["--kb", "kb", "--json"]
        .iter()
        .chain(arguments)
        .copied()
        .collect();
    let text = place.succeeds(program, &arguments);
    assert_eq!(text.lines().count(), 1, "one object on one line: {text}");
    serde_json::from_str(&text).unwrap()
}

#[test]
fn predictions_are_a_table_with_the_patterns_as_text() {
    let place = Workplace::trained();
    let predict = |arguments: &[&str]| {
        let arguments: Vec<&str> = ["--kb", "kb"].iter().chain(arguments).copied().collect();
        without_time(&place.succeeds("predict", &arguments))
    };
    insta::assert_snapshot!(
        "predict_text",
        predict(&["--text", "The cat", "--limit", "3"])
    );
    insta::assert_snapshot!(
        "predict_stm",
        predict(&["--stm", r#"[["The"],["Ġdog"],["Ġsat"]]"#, "--limit", "2"])
    );
    insta::assert_snapshot!(
        "predict_above",
        predict(&[
            "--node",
            "node1",
            "--text",
            "The cat sat on the mat",
            "--limit",
            "2"
        ])
    );
    insta::assert_snapshot!("predict_nothing", predict(&["--text", "zebra"]));
    let unseen = predict(&["--text", "The cat", "--limit", "0"]);
    assert!(!unseen.contains("nothing that was learned"), "{unseen}");
}

#[test]
fn as_json_predictions_are_katos() {
    let place = Workplace::trained();
    let answer = json_of(&place, "predict", &["--text", "The cat"]);
    assert_eq!(answer["state"], json!([["The"], ["Ġcat"]]));
    let prediction = &answer["predictions"][0];
    assert_eq!(prediction["type"], "prototypical");
    assert_eq!(prediction["matches"], json!(["The", "Ġcat"]));
    assert!(answer["future_potentials"][0]["aggregate_potential"].is_f64());

    let strict = r#"{"recall_threshold": 1.0}"#;
    let answer = json_of(
        &place,
        "predict",
        &["--text", "The cat", "--config", strict],
    );
    assert_eq!(answer["predictions"], json!([]));
}

#[test]
fn a_window_asks_with_the_end_of_the_state() {
    let place = Workplace::trained();
    let ask = |arguments: &[&str]| {
        let mut answer = json_of(&place, "predict", arguments);
        answer.as_object_mut().unwrap().remove("milliseconds");
        answer
    };
    let whole = r#"[["The"],["Ġdog"],["Ġsat","Ġthe"],["Ġcat"]]"#;
    let end = r#"[["Ġsat","Ġthe"],["Ġcat"]]"#;
    assert_eq!(
        ask(&["--stm", whole, "--max-symbols", "3"]),
        ask(&["--stm", end])
    );
    assert_eq!(
        ask(&["--stm", whole, "--max-symbols", "5"]),
        ask(&["--stm", whole])
    );
    assert_ne!(ask(&["--stm", whole]), ask(&["--stm", end]));
}

#[test]
fn what_does_not_fit_into_memory_is_asked_over_an_index() {
    let place = Workplace::trained();
    let index = place.path("kb").join("index");
    let answers = |memory: &[&str]| {
        let ask = |program: &str, arguments: &[&str]| {
            let mut answer = json_of(&place, program, &[arguments, memory].concat());
            answer.as_object_mut().unwrap().remove("milliseconds");
            answer
        };
        [
            ask("predict", &["--text", "The cat"]),
            ask(
                "predict",
                &["--node", "node1", "--text", "The cat sat on the mat"],
            ),
            ask("generate", &["--text", "The cat"]),
        ]
    };
    let expected = answers(&[]);
    assert_eq!(answers(&["--memory", "1GiB"]), expected);
    assert!(!index.exists(), "it fits");
    assert_eq!(answers(&["--memory", "100B"]), expected);
    assert!(index.exists());
    // Damage is an error where loading is none of the ways out, and mended by writing it again.
    let symbols = fs::read_dir(&index)
        .unwrap()
        .map(|entry| entry.unwrap().path().join("0.symbols"))
        .find(|path| path.exists())
        .unwrap();
    let n_bytes = fs::metadata(&symbols).unwrap().len();
    fs::write(&symbols, vec![0xFF; usize::try_from(n_bytes).unwrap()]).unwrap();
    let arguments = ["--kb", "kb", "--text", "The cat", "--memory", "100B"];
    let output = place.command("predict", &arguments).output().unwrap();
    // It is asked over the index alone, for want of memory.
    assert_eq!(output.status.code(), Some(5));
    assert!(output.stdout.is_empty());
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("`kato index` writes it again"), "{error}");
    place.succeeds("index", &["--kb", "kb"]);
    assert_eq!(answers(&["--memory", "100B"]), expected);
}

#[test]
fn a_learned_document_continues_and_every_span_is_explained() {
    let place = Workplace::trained();
    let arguments = [
        "--kb",
        "kb",
        "--text",
        "The cat sat on the mat in",
        "--explain",
    ];
    insta::assert_snapshot!(
        "generate_explained",
        without_time(&place.succeeds("generate", &arguments))
    );
    insta::assert_snapshot!(
        "generate_nothing",
        without_time(&place.succeeds("generate", &["--kb", "kb", "--text", "zebra"]))
    );
    let answer = json_of(&place, "generate", &["--text", "The cat sat on the mat in"]);
    let document = &answer["spans"][0]["source"]["document"];
    assert!(document.as_str().unwrap().starts_with('d'), "{answer}");
    assert_eq!(answer["end"], "learned");
}

#[test]
fn the_same_seed_gives_the_same_text() {
    let place = Workplace::trained();
    for strategy in ["top-n", "sample"] {
        let arguments = [
            "--text",
            "The",
            "--strategy",
            strategy,
            "--seed",
            "5",
            "--bridge",
        ];
        let text = || json_of(&place, "generate", &arguments)["text"].clone();
        assert_eq!(text(), text(), "{strategy}");
    }
}

#[test]
fn what_goes_wrong_says_what_to_do() {
    let place = Workplace::trained();
    for (program, arguments, expected) in [
        (
            "predict",
            &["--kb", "nowhere", "--text", "a"][..],
            "error: there is no knowledge base at nowhere: check the directory, or train one into it",
        ),
        (
            "predict",
            &["--kb", "kb", "--node", "node7", "--text", "a"],
            "error: find node \"node7\": there is none; the nodes are node0, node1, node2",
        ),
        (
            "predict",
            &["--kb", "kb", "--text", "a", "--config", "[]"],
            "error: --config must be an object, such as {\"recall_threshold\": 0.3}",
        ),
        (
            "generate",
            &[
                "--kb",
                "kb",
                "--text",
                "a",
                "--strategy",
                "sample",
                "--temperature",
                "0",
            ],
            "error: 0 is no --temperature: it must be a finite number above 0",
        ),
        (
            "generate",
            &["--kb", "kb", "--text", "a", "--level", "9"],
            "error: 9 is no --level: there are 3, counted from 0",
        ),
    ] {
        let (code, message) = place.fails(program, arguments);
        // Only the first could be mended by training.
        let is_missing = arguments.contains(&"nowhere");
        let expected = (if is_missing { 1 } else { 2 }, expected);
        assert_eq!((code, message.trim_end()), expected);
    }
    let (code, message) = place.fails("generate", &["--kb", "kb", "--text", "a", "--seed", "5"]);
    let unused = "error: --seed has no effect: it is for --strategy top-n or sample\n";
    assert_eq!((code, message.starts_with(unused)), (2, true), "{message}");
    let (code, message) = place.fails("predict", &["--kb", "kb", "--stm", "[1]"]);
    assert_eq!(code, 2);
    assert!(
        message.contains("--stm must be a list of events"),
        "{message}"
    );
    assert_eq!(place.fails("predict", &["--kb", "kb"]).0, 2);
}
