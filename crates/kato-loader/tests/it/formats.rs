//! What every format yields.

use kato_loader::options::Compression;
use kato_loader::{Format, Order, TextUnit};

use crate::support::{
    Folder, builder, documents, failure, gzip, recorded, texts, with_ledger, zstd,
};

fn check(name: &str, content: impl AsRef<[u8]>, unit: TextUnit, expected: &[&str]) {
    let folder = Folder::new();
    let path = folder.write(name, content);
    let found = texts(builder().with_input(path).with_text_unit(unit));
    assert_eq!(found, expected, "{name} by {unit:?}");
}

#[test]
fn plain_text_is_cut_by_its_unit() {
    let text = "one\n\ntwo\nthree\n \t\n\nfour";
    check("a.txt", text, TextUnit::File, &[text]);
    check(
        "a.txt",
        text,
        TextUnit::Line,
        &["one", "two", "three", "four"],
    );
    check(
        "a.txt",
        text,
        TextUnit::Paragraphs,
        &["one", "two\nthree", "four"],
    );

    let windows = "one\r\n\r\ntwo\r\nthree\r\n";
    check("a.txt", windows, TextUnit::File, &[windows]);
    check("a.txt", windows, TextUnit::Line, &["one", "two", "three"]);
    check(
        "a.txt",
        windows,
        TextUnit::Paragraphs,
        &["one", "two\r\nthree"],
    );

    for unit in [TextUnit::File, TextUnit::Line, TextUnit::Paragraphs] {
        check("a.md", "", unit, &[]);
        check("a.md", "\n \n\u{2003}\n", unit, &[]);
        check("a.md", "\u{feff}x", unit, &["x"]);
        check("a.md", "é 漢 \u{1F600}", unit, &["é 漢 \u{1F600}"]);
    }
    check(
        "a.txt",
        "a\n\u{2003}\u{a0}\nb\n\x0b\nc",
        TextUnit::Paragraphs,
        &["a", "b", "c"],
    );
    check(
        "a.txt",
        " padded \n\n  x",
        TextUnit::Paragraphs,
        &[" padded ", "  x"],
    );
}

#[test]
fn json_lines_give_one_field() {
    let check =
        |content: &str, expected: &[&str]| check("a.jsonl", content, TextUnit::File, expected);
    check("{\"text\":\"a\"}\n{\"text\":\"b\"}\n", &["a", "b"]);
    check("{\"text\":\"a\"}\r\n\r\n  \n{\"text\":\"b\"}", &["a", "b"]);
    check("\u{feff}{\"text\":\"a\"}", &["a"]);
    check("", &[]);
    check("{\"text\":\"\"}\n{\"text\":\"  \"}", &[]);
    check(
        r#"{"n":[1,{"text":"no"}],"text":"yes","m":{"text":"no"}}"#,
        &["yes"],
    );
    check(r#"{"text":"first","text":"last"}"#, &["last"]);
    check(r#"{"te\u0078t":"escaped key"}"#, &["escaped key"]);
    check(
        r#"{"text":"\ud83d\ude00 \u00e9 \n\t\"\\\/"}"#,
        &["\u{1F600} é \n\t\"\\/"],
    );
}

#[test]
fn json_paths_lead_into_objects() {
    let folder = Folder::new();
    let check = |line: &str, field: &str, expected: &[&str]| {
        let path = folder.write("a.jsonl", line);
        assert_eq!(
            texts(builder().with_input(path).with_text_field(field)),
            expected,
            "{field} in {line}"
        );
    };
    check(r#"{"text":"no","content":"yes"}"#, "content", &["yes"]);
    check(r#"{"a":{"b":{"c":"deep"},"c":1}}"#, "a.b.c", &["deep"]);
    check(r#"{"a.b":"flat"}"#, "a.b", &["flat"]);
    check(r#"{"a":{"b.c":"half"}}"#, "a.b.c", &["half"]);
    check(r#"{"ab":"no","a":{"b":"yes"}}"#, "a.b", &["yes"]);
    check(r#"{"a":{"b":"old"},"a":{"b":"new"}}"#, "a.b", &["new"]);
}

#[test]
fn delimited_rows_give_one_column() {
    let check = |name: &str, content: &str, expected: &[&str]| {
        check(name, content, TextUnit::File, expected)
    };
    check("a.csv", "id,text\n1,a\n2,b\n", &["a", "b"]);
    check("a.csv", "\u{feff}text,id\r\na,1\r\n\r\nb,2", &["a", "b"]);
    check(
        "a.csv",
        "id,text\n1,\"x, \"\"y\"\"\nz\"\n2,b",
        &["x, \"y\"\nz", "b"],
    );
    check("a.csv", "\"text\",n\n\"a\",\n", &["a"]);
    check("a.csv", "id,text\n1,\n2,  \n3,c", &["c"]);
    check("a.csv", "text\n", &[]);
    check("a.csv", "", &[]);
    check("a.csv", "text\n\u{feff}marked\n", &["\u{feff}marked"]);
    check("a.tsv", "id\ttext\n1\ta, b\n", &["a, b"]);
}

#[test]
fn compressed_text_is_read_to_its_last_member() {
    let folder = Folder::new();
    let (one, two) = (
        b"{\"text\":\"a\"}\n{\"te".as_slice(),
        b"xt\":\"b\"}\n".as_slice(),
    );
    for (name, content) in [
        ("a.jsonl.gz", [gzip(one), gzip(two)].concat()),
        ("a.jsonl.zst", [zstd(one), zstd(two)].concat()),
        ("A.JSON.GZ", gzip(&[one, two].concat())),
    ] {
        let path = folder.write(name, content);
        assert_eq!(texts(builder().with_input(path)), ["a", "b"], "{name}");
    }
    let path = folder.write("a.csv.zst", zstd(b"text,n\nx,1\n"));
    assert_eq!(texts(builder().with_input(path)), ["x"]);
    let path = folder.write("a.txt.gz", gzip("\u{feff}whole".as_bytes()));
    assert_eq!(texts(builder().with_input(path)), ["whole"]);
}

#[test]
fn explicit_choices_override_the_extension() {
    let folder = Folder::new();
    let path = folder.write("rows.dat", gzip(b"{\"text\":\"a\"}"));
    let chosen = builder()
        .with_input(path)
        .with_format(Format::JsonLines)
        .with_compression(Compression::Gzip);
    assert_eq!(texts(chosen), ["a"]);
}

#[test]
fn documents_are_numbered_and_named() {
    let lines = "{\"text\":\"a\",\"k\":{\"id\":7}}\n\n{\"text\":\" \",\"k\":{\"id\":8}}\n{\"text\":\"b\",\"k\":{\"id\":\"x\"}}";
    let open = || builder().with_reader("rows.jsonl", lines.as_bytes());
    let found = |b| -> Vec<_> {
        documents(b)
            .into_iter()
            .map(|d| format!("{} {} {}", d.index, d.id, d.text))
            .collect()
    };
    assert_eq!(found(open()), ["0 rows.jsonl#1 a", "1 rows.jsonl#4 b"]);
    assert_eq!(found(open().with_id_field("k.id")), ["0 7 a", "1 x b"]);
    let serialised = serde_json::to_string(&documents(open())[1]).unwrap();
    assert_eq!(serialised, r#"{"index":1,"id":"rows.jsonl#4","text":"b"}"#);

    // Plain text has no fields: it keeps its positions even when other files of the corpus have
    // ids.
    let mixed = open()
        .with_id_field("k.id")
        .with_reader("b.txt", "c".as_bytes());
    assert_eq!(found(mixed), ["0 7 a", "1 x b", "2 b.txt#1 c"]);
}

#[test]
fn batches_hold_what_the_iterator_yields() {
    let lines: String = (0..500)
        .map(|n| format!("line {n} {}\n", "x".repeat(n % 40)))
        .collect();
    let open = || {
        builder()
            .with_reader("a.txt", std::io::Cursor::new(lines.clone()))
            .with_reader("b.txt", "last\n".as_bytes())
            .with_text_unit(TextUnit::Line)
    };
    let expected = documents(open());
    for target in [1, 17, 300, 1 << 20] {
        let mut loader = open().build().unwrap();
        let mut found = Vec::new();
        while let Some(batch) = loader.next_batch(target).unwrap() {
            assert!(!batch.is_empty());
            assert_eq!(batch.first_index(), found.len() as u64);
            let last = batch.get(batch.len() - 1).unwrap().text.len();
            assert!(batch.text_bytes() - last < target);
            found.extend(batch.iter().map(|document| document.to_document()));
            assert_eq!(batch.cursor(), loader.cursor());
            assert_eq!(batch.indices().end, found.len() as u64);
        }
        assert_eq!(found, expected);
    }
}

#[test]
fn a_loader_can_be_given_to_a_thread() {
    let mut loader = builder()
        .with_reader("a.txt", "x".as_bytes())
        .build()
        .unwrap();
    let batch = std::thread::spawn(move || loader.next_batch(1).unwrap().unwrap())
        .join()
        .unwrap();
    let batch = std::sync::Arc::new(batch);
    let read = std::thread::spawn(move || batch.iter().all(|document| document.text == "x"));
    assert!(read.join().unwrap());
}

#[test]
fn filters_count_what_they_leave_out() {
    let lines = "0123456789\n01234567890\n\n  0123456789  \né漢é漢é漢é漢é漢x\n";
    let mut loader = builder()
        .with_reader("a.txt", lines.as_bytes())
        .with_text_unit(TextUnit::Line)
        .with_min_chars(10)
        .build()
        .unwrap();
    let found: Vec<_> = loader.by_ref().map(|d| d.unwrap().text).collect();
    assert_eq!(found, ["01234567890", "é漢é漢é漢é漢é漢x"]);
    let counts = loader.counts();
    assert_eq!(
        (counts.documents, counts.blank, counts.short, counts.bad),
        (2, 1, 2, 0)
    );
}

#[test]
fn max_documents_ends_the_stream() {
    let open = |n| {
        builder()
            .with_reader("a.txt", "a\nb\nc".as_bytes())
            .with_text_unit(TextUnit::Line)
            .with_max_documents(n)
    };
    assert_eq!(texts(open(0)).len(), 0);
    assert_eq!(texts(open(2)), ["a", "b"]);
    assert_eq!(texts(open(9)).len(), 3);

    let mut loader = open(2).build().unwrap();
    assert_eq!(loader.by_ref().count(), 2);
    assert_eq!(texts(open(3).with_cursor(loader.cursor())), ["c"]);
}

#[test]
fn progress_reaches_the_total() {
    let folder = Folder::new();
    let lines: String = (0..3000)
        .map(|n| format!("{{\"text\":\"line {n}\"}}\n"))
        .collect();
    #[cfg(feature = "parquet")]
    {
        let rows: Vec<_> = (0..3000).map(|n| format!("row {n}")).collect();
        let rows: Vec<_> = rows.iter().map(|row| Some(row.as_str())).collect();
        folder.write("a.parquet", crate::support::parquet_of(&rows, 1000));
    }
    folder.write("b.jsonl.gz", gzip(lines.as_bytes()));
    folder.write("c.jsonl", &lines);
    let mut loader = builder().with_input(folder.path()).build().unwrap();
    let total = loader.total_bytes().unwrap();
    let mut last = 0;
    while let Some(document) = loader.next() {
        document.unwrap();
        assert!(loader.bytes_read() >= last && loader.bytes_read() <= total);
        last = loader.bytes_read();
    }
    assert_eq!(loader.bytes_read(), total);
    let stream = builder()
        .with_reader("-", std::io::empty())
        .build()
        .unwrap();
    assert_eq!(stream.total_bytes(), None);
}

#[test]
fn progress_in_shuffled_order_grows_with_the_records() {
    let folder = Folder::new();
    let lines: String = (1000..4000).map(|n| format!("line {n}\n")).collect();
    let path = folder.write("a.txt", &lines);
    let order = Order::shuffled(1).with_window_bytes(9000);
    let open = builder().with_input(&path).with_text_unit(TextUnit::Line);
    let mut loader = open.with_order(order).build().unwrap();
    let total = loader.total_bytes().unwrap();
    assert_eq!(loader.bytes_read(), 0);
    for quarter in 1..4 {
        assert_eq!(loader.by_ref().take(750).count(), 750);
        let expected = total / 4 * quarter;
        // To a line, as all are alike; a window of the last ones may be smaller.
        let read = loader.bytes_read();
        assert!(read.abs_diff(expected) < 100, "{read} of {expected}");
    }
    assert_eq!(loader.by_ref().count(), 750);
    assert_eq!(loader.bytes_read(), total);
}

#[test]
fn the_error_of_a_format_says_what_to_do() {
    let folder = Folder::new();
    let path = folder.write("a.csv", "id,body\n1,x\n");
    let error = failure(builder().with_input(path));
    let message = error.to_string();
    assert!(
        message.contains("no column `text` among id, body"),
        "{message}"
    );
    let advice = error.advice().unwrap().to_string();
    assert!(advice.contains("with_text_field"), "{advice}");
}

/// Recorded with Python's `csv` and `json` by `tests/data/record_text.py`.
#[test]
fn tables_and_objects_read_as_python_reads_them() {
    #[derive(serde::Deserialize)]
    struct Recorded {
        name: String,
        content: String,
        documents: Vec<String>,
        bad: usize,
        open: bool,
    }
    let cases: Vec<Recorded> = recorded(include_bytes!("../data/text-formats.jsonl.zst"));
    let folder = Folder::new();
    let (mut n_documents, mut n_bad, mut n_open) = (0, 0, 0);
    for case in cases {
        let path = folder.write(&case.name, &case.content);
        // Outright: the first line of a mutated file may look like something else.
        let format = match case.name.as_str() {
            "a.csv" => Format::Csv,
            "a.tsv" => Format::Tsv,
            _ => Format::JsonLines,
        };
        let (found, ledger) = with_ledger(builder().with_input(path).with_format(format));
        let is_text = |text: &&String| !text.trim().is_empty();
        let mut expected: Vec<_> = case.documents.iter().filter(is_text).cloned().collect();
        if case.open {
            // A file that was cut off in a quoted field: what Python takes for its end is refused.
            n_open += 1;
            assert!(
                ledger.last().unwrap().contains("never closed"),
                "{:?}",
                case.content
            );
            expected.truncate(found.len());
        } else {
            assert_eq!(ledger.len(), case.bad, "{:?}: {ledger:?}", case.content);
        }
        assert_eq!(found, expected, "{:?}", case.content);
        n_documents += found.len();
        n_bad += ledger.len();
    }
    assert!(
        n_documents > 900 && n_bad > 900 && n_open > 40,
        "{n_documents} {n_bad} {n_open}"
    );
}
