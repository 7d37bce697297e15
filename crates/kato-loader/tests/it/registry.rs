//! The registry: what is built in, what a user's file may say, and what is said about a file or a
//! key that is wrong.

use std::time::Duration;

use kato_loader::registry::{DatasetEntry, Registry, RegistryError, format_duration};
use proptest::prelude::*;

use crate::support::{Folder, builder, documents};

#[test]
fn the_builtin_datasets_are_the_nine_of_the_original() {
    let registry = Registry::builtin();
    let line = |entry: &DatasetEntry| serde_json::to_string(entry).unwrap();
    let lines: Vec<String> = registry.entries().iter().map(line).collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    {"key":"c4","source":"hf://allenai/c4/en:train","text_field":"text","rows":364868892}
    {"key":"redpajama_sample","source":"hf://togethercomputer/RedPajama-Data-1T-Sample:train","text_field":"text","rows":1000000}
    {"key":"pile","source":"hf://monology/pile-uncopyrighted:train","text_field":"text","rows":210000000}
    {"key":"refinedweb","source":"hf://tiiuae/falcon-refinedweb:train","text_field":"content","rows":968000015}
    {"key":"dolma","source":"hf://allenai/dolma:train","text_field":"text","rows":3000000000}
    {"key":"wikitext","source":"hf://Salesforce/wikitext/wikitext-103-raw-v1:train","text_field":"text","rows":1801350}
    {"key":"openwebtext","source":"hf://Skylion007/openwebtext:train","text_field":"text","rows":8013769}
    {"key":"bookcorpus","source":"hf://bookcorpusopen:train","text_field":"text","rows":74000000}
    {"key":"simple_wiki","source":"hf://legacy-datasets/wikipedia/20220301.simple:train","text_field":"text","rows":205328}
    "#);
}

#[test]
fn a_file_adds_datasets_and_replaces_those_of_the_same_key() {
    let folder = Folder::new();
    let path = folder.write(
        "datasets.toml",
        r#"
[[dataset]]
key = "c4"
source = "https://example.org/c4.parquet"

[[dataset]]
key = "letters"
source = "letters/*.jsonl"
text_field = "body"
id_field = "letter_id"
rows = 120_000
description = "Letters, 1850 to 1900"
"#,
    );
    let mut registry = Registry::builtin();
    registry.read_toml(&path).unwrap();

    let keys: Vec<&str> = registry
        .entries()
        .iter()
        .map(|entry| entry.key.as_str())
        .collect();
    assert_eq!(
        (keys.len(), keys[0], keys[9]),
        (10, "c4", "letters"),
        "a replaced entry stays where it was, a new one goes to the end"
    );
    let c4 = registry.get("c4").unwrap();
    assert_eq!(c4.source, "https://example.org/c4.parquet");
    assert_eq!(c4.rows, None, "nothing of the replaced entry remains");
    let letters = registry.get("letters").unwrap();
    assert_eq!(letters.text_field, "body");
    assert_eq!(letters.id_field.as_deref(), Some("letter_id"));
    assert_eq!(letters.rows, Some(120_000));
    assert_eq!(
        letters.description.as_deref(),
        Some("Letters, 1850 to 1900")
    );
}

#[test]
fn relative_paths_in_a_file_are_taken_from_its_folder() {
    let folder = Folder::new();
    folder.write(
        "corpora/letters.jsonl",
        "{\"id\": 7, \"body\": \"Dear friend\"}\n",
    );
    let path = folder.write(
        "datasets.toml",
        "[[dataset]]\nkey = \"letters\"\nsource = \"corpora/letters.jsonl\"\ntext_field = \"body\"\nid_field = \"id\"\n",
    );
    let mut registry = Registry::new();
    registry.read_toml(&path).unwrap();
    let read = documents(builder().with_dataset(registry.get("letters").unwrap()));
    assert_eq!(read[0].text, "Dear friend");
    assert_eq!(read[0].id.to_string(), "7");

    for complete in ["-", "hf://a/b", "/data/rows.parquet"] {
        let path = folder.write(
            "complete.toml",
            format!("[[dataset]]\nkey = \"k\"\nsource = \"{complete}\"\n"),
        );
        let mut registry = Registry::new();
        registry.read_toml(&path).unwrap();
        assert_eq!(registry.entries()[0].source, complete);
    }
}

#[test]
fn no_dataset_is_read_by_the_field_of_another() {
    let folder = Folder::new();
    let entry = |key: &str, id_field: Option<&str>, text_field: &str| {
        let row =
            format!("{{\"id\": \"{key} 7\", \"text\": \"t {key}\", \"body\": \"b {key}\"}}\n");
        let path = folder.write(&format!("{key}.jsonl"), row);
        let mut entry = DatasetEntry::new(key, path.to_str().unwrap());
        entry.id_field = id_field.map(str::to_owned);
        entry.text_field = text_field.to_owned();
        entry
    };
    let plain = entry("plain", None, "text");
    let named = entry("named", Some("id"), "text");
    let letters = entry("letters", None, "body");
    let both = |one, other| builder().with_dataset(one).with_dataset(other);
    for (one, other, expected) in [
        (&named, &plain, "names the documents"),
        (&plain, &named, "names the documents"),
        (&plain, &letters, "holds the text"),
    ] {
        let error = both(one, other).build().unwrap_err();
        assert_eq!(error.class(), kato_advice::ErrorClass::Usage);
        assert!(error.to_string().contains(expected), "{error}");
    }
    // What the caller says counts for all.
    let read = documents(both(&named, &plain).with_id_field("id"));
    let ids: Vec<String> = read.iter().map(|read| read.id.to_string()).collect();
    assert_eq!(ids, ["named 7", "plain 7"]);
    let read = documents(both(&plain, &letters).with_text_field("body"));
    assert_eq!(read[0].text, "b plain");
    // Ahead of them as well.
    let first = builder().with_text_field("body").with_id_field("id");
    let read = documents(first.with_dataset(&plain).with_dataset(&named));
    let read: Vec<String> = read
        .iter()
        .map(|read| format!("{} {}", read.id, read.text))
        .collect();
    assert_eq!(read, ["plain 7 b plain", "named 7 b named"]);
    // Of a mixture each has its own.
    let of = |entry| builder().with_dataset(entry);
    let mixed = builder()
        .with_mixed(1.0, of(&named))
        .with_mixed(1.0, of(&plain))
        .with_mixed(1.0, of(&letters));
    let mut ids: Vec<String> = documents(mixed)
        .iter()
        .map(|read| format!("{} {}", read.id, read.text))
        .collect();
    ids.sort_unstable();
    assert!(ids[0].ends_with("letters.jsonl#1 b letters"), "{ids:?}");
    assert!(ids[1].ends_with("plain.jsonl#1 t plain"), "{ids:?}");
    assert_eq!(ids[2], "named 7 t named");
}

#[test]
fn a_file_that_is_wrong_is_refused_with_its_line_and_changes_nothing() {
    let cases = [
        (
            "[[dataset]]\nkey = \"a\"\nsource = \"b\"\nfield = \"c\"\n",
            4,
            "unknown field `field`, expected one of `key`, `source`, `text_field`, `id_field`, `rows`, `description`",
        ),
        (
            "[[datasets]]\nkey = \"a\"\n",
            1,
            "unknown field `datasets`, expected `dataset`",
        ),
        ("\n[[dataset]]\nkey = \"a\"\n", 2, "missing field `source`"),
        (
            "[[dataset]]\nkey = \"a\"\nsource = \"b\"\nrows = -1\n",
            4,
            "invalid value: integer `-1`, expected u64",
        ),
        (
            "[[dataset]]\nkey = \"a\"\nsource = 3\n",
            3,
            "invalid type: integer `3`, expected a string",
        ),
        (
            "[[dataset]]\nkey = \"a\"\nsource = \"b\"\n\n[[dataset]]\nkey = \"a\"\nsource = \"c\"\n",
            5,
            "the key `a` is given twice; choose another",
        ),
        (
            "[[dataset]]\nkey = \"a/b\"\nsource = \"c\"\n",
            1,
            "the key `a/b` is not allowed; use letters, digits, `_`, `-` and `.`",
        ),
        (
            "[[dataset]]\nkey = \"a\"\nsource = \"b\"\ntext_field = \"\"\n",
            1,
            "`text_field` of `a` is empty; give it a value",
        ),
    ];
    for (toml, expected_line, expected_reason) in cases {
        let mut registry = Registry::builtin();
        let error = registry.parse_toml("sets.toml", toml).unwrap_err();
        let RegistryError::Invalid { file, line, reason } = &error else {
            panic!("{error}");
        };
        assert_eq!(
            (file.as_str(), *line, reason.as_str()),
            ("sets.toml", expected_line, expected_reason),
            "{toml}"
        );
        assert_eq!(registry, Registry::builtin());
    }
    let error = Registry::new()
        .parse_toml("sets.toml", "[[dataset]\n")
        .unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("registry `sets.toml`, line 1: ")
    );

    let missing = Folder::new().at("none.toml");
    let error = Registry::new().read_toml(&missing).unwrap_err();
    assert!(matches!(error, RegistryError::Unreadable { .. }));
    assert!(std::error::Error::source(&error).is_some());
}

#[test]
fn a_wrong_key_is_answered_with_the_closest() {
    let registry = Registry::builtin();
    let cases = [
        ("wikitxt", Some("wikitext")),
        ("WikiText", Some("wikitext")),
        ("simple-wiki", Some("simple_wiki")),
        ("redpajama", Some("redpajama_sample")),
        ("refined_web", Some("refinedweb")),
        ("the_pile", Some("pile")),
        ("bookscorpus", Some("bookcorpus")),
        ("imagenet", None),
        ("", None),
    ];
    for (word, expected) in cases {
        let closest = registry.closest(word).map(|entry| entry.key.as_str());
        assert_eq!(closest, expected, "{word}");
    }
    let message = |word| registry.require(word).unwrap_err().to_string();
    assert!(
        message("dolmas")
            .starts_with("no dataset is called `dolmas`; did you mean `dolma`? (known are c4, ")
    );
    assert!(message("imagenet").starts_with("no dataset is called `imagenet`; known are c4, "));
    let empty = Registry::new().require("c4").unwrap_err();
    assert_eq!(
        empty.to_string(),
        "no dataset is called `c4`; the registry is empty"
    );
}

#[test]
fn a_time_is_estimated_from_a_measured_rate() {
    let registry = Registry::builtin();
    let wiki = registry.get("simple_wiki").unwrap();
    let seconds = Duration::from_secs_f64;
    assert_eq!(wiki.time_for(1000, 44.0), Some(seconds(1000.0 / 44.0)));
    assert_eq!(
        wiki.time_for(u64::MAX, 44.0),
        Some(seconds(205_328.0 / 44.0)),
        "no more rows are counted than there are"
    );
    let unknown = DatasetEntry::new("k", "rows.jsonl");
    assert_eq!(unknown.time_for(10, 1e-300), None, "beyond a duration");
    for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(wiki.time_for(1000, rate), None, "{rate}");
    }
}

#[test]
fn a_time_is_shown_in_the_unit_that_suits_it() {
    let cases = [
        (0.0, "0.0s"),
        (22.73, "22.7s"),
        (59.94, "59.9s"),
        (59.96, "1.0m"),
        (150.0, "2.5m"),
        (3_599.0, "1.0h"),
        (4_666.0, "1.3h"),
        (86_399.0, "1.0d"),
        (829_440.0, "9.6d"),
        (365_000_000.0, "4224.5d"),
    ];
    for (seconds, expected) in cases {
        assert_eq!(format_duration(Duration::from_secs_f64(seconds)), expected);
    }
    assert!(format_duration(Duration::MAX).ends_with('d'));
}

fn entry() -> impl Strategy<Value = DatasetEntry> {
    let key = "[a-z0-9_.-]{1,12}";
    let text = ".{1,20}";
    (
        key,
        text,
        text,
        proptest::option::of(text),
        proptest::option::of(0..i64::MAX as u64),
        proptest::option::of(".{0,20}"),
    )
        .prop_map(|(key, source, text_field, id_field, rows, description)| {
            let mut entry = DatasetEntry::new(key, source);
            entry.text_field = text_field;
            entry.id_field = id_field;
            entry.rows = rows;
            entry.description = description;
            entry
        })
}

proptest! {
    #[test]
    fn what_is_written_as_toml_is_read_back(entries in proptest::collection::vec(entry(), 0..6)) {
        let mut expected = Registry::new();
        for entry in entries {
            expected.insert(entry);
        }
        let mut text = String::new();
        for entry in expected.entries() {
            text.push_str("[[dataset]]\n");
            text.push_str(&toml::to_string(entry).unwrap());
        }
        let mut read = Registry::new();
        read.parse_toml("written.toml", &text).unwrap();
        prop_assert_eq!(read, expected);
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "(\\PC|\n|\\[\\[dataset\\]\\]\n|key = \"a\"\n|source = ){0,30}") {
        let mut registry = Registry::new();
        if let Err(error) = registry.parse_toml("any.toml", &text) {
            let is_invalid = matches!(error, RegistryError::Invalid { .. });
            prop_assert!(is_invalid);
            prop_assert!(registry.entries().is_empty());
        }
    }

    #[test]
    fn merging_keeps_every_key_once_and_the_latest_entry(
        first in proptest::collection::vec(entry(), 0..6),
        second in proptest::collection::vec(entry(), 0..6),
    ) {
        let registry = |entries: Vec<DatasetEntry>| {
            let mut registry = Registry::new();
            for entry in entries {
                registry.insert(entry);
            }
            registry
        };
        let (first, second) = (registry(first), registry(second));
        let mut merged = first.clone();
        merged.merge(second.clone());
        for entry in merged.entries() {
            let expected = second.get(&entry.key).or(first.get(&entry.key));
            prop_assert_eq!(Some(entry), expected);
        }
        let added = second.entries().iter().filter(|entry| first.get(&entry.key).is_none());
        prop_assert_eq!(merged.entries().len(), first.entries().len() + added.count());
    }
}
