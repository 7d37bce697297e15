//! Many questions at once: `predict --batch` and `next --batch`.

use std::fs;
use std::io::Write;
use std::process::{Output, Stdio};

use serde_json::{Value, json};

use crate::programs::Workplace;

/// The lines of an output without the times that answers took.
fn lines_of(output: &[u8]) -> Vec<Value> {
    let text = str::from_utf8(output).unwrap();
    let parsed = text.lines().map(|line| {
        let mut answer: Value = serde_json::from_str(line).unwrap();
        answer.as_object_mut().unwrap().remove("milliseconds");
        answer
    });
    parsed.collect()
}

/// The answer to one question, as it is in a batch.
fn alone(place: &Workplace, program: &str, line: usize, arguments: &[&str]) -> Value {
    let arguments = [&["--kb", "kb", "--json"], arguments].concat();
    let answer = place.succeeds(program, &arguments);
    let mut answer = lines_of(answer.as_bytes()).remove(0);
    answer["line"] = json!(line);
    answer
}

/// What a program makes of questions on standard input.
fn asked(place: &Workplace, program: &str, arguments: &[&str], questions: &str) -> Output {
    let arguments = [&["--kb", "kb", "--batch", "-"], arguments].concat();
    let mut command = place.command(program, &arguments);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(questions.as_bytes()).unwrap();
    drop(stdin);
    child.wait_with_output().unwrap()
}

#[test]
fn predictions_of_a_batch_are_those_of_one_question_after_the_other() {
    let place = Workplace::trained();
    let questions = [
        json!({ "text": "The cat" }),
        json!({ "stm": [["The"], ["Ġdog"], ["Ġsat"]] }),
        json!({ "text": "zebra" }),
        json!({ "stm": [] }),
        json!({ "text": "A dog looked at the sea" }),
    ];
    let written = questions.each_ref().map(Value::to_string).join("\n");
    fs::write(place.path("questions.jsonl"), written).unwrap();
    let settings = ["--limit", "3", "--max-symbols", "2"];
    let arguments = [&["--kb", "kb", "--batch", "questions.jsonl"], &settings[..]].concat();
    let answers = lines_of(place.succeeds("predict", &arguments).as_bytes());
    let expected = (1..).zip(&questions).map(|(line, question)| {
        let stm = question["stm"].to_string();
        let of = match question["text"].as_str() {
            Some(text) => ["--text", text],
            None => ["--stm", &stm],
        };
        alone(&place, "predict", line, &[&of[..], &settings].concat())
    });
    assert_eq!(answers, expected.collect::<Vec<_>>());
}

#[test]
fn next_tokens_of_a_batch_are_those_of_one_text_after_the_other() {
    let place = Workplace::trained();
    let texts = ["The cat", "A dog looked", "", "zebra xylophone"];
    let questions = texts.map(|text| json!({ "text": text }).to_string());
    let output = asked(&place, "next", &["--limit", "3"], &questions.join("\n"));
    assert!(output.status.success());
    assert_eq!(output.stderr, b"");
    let expected = (1..).zip(texts);
    let expected =
        expected.map(|(line, text)| alone(&place, "next", line, &["--text", text, "--limit", "3"]));
    assert_eq!(lines_of(&output.stdout), expected.collect::<Vec<_>>());
}

#[test]
fn a_line_that_is_no_question_does_not_end_the_others() {
    let place = Workplace::trained();
    let questions = "{\"text\": \"The cat\"}\n\n{\"txt\": \"The cat\"}\n{\"text\": \"A dog\"}\n";
    for (program, form) in [
        (
            "predict",
            r#"{"text": "The cat"} or {"stm": [["The"],["Ġcat"]]}"#,
        ),
        ("next", r#"{"text": "The cat sat"}"#),
    ] {
        let output = asked(&place, program, &[], questions);
        assert_eq!(output.status.code(), Some(1), "{program}");
        let answers = lines_of(&output.stdout);
        let lines: Vec<&Value> = answers.iter().map(|answer| &answer["line"]).collect();
        assert_eq!(lines, [1, 3, 4], "{program}");
        let error = answers[1]["error"].as_str().unwrap();
        assert!(
            error.starts_with(&format!("a question looks like {form}: ")),
            "{error}"
        );
        let told = String::from_utf8(output.stderr).unwrap();
        let expected =
            "error: no answer to 1 of 3 questions in standard input, the first in line 3: ";
        assert!(told.starts_with(expected), "{told}");
    }
}

#[test]
fn a_batch_that_cannot_be_opened_is_an_error_before_the_knowledge_base_is_looked_for() {
    let place = Workplace::new();
    for program in ["predict", "next"] {
        let arguments = ["--kb", "nowhere", "--batch", "missing.jsonl"];
        let (code, told) = place.fails(program, &arguments);
        assert_eq!(code, 1);
        assert!(
            told.starts_with("error: failed to open missing.jsonl: "),
            "{told}"
        );
    }
}
