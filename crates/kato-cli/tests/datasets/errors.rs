//! What goes wrong is told, with what to do about it.

use kato_hub_standin::Dataset;

use crate::place::{Place, json_lines};

#[test]
fn a_source_that_is_not_there_is_told_apart_by_what_it_looks_like() {
    let place = Place::new();
    for (source, expected) in [
        ("wikitxt", "did you mean `wikitext`?"),
        (
            "nowhere",
            "there is no file or directory `nowhere`, and no dataset is called `nowhere`",
        ),
        (
            "nowhere/a.jsonl",
            "input `nowhere/a.jsonl` cannot be opened",
        ),
        ("*.csv", "glob `*.csv` matches no file"),
        ("hf://me/nothing", "`hf://me/nothing` cannot be listed"),
        ("hf://me/corpus:validation", "has no split `validation`"),
        ("ftp://example.org/a.txt", "unknown scheme"),
        (
            "1.0*corpus.parquet nowhere.txt",
            "some sources have weights and others none",
        ),
        ("0.0*corpus.parquet", "must be more than 0"),
        ("c4 refinedweb", "`text` and `content`"),
    ] {
        // What the command line could say right is wrong usage.
        let usage = match expected {
            "has no split `validation`" | "unknown scheme" | "must be more than 0" => 2,
            "some sources have weights and others none" | "`text` and `content`" => 2,
            _ => 1,
        };
        for line in [format!("head {source}"), format!("info {source}")] {
            let (code, message) = place.fails("datasets", &line);
            assert_eq!(code, usage, "{line}: {message}");
            assert!(message.starts_with("error: "), "{line}: {message}");
            assert!(message.contains(expected), "{line}: {message}");
        }
        let (code, message) = place.fails("train", &format!("{source} --kb kb"));
        assert_eq!(code, usage, "{source}: {message}");
        assert!(!place.path("kb").exists(), "{source}");
    }
}

#[test]
fn a_setting_without_an_effect_and_one_that_cannot_be_are_refused() {
    let place = Place::new();
    let (code, message) = place.fails("datasets", "stats corpus.parquet --mixing-seed 3");
    assert_eq!(code, 2, "{message}");
    assert!(message.contains("--mixing-seed has no effect"), "{message}");
    let mut command = place.command("datasets", "info hf://me/corpus");
    let output = command.env("KATO_PRIVATE_REDIRECTS", "maybe").output();
    let output = output.unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{message}");
    let expected =
        "setting `KATO_PRIVATE_REDIRECTS` cannot be used: `maybe` is neither always nor never";
    assert!(message.contains(expected), "{message}");
}

#[test]
fn a_name_that_is_a_path_and_a_key_is_refused() {
    let place = Place::new();
    place.write("c4", "text");
    let (code, message) = place.fails("datasets", "head c4");
    assert_eq!(code, 2);
    assert!(
        message.contains("write ./c4 for the path, or hf://allenai/c4/en:train"),
        "{message}"
    );
    let head = place.json("datasets", "head ./c4");
    assert_eq!(head["documents"][0]["text"], "text");
}

#[test]
fn a_wrong_field_is_answered_with_those_there_are() {
    let place = Place::new();
    let (code, message) = place.fails("datasets", "head hf://me/corpus --field body");
    assert_eq!(code, 1);
    assert!(
        message.contains("no column `body` among text, number"),
        "{message}"
    );
    let info = place.json("datasets", "info hf://me/corpus --field body");
    let problem = info["problem"].as_str().unwrap();
    assert!(
        problem.contains("no column `body` among text, number"),
        "{problem}"
    );
    assert_eq!(info["rows"], serde_json::Value::Null);
}

#[test]
fn who_may_not_read_is_told_how_to() {
    let place = Place::new();
    place.hub.put_dataset(
        Dataset::new("me/secret")
            .file("data/train.jsonl", json_lines(0..3))
            .gated("hf_token"),
    );
    let (code, message) = place.fails("datasets", "head hf://me/secret");
    assert_eq!(code, 1);
    assert!(message.contains("may not be read"), "{message}");
    let mut command = place.command("datasets", "head hf://me/secret -n 1");
    let output = command.env("HF_TOKEN", "hf_token").output().unwrap();
    assert!(output.status.success());
}

#[test]
fn wrong_usage_is_told_apart_from_failure() {
    let place = Place::new();
    for line in [
        "",
        "head",
        "head corpus.parquet --epoch 1",
        "stats corpus.parquet --window 1MiB",
        "stats corpus.parquet --shard 2/2",
        "stats corpus.parquet --sample 2",
        "sample corpus.parquet --seed 1 --shuffle 2",
        "info corpus.parquet --cache-size 1GiB",
    ] {
        assert_eq!(place.fails("datasets", line).0, 2, "{line}");
    }
    assert_eq!(place.fails("train", "corpus.parquet --epoch 1").0, 2);
}

#[test]
fn policies_for_bad_records_are_those_of_the_loader() {
    let place = Place::new();
    place.write("rows.jsonl", format!("not JSON\n{}", json_lines(0..3)));
    let (code, message) = place.fails("datasets", "head rows.jsonl");
    assert_eq!(code, 1);
    assert!(message.contains("rows.jsonl, line 1"), "{message}");
    assert_eq!(
        place.fails("datasets", "stats rows.jsonl --on-bad fail").0,
        1
    );

    let stats = place.json("datasets", "stats rows.jsonl --on-bad skip-file");
    assert_eq!((&stats["documents"], &stats["bad"]), (&0.into(), &1.into()));
    let report = place.json("train", "rows.jsonl --kb kb --on-bad skip --levels 3");
    assert_eq!(
        (&report["samples_processed"], &report["errors"]),
        (&3.into(), &1.into())
    );
    let ledger = std::fs::read_to_string(place.path("kb/errors.jsonl")).unwrap();
    assert_eq!(ledger.lines().count(), 1);
}
