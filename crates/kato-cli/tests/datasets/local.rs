//! Local sources, mixtures, and datasets of the user's own registry.

use std::io::Read;
use std::process::Stdio;

use crate::place::{Place, json_lines, text};

#[test]
fn a_mixture_holds_every_row_of_its_sources_once() {
    let place = Place::new();
    place.write("a.jsonl", json_lines(0..30));
    place.write("b.jsonl", json_lines(30..60));
    let stats = place.json("datasets", "stats 0.7*a.jsonl 0.3*b.jsonl");
    assert_eq!(
        (&stats["documents"], &stats["complete"]),
        (&60.into(), &true.into())
    );
    let head = |options: &str| {
        let line = format!("head 0.7*a.jsonl 0.3*b.jsonl -n 60 {options}");
        place.json("datasets", &line)["documents"].clone()
    };
    assert_ne!(head(""), head("--mixing-seed 1"));
    let stopped = head("--when-exhausted stop");
    assert!(stopped.as_array().unwrap().len() < 60);
}

#[test]
fn shards_hold_every_row_once() {
    let place = Place::new();
    let documents = |shard: &str| {
        let line = format!("stats corpus.parquet --shuffle 1 --window 1 --shard {shard}");
        place.json("datasets", &line)["documents"].as_u64().unwrap()
    };
    assert_eq!(documents("0/2") + documents("1/2"), 60);
}

#[test]
fn the_users_registry_gives_sources_keys() {
    let place = Place::new();
    place.write(
        "letters.jsonl",
        json_lines(0..3).replace("\"text\"", "\"body\""),
    );
    let toml = "[[dataset]]\nkey = \"letters\"\nsource = \"letters.jsonl\"\ntext_field = \"body\"\nrows = 4\n";
    place.write("mine.toml", toml);
    let head = place.json("datasets", "head letters --registry mine.toml -n 1");
    assert_eq!(head["documents"][0]["text"], text(0).as_str());

    let mut command = place.command("datasets", "list --rate 2 --json");
    let output = command.env("KATO_DATASETS", "mine.toml").output().unwrap();
    let list: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let last = list["datasets"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(
        (&last["key"], &last["seconds"]),
        (&"letters".into(), &2.0.into())
    );

    let info = place.json("datasets", "info letters --registry mine.toml --rate 2");
    assert_eq!(
        (&info["rows"], &info["rows_are_counted"]),
        (&4.into(), &false.into())
    );
    assert_eq!(info["text_field"], "body");
    assert_eq!(info["network"], serde_json::Value::Null);
}

#[test]
fn the_rate_of_the_list_is_measured_when_it_is_not_given() {
    let place = Place::new();
    let list = place.json("datasets", "list");
    assert!(list["rate"]["documents_per_second"].as_f64().unwrap() > 0.0);
    let source = list["rate"]["source"].as_str().unwrap();
    assert!(source.starts_with("measured now:"), "{source}");
    assert_eq!(list["datasets"].as_array().unwrap().len(), 9);
}

#[test]
fn what_is_left_out_is_counted() {
    let place = Place::new();
    let lines = format!(
        "{}{{\"text\": \" \"}}\n{{\"text\": \"ab\"}}\nnot JSON\n",
        json_lines(0..5)
    );
    place.write("rows.jsonl", lines);
    let stats = place.json("datasets", "stats rows.jsonl --min-chars 2");
    for (key, count) in [
        ("records", 8),
        ("documents", 5),
        ("blank", 1),
        ("short", 1),
        ("bad", 1),
    ] {
        assert_eq!(stats[key], count, "{key}");
    }
    assert_eq!(stats["bad_records"][0]["line"], 8);
    let shown = place.succeeds("datasets", "stats rows.jsonl");
    assert!(
        shown.contains("8 rows, 6 documents, 1 blank, 1 bad; that is all"),
        "{shown}"
    );
    assert!(shown.contains("rows.jsonl, line 8"), "{shown}");

    let sampled = place.json("datasets", "stats rows.jsonl --sample 0.5");
    assert!(sampled["not_sampled"].as_u64().unwrap() > 0);
    let skipped = place.json("datasets", "stats rows.jsonl --skip 6");
    assert_eq!(
        (&skipped["passed_over"], &skipped["documents"]),
        (&6.into(), &1.into())
    );
}

#[test]
fn standard_input_is_a_source_and_a_reader_that_has_enough_is_no_error() {
    let place = Place::new();
    let mut command = place.command("datasets", "head - --text-unit line -n 100000 --full");
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut input, "a line of text\n".repeat(100_000).as_bytes()).unwrap();
    drop(input);
    let mut output = child.stdout.take().unwrap();
    output.read_exact(&mut [0; 10]).unwrap();
    drop(output);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
