//! What Parquet files yield, and what damage costs them.

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BinaryArray, DictionaryArray, Int64Array, LargeStringArray, StringViewArray,
    StructArray,
};
use parquet::basic::{Compression as Codec, GzipLevel, ZstdLevel};

use crate::bad_records::check_ledger;
use crate::support::{
    Folder, builder, documents, parquet, parquet_of, strings, texts, with_ledger,
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
    assert!(texts(builder().with_input(path)).is_empty());
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
