//! The law of resuming: the first k documents and the resumed rest are all documents, byte for
//! byte.

use std::path::Path;

use kato_loader::{
    BadRecord, Cursor, Document, LoadError, OnBadRecord, StreamingDatasetLoader,
    StreamingDatasetLoaderBuilder, TextUnit,
};
use kato_test_needs::is_thorough;
use proptest::prelude::*;

use crate::support::{Folder, builder, gzip, zstd};

/// Everything a run leaves behind.
#[derive(Debug, Default, PartialEq)]
struct Run {
    documents: Vec<Document>,
    ledger: Vec<BadRecord>,
    counts: Option<kato_loader::RecordCounts>,
}

impl Run {
    fn drain(&mut self, loader: &mut StreamingDatasetLoader, n: usize) {
        self.documents
            .extend(loader.by_ref().take(n).map(Result::unwrap));
        self.ledger.extend(loader.take_bad_records());
        self.counts = Some(loader.counts());
    }
}

/// Checks the law at every k, the cursor having gone through JSON.
fn check_law(open: impl Fn() -> StreamingDatasetLoaderBuilder) {
    let open = || open().on_bad_record(OnBadRecord::Skip);
    let mut all = Run::default();
    all.drain(&mut open().build().unwrap(), usize::MAX);
    for k in 0..=all.documents.len() {
        let mut run = Run::default();
        let mut first = open().build().unwrap();
        run.drain(&mut first, k);
        let stored = serde_json::to_string(&first.cursor()).unwrap();
        let cursor: Cursor = serde_json::from_str(&stored).unwrap();
        assert_eq!(cursor.documents(), k as u64);
        run.drain(&mut open().with_cursor(cursor).build().unwrap(), usize::MAX);
        assert_eq!(run, all, "interrupted after {k}");
    }
}

fn check_law_of_file(path: &Path, unit: TextUnit) {
    check_law(|| {
        builder()
            .with_input(path)
            .with_text_unit(unit)
            .with_max_record_bytes(200)
    });
}

/// Text with what is hard about lines: empty ones, white space, carriage returns, quotes, a byte
/// order mark, long ones.
fn messy_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[a-z ,é漢]{0,12}",
        2 => Just("\n".to_owned()),
        1 => Just("\n\n".to_owned()),
        1 => Just("\r\n".to_owned()),
        1 => Just("\r".to_owned()),
        1 => Just("\"".to_owned()),
        1 => Just("\u{feff}".to_owned()),
        1 => "[x]{190,220}",
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

/// Lines of JSON objects, among them some that are none.
fn json_lines(texts: &[String]) -> String {
    let line = |(n, text): (usize, &String)| match n % 7 {
        5 => format!("{{\"text\": {n}}}\n"),
        6 => "not json\r\n".to_owned(),
        _ => format!("{}\n", serde_json::json!({"n": n, "text": text})),
    };
    texts.iter().enumerate().map(line).collect()
}

fn csv_rows(texts: &[String]) -> String {
    let quoted = |text: &String| format!("\"{}\"", text.replace('"', "\"\""));
    let row = |(n, text): (usize, &String)| match n % 5 {
        4 => format!("{n},too,many\r\n"),
        _ => format!("{n},{}\n", quoted(text)),
    };
    let rows: String = texts.iter().enumerate().map(row).collect();
    format!("id,text\n{rows}")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if is_thorough() { 48 } else { 16 }))]

    #[test]
    fn plain_text(text in messy_text()) {
        let folder = Folder::new();
        let paths = [
            folder.write("a.txt", &text),
            folder.write("a.txt.gz", gzip(text.as_bytes())),
            folder.write("a.txt.zst", zstd(text.as_bytes())),
        ];
        for unit in [TextUnit::File, TextUnit::Line, TextUnit::Paragraphs] {
            for path in &paths {
                check_law_of_file(path, unit);
            }
        }
    }

    #[test]
    fn messy_csv(text in messy_text()) {
        let folder = Folder::new();
        let path = folder.write("a.csv", format!("text\n{text}"));
        check_law_of_file(&path, TextUnit::File);
    }

    #[test]
    fn every_format(texts in prop::collection::vec(messy_text(), 0..20)) {
        let folder = Folder::new();
        let lines = json_lines(&texts);
        let rows = csv_rows(&texts);
        let paths = [
            folder.write("a.jsonl", &lines),
            folder.write("b.jsonl.gz", gzip(lines.as_bytes())),
            folder.write("c.csv", &rows),
            folder.write("d.csv.zst", zstd(rows.as_bytes())),
        ];
        #[cfg(feature = "parquet")]
        let paths = {
            let values: Vec<_> = texts.iter().enumerate().map(|(n, text)| (n % 6 != 5).then_some(text.as_str())).collect();
            let [a, b, c, d] = paths;
            [a, b, c, d, folder.write("e.parquet", crate::support::parquet_of(&values, 7))]
        };
        for path in &paths {
            check_law_of_file(path, TextUnit::File);
        }
        check_law(|| builder().with_input(folder.path()).with_min_chars(3));
    }

    #[test]
    fn streams(texts in prop::collection::vec("[a-z]{0,5}", 0..12)) {
        let text = texts.join("\n");
        check_law(|| {
            builder()
                .with_reader("a.txt", std::io::Cursor::new(text.clone()))
                .with_reader("b.txt", std::io::Cursor::new(text.clone()))
                .with_text_unit(TextUnit::Line)
        });
    }
}

#[test]
fn batches_resume_where_they_end() {
    let folder = Folder::new();
    let lines: String = (0..200).map(|n| format!("line {n}\n\n")).collect();
    folder.write("a.txt", &lines);
    folder.write("b.txt", &lines);
    let open = || {
        builder()
            .with_input(folder.path())
            .with_text_unit(TextUnit::Line)
    };
    let all: Vec<Document> = open().build().unwrap().map(Result::unwrap).collect();
    let mut found = Vec::new();
    let mut cursor = Cursor::default();
    // A new loader for every batch.
    while let Some(batch) = open()
        .with_cursor(cursor.clone())
        .build()
        .unwrap()
        .next_batch(50)
        .unwrap()
    {
        found.extend(batch.iter().map(|document| document.to_document()));
        cursor = batch.cursor();
    }
    assert_eq!(found, all);
}

#[test]
fn large_files_resume_across_buffers_and_row_groups() {
    let folder = Folder::new();
    let texts: Vec<_> = (0..5000)
        .map(|n| format!("{n} {}", "lorem ipsum ".repeat(n % 50)))
        .collect();
    let lines: String = texts
        .iter()
        .map(|text| format!("{}\n", serde_json::json!({"text": text})))
        .collect();
    let paths = [
        folder.write("b.jsonl", &lines),
        folder.write("c.jsonl.gz", gzip(lines.as_bytes())),
        folder.write("d.csv", csv_rows(&texts)),
    ];
    #[cfg(feature = "parquet")]
    let paths = {
        let values: Vec<_> = texts.iter().map(|text| Some(text.as_str())).collect();
        let [b, c, d] = paths;
        let a = folder.write("a.parquet", crate::support::parquet_of(&values, 2100));
        [a, b, c, d]
    };
    for path in paths {
        let open = || builder().with_input(&path).on_bad_record(OnBadRecord::Skip);
        let all: Vec<Document> = open().build().unwrap().map(Result::unwrap).collect();
        assert!(all.len() >= 4000);
        for k in [1, 777, 2099, 2100, 2101, 3333, all.len() - 1, all.len()] {
            let mut first = open().build().unwrap();
            let mut found: Vec<Document> = first.by_ref().take(k).map(Result::unwrap).collect();
            let rest = open().with_cursor(first.cursor()).build().unwrap();
            found.extend(rest.map(Result::unwrap));
            assert!(found == all, "{} after {k}", path.display());
        }
    }
}

#[test]
fn a_failed_run_resumes_in_front_of_the_bad_record() {
    let open = || {
        builder().with_reader(
            "a.jsonl",
            "{\"text\":\"a\"}\n{}\n{\"text\":\"b\"}\n".as_bytes(),
        )
    };
    let mut loader = open().build().unwrap();
    assert_eq!(loader.next().unwrap().unwrap().text, "a");
    assert!(loader.next().unwrap().is_err());
    assert!(
        loader.next().is_none(),
        "after an error the stream has ended"
    );
    assert!(matches!(loader.next_batch(10), Err(LoadError::Stopped)));

    let mut resumed = open()
        .with_cursor(loader.cursor())
        .on_bad_record(OnBadRecord::Skip)
        .build()
        .unwrap();
    assert_eq!(resumed.next().unwrap().unwrap().text, "b");
    assert_eq!(resumed.take_bad_records()[0].line, Some(2));
}

#[test]
fn a_cursor_of_another_corpus_is_refused() {
    let folder = Folder::new();
    let long = folder.write("long.txt", "a\nb\nc\nd\n");
    let short = folder.write("short.txt", "a\n");
    let by_line = |b: StreamingDatasetLoaderBuilder| b.with_text_unit(TextUnit::Line);
    let mut loader = by_line(builder().with_input(&long)).build().unwrap();
    loader.by_ref().take(3).for_each(drop);
    let cursor = loader.cursor();

    let refused = by_line(builder().with_input(&short))
        .with_cursor(cursor.clone())
        .build();
    assert!(matches!(refused, Err(LoadError::InvalidCursor { .. })));

    // A stream shows only when read that it is too short; skipping bad records must not hide it.
    let stream = by_line(builder().with_reader("s.txt", "a\n".as_bytes()))
        .on_bad_record(OnBadRecord::Skip)
        .with_cursor(cursor.clone())
        .build();
    let error = stream.unwrap().next().unwrap().unwrap_err();
    assert!(
        error.to_string().contains("ends before the position"),
        "{error}"
    );

    assert_eq!(loader.by_ref().count(), 1);
    let at_end = loader.cursor();
    assert!(loader.is_exhausted());
    assert_eq!(
        by_line(builder().with_input(&long))
            .with_cursor(at_end.clone())
            .build()
            .unwrap()
            .count(),
        0
    );
    let two_files = serde_json::from_str(
        &serde_json::to_string(&at_end)
            .unwrap()
            .replace("\"file_index\":1", "\"file_index\":2"),
    );
    let refused = builder()
        .with_input(&long)
        .with_cursor(two_files.unwrap())
        .build();
    assert!(matches!(refused, Err(LoadError::InvalidCursor { .. })));
}

#[test]
fn a_corpus_that_is_not_the_expected_one_is_refused_with_what_differs() {
    let folder = Folder::new();
    let long = folder.write("long.txt", "a\nb\nc\nd\n");
    let short = folder.write("short.txt", "a\n");
    let by_line = |b: StreamingDatasetLoaderBuilder| b.with_text_unit(TextUnit::Line);
    let mut loader = by_line(builder().with_input(&long)).build().unwrap();
    loader.by_ref().take(3).for_each(drop);
    let (cursor, identity) = (loader.cursor(), loader.identity());
    let resume = |input: &Path| {
        let builder = by_line(builder().with_input(input)).with_cursor(cursor.clone());
        builder.with_identity(identity.clone()).build()
    };

    assert_eq!(resume(&long).unwrap().count(), 1);
    // The position does not exist there, and that is not what helps to know.
    let refused = resume(&short).unwrap_err();
    let LoadError::OtherCorpus { differences } = &refused else {
        panic!("{refused}");
    };
    assert_eq!(differences.len(), 2);
    assert!(refused.to_string().contains("file missing: `"), "{refused}");
}

#[test]
fn batches_by_number_end_at_the_same_documents_wherever_the_run_was_resumed() {
    let text: String = (0..23).map(|n| format!("line {n}\n")).collect();
    let open = || {
        StreamingDatasetLoader::builder()
            .with_reader("lines.txt", std::io::Cursor::new(text.clone().into_bytes()))
            .with_text_unit(TextUnit::Line)
    };
    let five = std::num::NonZeroUsize::new(5).unwrap();
    let ranges = |loader: &mut StreamingDatasetLoader| {
        let mut ranges = Vec::new();
        while let Some(batch) = loader.next_documents(five).unwrap() {
            ranges.push(batch.indices());
        }
        ranges
    };
    let mut loader = open().build().unwrap();
    assert_eq!(ranges(&mut loader), [0..5, 5..10, 10..15, 15..20, 20..23]);

    let mut first = open().build().unwrap();
    first.next_documents(five).unwrap();
    first.next_documents(five).unwrap();
    let cursor = first.cursor();
    let mut rest = open().with_cursor(cursor).build().unwrap();
    assert_eq!(ranges(&mut rest), [10..15, 15..20, 20..23]);
}
