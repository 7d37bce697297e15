//! What programs read: the JSON of every mode, and lines that leave a knowledge base and come back.

use std::collections::BTreeMap;
use std::fs;
use std::process::Stdio;

use kato_tokenizer::{Tokenizer, gpt2};
use serde_json::{Value, json};

use crate::programs::Workplace;

#[test]
fn the_overview_says_what_the_exported_lines_add_up_to() {
    let place = Workplace::trained();
    let overview = place.inspect_json(&["--kb", "kb", "--limit", "3"]);
    assert_eq!(overview["complete"], true);
    assert_eq!(overview["tokenizer"], "gpt2");
    assert_eq!(overview["corpus"]["documents"], 60);
    assert_eq!(overview["corpus"]["files"], json!(["corpus.jsonl"]));
    assert_eq!(overview["changed_settings"]["min_paragraph_chars"], 5);
    let mut patterns = 0;
    for (node, chunk_size) in overview["nodes"].as_array().unwrap().iter().zip([3, 2, 2]) {
        let lines = place.exported(node["node"].as_str().unwrap());
        patterns += lines.len();
        let mut expected: Vec<(u64, &str)> = Vec::new();
        let mut histogram: BTreeMap<u64, u64> = BTreeMap::new();
        let mut symbols = 0;
        for line in &lines {
            let frequency = line["frequency"].as_u64().unwrap();
            *histogram.entry(frequency).or_default() += 1;
            symbols += frequency * line["length"].as_u64().unwrap();
            expected.push((frequency, line["name"].as_str().unwrap()));
        }
        let observations: u64 = expected.iter().map(|(frequency, _)| frequency).sum();
        let within = |low, high| {
            histogram
                .range(low..=high)
                .map(|(_, count)| count)
                .sum::<u64>()
        };
        let statistics = &node["statistics"];
        assert_eq!(node["chunk_size"], chunk_size);
        assert_eq!(node["totals"]["learns"], observations);
        assert_eq!(node["totals"]["learned_symbols"], symbols);
        assert_eq!(statistics["patterns"], lines.len());
        assert_eq!(statistics["learns"], observations);
        assert_eq!(statistics["mean"], observations as f64 / lines.len() as f64);
        assert_eq!(statistics["max"], *histogram.keys().next_back().unwrap());
        let ranges = json!({
            "freq_1": within(1, 1), "freq_2_5": within(2, 5), "freq_6_10": within(6, 10),
            "freq_11_50": within(11, 50), "freq_50_plus": within(51, u64::MAX),
        });
        assert_eq!(statistics["ranges"], ranges);
        let bars: Vec<Value> = histogram
            .iter()
            .map(|(frequency, count)| json!({"frequency": frequency, "patterns": count}))
            .collect();
        assert_eq!(statistics["histogram"], json!(bars));

        expected.sort_by_key(|&(frequency, name)| (std::cmp::Reverse(frequency), name));
        let top: Vec<(u64, &str)> = node["top"]
            .as_array()
            .unwrap()
            .iter()
            .map(|pattern| {
                (
                    pattern["frequency"].as_u64().unwrap(),
                    pattern["name"].as_str().unwrap(),
                )
            })
            .collect();
        assert_eq!(top, expected[..3]);
        // The histogram has its own view of the same numbers.
        let name = node["node"].as_str().unwrap();
        let histogram = place.inspect_json(&["--kb", "kb", "--node", name, "--histogram"]);
        assert_eq!(
            histogram,
            json!({"nodes": [{"node": name, "statistics": statistics}]})
        );
    }
    let bytes = overview["disk_bytes"].as_f64().unwrap();
    assert_eq!(overview["bytes_per_pattern"], bytes / patterns as f64);
}

/// The tokens below a pattern of `inspect --pattern --json`, after checking it and all below
/// against the exported lines.
fn tokens(pattern: &Value, lines: &BTreeMap<String, Value>) -> Vec<String> {
    let line = &lines[pattern["name"].as_str().unwrap()];
    assert_eq!(pattern["frequency"], line["frequency"]);
    assert_eq!(pattern["metadata"], line["metadata"]);
    assert_eq!(pattern["emotives"], line["emotives"]);
    let mut tokens = Vec::new();
    let events = pattern["events"].as_array().unwrap();
    assert_eq!(events.len(), line["pattern_data"].as_array().unwrap().len());
    for (event, expected) in events.iter().zip(line["pattern_data"].as_array().unwrap()) {
        for (symbol, expected) in event
            .as_array()
            .unwrap()
            .iter()
            .zip(expected.as_array().unwrap())
        {
            match symbol {
                Value::String(token) => {
                    assert_eq!(symbol, expected);
                    tokens.push(token.clone());
                }
                below => {
                    assert_eq!(
                        format!("PTRN|{}", below["name"].as_str().unwrap()),
                        expected.as_str().unwrap()
                    );
                    tokens.extend(self::tokens(below, lines));
                }
            }
        }
    }
    let parts: Vec<&str> = tokens.iter().map(String::as_str).collect();
    assert_eq!(pattern["text"], gpt2().decode_tokens(&parts));
    tokens
}

#[test]
fn every_pattern_is_traced_to_tokens_that_spell_its_text_in_the_document_that_it_is_from() {
    let place = Workplace::trained();
    let mut lines = BTreeMap::new();
    for node in ["node0", "node1", "node2"] {
        lines.extend(
            place
                .exported(node)
                .into_iter()
                .map(|line| (line["name"].as_str().unwrap().to_owned(), line)),
        );
    }
    let corpus = fs::read_to_string(place.path("corpus.jsonl")).unwrap();
    let documents: Vec<Value> = corpus
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    for line in place.exported("node2").iter().take(5) {
        let pattern =
            place.inspect_json(&["--kb", "kb", "--pattern", line["name"].as_str().unwrap()]);
        assert_eq!(pattern["node"], "node2");
        assert!(!tokens(&pattern, &lines).is_empty());
        let document_idx = pattern["first_seen"]["document_idx"].as_u64().unwrap();
        let document = &documents[usize::try_from(document_idx).unwrap()];
        assert_eq!(pattern["document"], document["id"]);
        // A pattern may reach over the blank line between paragraphs, which belongs to neither.
        let text = document["text"].as_str().unwrap().replace("\n\n", "");
        assert!(
            text.contains(pattern["text"].as_str().unwrap()),
            "{pattern} in {document}"
        );
    }
}

#[test]
fn exported_and_imported_elsewhere_and_exported_again_the_bytes_are_the_same() {
    let place = Workplace::trained();
    place.train("empty.txt", "copy");
    for node in ["node0", "node1", "node2"] {
        let exported = place.inspect_json(&["--kb", "kb", "--node", node, "--export", "a.jsonl"]);
        let bytes = fs::read(place.path("a.jsonl")).unwrap();
        let n_lines = bytes.iter().filter(|&&byte| byte == b'\n').count();
        assert_eq!(
            exported,
            json!({"node": node, "exported": n_lines, "file": "a.jsonl"})
        );

        let imported = place.inspect_json(&["--kb", "copy", "--node", node, "--import", "a.jsonl"]);
        assert_eq!(
            (&imported["node"], &imported["imported"]),
            (&json!(node), &json!(n_lines))
        );
        assert_eq!(imported["new_patterns"], n_lines);
        place.inspect(&["--kb", "copy", "--node", node, "--export", "b.jsonl"]);
        assert!(fs::read(place.path("b.jsonl")).unwrap() == bytes, "{node}");

        let again = place.inspect_json(&["--kb", "copy", "--node", node, "--import", "a.jsonl"]);
        assert_eq!(
            (&again["new_patterns"], &again["learns"]),
            (&json!(0), &imported["learns"])
        );
    }
    assert_eq!(place.parts(), [] as [String; 0]);
}

#[test]
fn lines_can_go_through_a_pipe() {
    let place = Workplace::trained();
    place.train("empty.txt", "copy");
    let mut export = place
        .command("inspect", &["--kb", "kb", "--export", "-"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut import = place.command("inspect", &["--kb", "copy", "--import", "-", "--json"]);
    let output = import
        .stdin(export.stdout.take().unwrap())
        .output()
        .unwrap();
    assert!(export.wait().unwrap().success() && output.status.success());
    let imported: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(imported["imported"], place.exported("node0").len());
}

#[test]
fn training_prints_one_object_with_these_keys() {
    let report = Workplace::new().train("corpus.jsonl", "kb");
    let keys = |value: &Value| {
        value
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect::<Vec<_>>()
    };
    insta::assert_json_snapshot!([
        keys(&report),
        keys(&report["levels"][0]),
        keys(&report["dropped"]),
        keys(&report["stage_seconds"])
    ]);
    assert_eq!(
        (&report["samples_processed"], &report["complete"]),
        (&json!(60), &json!(true))
    );
}
