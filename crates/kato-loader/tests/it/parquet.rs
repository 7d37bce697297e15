//! What Parquet files yield, and what damage costs them.

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BinaryArray, DictionaryArray, Int64Array, LargeStringArray, StringViewArray,
    StructArray,
};
use parquet::basic::{Compression as Codec, GzipLevel, ZstdLevel};

use kato_loader::{OnBadRecord, Order, StreamingDatasetLoader};

use crate::bad_records::check_ledger;
use crate::support::{
    Folder, builder, documents, parquet, parquet_of, recorded, strings, texts, with_ledger,
};

#[test]
fn strings_of_every_kind() {
    let values = [Some("a"), Some("béta"), Some("a")];
    let dictionary: DictionaryArray<Int32Type> = values.into_iter().collect();
    let kinds: [(&str, ArrayRef); 5] = [
        ("utf8", strings(&values)),
        ("large", Arc::new(LargeStringArray::from(values.to_vec()))),
        ("view", Arc::new(StringViewArray::from(values.to_vec()))),
        ("dictionary", Arc::new(dictionary)),
        (
            "binary",
            Arc::new(BinaryArray::from_iter(values.map(|v| v.map(str::as_bytes)))),
        ),
    ];
    let folder = Folder::new();
    for (kind, array) in kinds {
        let codecs = [
            Codec::UNCOMPRESSED,
            Codec::SNAPPY,
            Codec::GZIP(GzipLevel::default()),
            Codec::ZSTD(ZstdLevel::default()),
        ];
        for codec in codecs {
            let other: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
            let bytes = parquet(vec![("n", other), ("text", Arc::clone(&array))], 2, codec);
            let path = folder.write("a.parquet", bytes);
            let found = documents(builder().with_input(&path).with_id_field("n"));
            let found: Vec<_> = found
                .iter()
                .map(|d| (d.id.to_string(), d.text.as_str()))
                .collect();
            let expected = [("1", "a"), ("2", "béta"), ("3", "a")];
            assert_eq!(
                found,
                expected.map(|(id, text)| (id.to_owned(), text)),
                "{kind} {codec}"
            );
        }
    }
}

#[test]
fn structs_are_entered() {
    let inner = StructArray::try_from(vec![("body", strings(&[Some("a"), Some("b")]))]).unwrap();
    let folder = Folder::new();
    let path = folder.write(
        "a.parquet",
        parquet(vec![("doc", Arc::new(inner))], 10, Codec::SNAPPY),
    );
    assert_eq!(
        texts(builder().with_input(path).with_text_field("doc.body")),
        ["a", "b"]
    );
}

#[test]
fn an_empty_file_has_no_documents() {
    let folder = Folder::new();
    let path = folder.write("a.parquet", parquet_of(&[], 10));
    for order in [Order::Sequential, Order::shuffled(1)] {
        assert!(texts(builder().with_input(&path).with_order(order)).is_empty());
        let strict = StreamingDatasetLoader::builder().with_input(&path);
        let error = strict.with_order(order).build().unwrap().next().unwrap();
        let told = error.unwrap_err().to_string();
        assert!(told.contains("no text is in it"), "{told}");
    }
}

#[test]
fn bad_rows_are_told_by_number() {
    check_ledger(
        "a.parquet",
        parquet_of(&[Some("a"), None, Some("b"), Some(&"x".repeat(61))], 3),
        &["a", "b"],
        &[
            "a.parquet, row 2: field `text` is missing or null",
            "a.parquet, row 4: record is longer than 60 bytes",
        ],
    );
    check_ledger(
        "a.parquet",
        parquet(vec![("body", strings(&[Some("a")]))], 3, Codec::SNAPPY),
        &[],
        &["a.parquet: no column `text` among body (rest of the file lost)"],
    );
    let numbers = Arc::new(Int64Array::from(vec![1]));
    check_ledger(
        "a.parquet",
        parquet(vec![("text", numbers)], 3, Codec::SNAPPY),
        &[],
        &["a.parquet: field `text` holds INT64 values, not text (rest of the file lost)"],
    );
}

#[test]
fn invalid_utf8_costs_one_row() {
    let mut bytes = parquet(
        vec![(
            "text",
            strings(&[Some("good"), Some("b~~~~~d"), Some("fine")]),
        )],
        3,
        Codec::UNCOMPRESSED,
    );
    let mut at = 0;
    while let Some(found) = bytes[at..].windows(5).position(|window| window == b"~~~~~") {
        bytes[at + found] = 0xFF;
        at += found;
    }
    check_ledger(
        "a.parquet",
        bytes,
        &["good", "fine"],
        &["a.parquet, row 2: text is not valid UTF-8 after 1 bytes"],
    );
}

#[test]
fn a_damaged_row_group_costs_that_group() {
    let texts: Vec<_> = (0..30).map(|n| format!("row {n} of the table")).collect();
    let values: Vec<_> = texts.iter().map(|text| Some(text.as_str())).collect();
    let mut bytes = parquet_of(&values, 10);
    let at = bytes
        .windows(6)
        .position(|window| window == b"row 10")
        .unwrap();
    bytes[at..at + 60].fill(0xEE);
    let folder = Folder::new();
    let (documents, ledger) = with_ledger(builder().with_input(folder.write("a.parquet", bytes)));
    assert_eq!(documents.len(), 20);
    assert_eq!(documents[10], "row 20 of the table");
    assert_eq!(ledger.len(), 1);
    assert!(
        ledger[0].starts_with("a.parquet, row 11: data is damaged"),
        "{}",
        ledger[0]
    );
    assert!(ledger[0].ends_with("(10 records lost)"), "{}", ledger[0]);
}

/// Recorded with pyarrow by `tests/data/record_parquet.py`: structs, lists and maps around and beside
/// the text, required and optional, in both versions of pages and every encoding of strings.
#[test]
fn files_of_every_shape_read_as_pyarrow_reads_them() {
    #[derive(serde::Deserialize)]
    struct Recorded {
        text: String,
        id: String,
        documents: Vec<(String, String)>,
        bad: usize,
        unread: Option<String>,
        file: String,
    }
    let cases: Vec<Recorded> = recorded(include_bytes!("../data/parquet-shapes.jsonl.zst"));
    let folder = Folder::new();
    let (mut n_files, mut n_nulls, mut n_unread) = (0, 0, 0);
    for case in cases {
        let digit = |byte: u8| (byte as char).to_digit(16).unwrap() as u8;
        let pairs = case.file.as_bytes().chunks_exact(2);
        let bytes: Vec<u8> = pairs
            .map(|pair| digit(pair[0]) << 4 | digit(pair[1]))
            .collect();
        let path = folder.write("a.parquet", bytes);
        let open = || {
            builder()
                .with_input(&path)
                .with_text_field(&case.text)
                .with_id_field(&case.id)
                .on_bad_record(OnBadRecord::Skip)
        };
        let mut loader = open().build().unwrap();
        let found: Vec<_> = loader
            .by_ref()
            .map(Result::unwrap)
            .map(|document| (document.id.to_string(), document.text))
            .collect();
        let ledger = loader.take_bad_records();
        n_files += 1;
        if let Some(codec) = &case.unread {
            n_unread += 1;
            assert!(found.is_empty(), "file {n_files}");
            let told = ledger[0].to_string();
            assert!(told.contains(codec) && told.contains("not read"), "{told}");
            continue;
        }
        assert_eq!(found, case.documents, "file {n_files}, field {}", case.text);
        assert_eq!(ledger.len(), case.bad, "file {n_files}: {ledger:?}");
        n_nulls += case.bad;
    }
    assert_eq!((n_files, n_unread), (500, 25));
    assert!(n_nulls > 4_000);
}

/// A page of a few bytes that says it has gigabytes.
#[test]
fn pages_are_bounded_by_what_they_unfold_to() {
    let text = "x".repeat(66 << 20);
    let folder = Folder::new();
    let bytes = parquet(
        vec![("text", strings(&[Some(text.as_str())]))],
        1,
        Codec::ZSTD(ZstdLevel::default()),
    );
    assert!(bytes.len() < 100_000);
    let path = folder.write("a.parquet", bytes);
    let allowed = builder().with_input(&path).with_max_record_bytes(70 << 20);
    assert_eq!(texts(allowed).len(), 1);
    let (found, ledger) = with_ledger(builder().with_input(&path).with_max_record_bytes(1 << 20));
    assert!(found.is_empty());
    assert!(
        ledger[0].contains("a page has 6920") && ledger[0].contains("67108864 are allowed"),
        "{}",
        ledger[0]
    );
}
