//! What cannot be read is reported with its place and reason, and never passed over silently.

use std::fs;

use kato_loader::bad_record::{BadReason, SkippedExtent};
use kato_loader::{BadRecord, LoadError, OnBadRecord, Order, TextUnit};

use crate::support::{Folder, builder, failure, gzip, lenient, with_ledger, zstd};

pub(crate) fn check_ledger(
    name: &str,
    content: impl AsRef<[u8]>,
    documents: &[&str],
    ledger: &[&str],
) {
    let folder = Folder::new();
    let path = folder.write(name, content);
    let open = || {
        builder()
            .with_input(&path)
            .with_text_unit(TextUnit::Line)
            .with_max_record_bytes(60)
    };
    assert_eq!(
        with_ledger(open()),
        (
            documents.iter().map(|text| (*text).to_owned()).collect(),
            ledger.iter().map(|words| (*words).to_owned()).collect()
        ),
        "{name}"
    );
    // The same record ends the stream under the other policy.
    let message = failure(open()).to_string();
    assert!(
        message.contains(
            ledger[0]
                .split_once(':')
                .unwrap()
                .1
                .split(" (")
                .next()
                .unwrap()
        ),
        "{message}"
    );
}

#[test]
fn plain_text() {
    check_ledger(
        "a.txt",
        b"good\nb\xFFd\ngood again",
        &["good", "good again"],
        &["a.txt, line 2, byte 5: text is not valid UTF-8 after 1 bytes"],
    );
    check_ledger(
        "a.txt",
        format!("a\n{}\nb\n{}", "x".repeat(61), "y".repeat(400_000)),
        &["a", "b"],
        &[
            "a.txt, line 2, byte 2: record is longer than 60 bytes",
            "a.txt, line 4, byte 66: record is longer than 60 bytes",
        ],
    );
    check_ledger(
        "a.txt",
        format!("{}\r\n", "x".repeat(60)).replace("\r\n", "\n") + &"z".repeat(61),
        &[&"x".repeat(60)],
        &["a.txt, line 2, byte 61: record is longer than 60 bytes"],
    );
}

#[test]
fn json_lines() {
    check_ledger(
        "a.jsonl",
        "{\"text\":\"a\"}\n{\"text\":\"b\"\n{\"text\":1}\n{\"t\":1}\n{\"text\":null}\n[1]\n{\"text\":\"\\ud800\"}\n{\"text\":\"z\"} x\n",
        &["a"],
        &[
            "a.jsonl, line 2, byte 13: not a JSON object: EOF while parsing an object (column 11)",
            "a.jsonl, line 3, byte 25: field `text` holds a number, not text",
            "a.jsonl, line 4, byte 36: field `text` is missing or null",
            "a.jsonl, line 5, byte 44: field `text` is missing or null",
            "a.jsonl, line 6, byte 58: not a JSON object: invalid type: sequence, expected a JSON object (column 0)",
            "a.jsonl, line 7, byte 62: not a JSON object: unexpected end of hex escape (column 16)",
            "a.jsonl, line 8, byte 80: not a JSON object: trailing characters (column 14)",
        ],
    );
    check_ledger(
        "a.jsonl",
        b"{\"text\":\"a\xC3\"}\n{\"text\":{\"a\":[]}}\n{\"text\":[]}\n{\"text\":true}",
        &[],
        &[
            "a.jsonl, line 1, byte 0: text is not valid UTF-8 after 10 bytes",
            "a.jsonl, line 2, byte 14: field `text` holds an object, not text",
            "a.jsonl, line 3, byte 32: field `text` holds an array, not text",
            "a.jsonl, line 4, byte 44: field `text` holds a boolean, not text",
        ],
    );
}

#[test]
fn delimited_rows() {
    check_ledger(
        "a.csv",
        "id,text\r\n1,a\r\n2\r\n\r\n3,c,d\r\n4,e\r\n",
        &["a", "e"],
        &[
            "a.csv, line 3, byte 14: 1 fields where the header has 2",
            "a.csv, line 5, byte 19: 3 fields where the header has 2",
        ],
    );
    check_ledger(
        "a.csv",
        b"id,text\n1,\"x\ny\"\n2,\xFF\n3,z",
        &["x\ny", "z"],
        &["a.csv, line 4, byte 16: text is not valid UTF-8 after 0 bytes"],
    );
    check_ledger(
        "a.csv",
        "id,text\n1,a\n2,\"b\n3,c\n",
        &["a"],
        &["a.csv, line 3, byte 12: a quoted field is never closed (rest of the file lost)"],
    );
    // A lost quote makes one row of two, of as many fields. Blanks behind a quote are no sign of it.
    check_ledger(
        "a.csv",
        "id,text\n1,\"a\n2,\"b\"\n3,\"c\" \n4,\"d \"\"e\"\"\"\n",
        &["c ", "d \"e\""],
        &[
            "a.csv, line 2, byte 8: text stands behind the closing quote of a field: is a quote missing?",
        ],
    );
    check_ledger(
        "a.csv",
        format!(
            "id,text\n1,{}\n2,b\n3,{}\n4,d",
            "x".repeat(100),
            ",".repeat(3000)
        ),
        &["b", "d"],
        &[
            "a.csv, line 2, byte 8: record is longer than 60 bytes",
            "a.csv, line 4, byte 115: record is longer than 60 bytes",
        ],
    );
    check_ledger(
        "a.csv",
        "id,body\n1,a\n",
        &[],
        &["a.csv, line 1: no column `text` among id, body (rest of the file lost)"],
    );
    check_ledger(
        "a.csv",
        "\"id,text\n",
        &[],
        &["a.csv, line 1: a quoted field is never closed (rest of the file lost)"],
    );
}

#[test]
fn a_cut_off_archive_costs_its_rest_and_no_other_file() {
    let lines: String = (0..20_000)
        .map(|n| format!("line {n} {}\n", n * n))
        .collect();
    let folder = Folder::new();
    for (name, archive) in [
        ("a.txt.gz", gzip(lines.as_bytes())),
        ("a.txt.zst", zstd(lines.as_bytes())),
    ] {
        let broken = folder.write(name, &archive[..archive.len() * 9 / 10]);
        let whole = folder.write("b.txt", "whole\n");
        let open = || lenient(&broken).with_input(&whole);
        let mut loader = open().build().unwrap();
        let documents: Vec<_> = loader
            .by_ref()
            .map(|document| document.unwrap().text)
            .collect();
        assert!(
            (1000..20_000).contains(&documents.len()),
            "{}",
            documents.len()
        );
        assert_eq!(documents.last().unwrap(), "whole");
        let ledger = loader.take_bad_records();
        assert_eq!(ledger.len(), 1);
        assert_eq!(ledger[0].lost, SkippedExtent::RestOfFile);
        assert_eq!(ledger[0].line, Some(documents.len() as u64));
        assert!(matches!(ledger[0].reason, BadReason::Corrupt { .. }));
        let error = failure(open().on_bad_record(OnBadRecord::Fail));
        assert!(std::error::Error::source(&error).is_some());
    }
}

#[test]
#[cfg(feature = "parquet")]
fn damaged_archives_of_all_kinds_are_reported() {
    for (name, content) in [
        ("empty.txt.gz", Vec::new()),
        ("empty.txt.zst", Vec::new()),
        ("tail.txt.gz", [gzip(b"x\n"), b"garbage".to_vec()].concat()),
        ("a.parquet", b"PAR1\x15 no such thing PAR1".to_vec()),
        ("b.parquet", Vec::new()),
    ] {
        let folder = Folder::new();
        let (_, ledger) = with_ledger(builder().with_input(folder.write(name, content)));
        assert_eq!(ledger.len(), 1, "{name}");
        assert!(
            ledger[0].contains("data is damaged or cut off"),
            "{name}: {}",
            ledger[0]
        );
    }
    for (name, content, expected) in [
        (
            "plain.txt.gz",
            &b"no archive at all"[..],
            "read as gzip, and looks like plain text",
        ),
        (
            "plain.txt.zst",
            b"no archive at all",
            "read as zstd, and looks like plain text",
        ),
        (
            "plain.parquet",
            b"no archive at all",
            "read as Parquet, and looks like plain text",
        ),
        (
            "gzip.parquet",
            b"\x1F\x8B\x08\0\0\0\0\0",
            "read as Parquet, and looks like gzip",
        ),
    ] {
        let folder = Folder::new();
        let (_, ledger) = with_ledger(builder().with_input(folder.write(name, content)));
        assert_eq!(ledger.len(), 1, "{name}");
        assert!(ledger[0].contains(expected), "{name}: {}", ledger[0]);
    }
}

#[test]
fn an_oversized_file_asks_for_another_unit() {
    let folder = Folder::new();
    let path = folder.write("a.txt", "x".repeat(100));
    let other = folder.write("b.txt", "y");
    let open = || {
        builder()
            .with_input(&path)
            .with_input(&other)
            .with_max_record_bytes(99)
    };
    let advice = failure(open()).advice().unwrap().to_string();
    assert!(advice.contains("with_text_unit"), "{advice}");
    let (documents, ledger) = with_ledger(open());
    assert_eq!(documents, ["y"]);
    assert_eq!(
        ledger,
        ["a.txt, line 1, byte 0: record is longer than 99 bytes (rest of the file lost)"]
    );
    assert_eq!(with_ledger(open().with_max_record_bytes(100)).0.len(), 2);
}

#[test]
fn an_oversized_paragraph_costs_itself() {
    let folder = Folder::new();
    let path = folder.write(
        "a.txt",
        "one\n\nxxxx\nxxxx\nxxxx\n\ntwo\n\nyyyyyyyyyyyyyyyy\ny\n\nthree",
    );
    let open = builder()
        .with_input(path)
        .with_text_unit(TextUnit::Paragraphs)
        .with_max_record_bytes(12);
    let (documents, ledger) = with_ledger(open);
    assert_eq!(documents, ["one", "two", "three"]);
    assert_eq!(
        ledger,
        [
            "a.txt, line 3, byte 5: record is longer than 12 bytes",
            "a.txt, line 9, byte 26: record is longer than 12 bytes"
        ]
    );
}

#[test]
fn a_file_that_vanishes_or_changes_is_reported() {
    let folder = Folder::new();
    let path = folder.write("a.txt", "one\ntwo\n");
    let loader = lenient(&path).build().unwrap();
    fs::remove_file(&path).unwrap();
    let mut loader = loader;
    assert_eq!(loader.by_ref().count(), 0);
    assert!(matches!(
        loader.take_bad_records()[0].reason,
        BadReason::Unreadable { .. }
    ));

    folder.write("a.txt", "one\ntwo\n");
    let mut loader = lenient(&path).build().unwrap();
    folder.write("a.txt", "one\n");
    assert_eq!(loader.by_ref().count(), 1);
    let expected = BadReason::Changed {
        expected_bytes: 8,
        found_bytes: 4,
    };
    assert_eq!(loader.take_bad_records()[0].reason, expected);
}

#[test]
fn a_missing_id_is_a_bad_record() {
    let lines = "{\"text\":\"a\",\"id\":1}\n{\"text\":\"b\"}\n{\"text\":\"c\",\"id\":\"\"}\n{\"text\":\"d\",\"id\":1.5}";
    let (documents, ledger) = with_ledger(
        builder()
            .with_reader("a.jsonl", lines.as_bytes())
            .with_id_field("id"),
    );
    assert_eq!(documents, ["a"]);
    assert_eq!(
        ledger,
        [
            "a.jsonl, line 2, byte 20: field `id` is missing or null",
            "a.jsonl, line 3, byte 33: field `id` holds nothing, not text",
            "a.jsonl, line 4, byte 54: field `id` holds a number, not text"
        ]
    );
}

#[test]
fn documents_in_front_of_an_error_are_delivered() {
    let mut loader = builder()
        .with_reader("a.jsonl", "{\"text\":\"a\"}\nbad\n".as_bytes())
        .build()
        .unwrap();
    let batch = loader.next_batch(1000).unwrap().unwrap();
    assert_eq!(batch.len(), 1);
    assert!(matches!(
        loader.next_batch(1000),
        Err(LoadError::BadRecord { .. })
    ));
    assert!(matches!(loader.next_batch(1000), Err(LoadError::Stopped)));
}

#[test]
fn a_full_ledger_ends_the_stream() {
    let lines = "{\"body\":\"a\"}\n".repeat(20);
    let mut loader = builder()
        .with_reader("a.jsonl", std::io::Cursor::new(lines))
        .on_bad_record(OnBadRecord::Skip)
        .with_ledger_capacity(10)
        .build()
        .unwrap();
    let error = loader.next().unwrap().unwrap_err();
    assert!(error.to_string().contains("10 bad records"), "{error}");
    assert_eq!(error.record().unwrap().line, Some(11));
    assert_eq!(loader.take_bad_records().len(), 10);
    assert_eq!(
        loader.cursor().counts().records,
        10,
        "the record that did not fit is not passed over"
    );
}

#[test]
fn the_ledger_is_json_lines() {
    let mut loader = builder()
        .with_reader("a.jsonl", "{\"text\":5}\n".as_bytes())
        .with_reader("b.txt.gz", "x".as_bytes())
        .on_bad_record(OnBadRecord::Skip)
        .build()
        .unwrap();
    assert_eq!(loader.by_ref().count(), 0);
    let ledger = loader.take_bad_records();
    assert_eq!(
        serde_json::to_string(&ledger[0]).unwrap(),
        "{\"file\":\"a.jsonl\",\"record\":1,\"line\":1,\"byte_offset\":0,\"lost\":\"record\",\
         \"reason\":\"not_text\",\"field\":\"text\",\"found\":\"a number\"}"
    );
    for record in &ledger {
        let line = serde_json::to_string(record).unwrap();
        assert_eq!(&serde_json::from_str::<BadRecord>(&line).unwrap(), record);
    }
}

#[test]
fn a_file_that_shrinks_under_way_is_noticed_in_every_order() {
    for order in [Order::Sequential, Order::shuffled(1)] {
        for workers in [0, 2] {
            let folder = Folder::new();
            let path = folder.write("a.txt", "one\ntwo\nthree\n");
            let builder = builder().with_input(&path).with_text_unit(TextUnit::Line);
            let mut loader = builder
                .with_order(order)
                .with_workers(workers)
                .build()
                .unwrap();
            fs::write(&path, "one\ntwo\n").unwrap();
            let error = loader.find_map(Result::err).expect("a line is missing");
            let reason = &error.record().unwrap().reason;
            assert!(
                matches!(reason, BadReason::Changed { .. }),
                "{order:?}: {error}"
            );
        }
    }
}
