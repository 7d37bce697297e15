//! No input makes the loader panic, run forever, or break its own laws.

use kato_loader::{Format, OnBadRecord, TextUnit};
use kato_test_needs::is_thorough;
use proptest::prelude::*;

use crate::support::{Folder, builder, gzip, zstd};

/// Reads a file to its end under every unit; the stream must end and indices must rise by one.
fn survive(name: &str, bytes: &[u8]) {
    let folder = Folder::new();
    let path = folder.write(name, bytes);
    for unit in [TextUnit::File, TextUnit::Line, TextUnit::Paragraphs] {
        let mut loader = builder()
            .with_input(&path)
            .with_text_unit(unit)
            .with_max_record_bytes(1000)
            .on_bad_record(OnBadRecord::Skip)
            .build()
            .unwrap();
        for (expected, document) in loader.by_ref().enumerate() {
            let document = document.unwrap();
            assert_eq!(document.index, expected as u64);
            assert!(!document.text.trim().is_empty() && document.text.len() <= 1000);
        }
        let strict = builder()
            .with_input(&path)
            .with_text_unit(unit)
            .build()
            .unwrap();
        strict.for_each(drop);
    }
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..3000),
        // Rich in what the formats give meaning to.
        prop::collection::vec(
            prop::sample::select(b"{}[]\":,\\u0dt ex\n\r\t1\xEF\xBB\xBF\xC3".to_vec()),
            0..400
        ),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if is_thorough() { 128 } else { 64 }))]

    #[test]
    fn random_bytes(bytes in bytes()) {
        for name in ["a.txt", "a.jsonl", "a.csv", "a.tsv", "a.parquet", "a.jsonl.gz", "a.txt.zst"] {
            // Refused where a build does not read it (`inputs`).
            if cfg!(feature = "parquet") || !name.ends_with(".parquet") {
                survive(name, &bytes);
            }
        }
        survive("a.csv", &[b"text,n\n".as_slice(), &bytes].concat());
        survive("a.jsonl.gz", &gzip(&bytes));
        survive("a.csv.zst", &zstd(&bytes));
    }

    #[test]
    #[cfg(feature = "parquet")]
    fn damaged_parquet(flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8), cut in 0..20_usize) {
        let texts: Vec<_> = (0..60).map(|n| format!("row {} of {n}", "x".repeat(n % 9))).collect();
        let values: Vec<_> = texts.iter().enumerate().map(|(n, t)| (n % 11 != 0).then_some(t.as_str())).collect();
        let mut bytes = crate::support::parquet_of(&values, 25);
        for (at, value) in flips {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        bytes.drain(..cut.saturating_sub(15));
        survive("a.parquet", &bytes);
    }

    #[test]
    fn lines_agree_with_the_standard_library(text in "[ab\n\r\u{2003}é]{0,60}") {
        let expected: Vec<_> = text
            .split('\n')
            .map(|line| line.strip_suffix('\r').unwrap_or(line))
            .filter(|line| !line.trim().is_empty())
            .collect();
        let loader = builder()
            .with_reader("a", std::io::Cursor::new(text.clone()))
            .with_format(Format::Text)
            .with_text_unit(TextUnit::Line)
            .build()
            .unwrap();
        let found: Vec<_> = loader.map(|document| document.unwrap().text).collect();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn json_agrees_with_a_whole_parse(values in prop::collection::vec(any::<Option<String>>(), 0..8)) {
        let line = |value: &Option<String>| match value {
            Some(text) => serde_json::json!({"a": [text, {"text": text}], "text": text, "z": text}).to_string(),
            None => serde_json::json!({"a": 1}).to_string(),
        };
        let lines = values.iter().map(|value| line(value) + "\n").collect::<String>();
        let expected: Vec<_> = values.iter().flatten().filter(|text| !text.trim().is_empty()).collect();
        let loader = builder()
            .with_reader("a.jsonl", std::io::Cursor::new(lines))
            .on_bad_record(OnBadRecord::Skip)
            .build()
            .unwrap();
        let found: Vec<_> = loader.map(|document| document.unwrap().text).collect();
        prop_assert_eq!(found.iter().collect::<Vec<_>>(), expected);
    }
}
