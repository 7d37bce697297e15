//! What is known of a file by its name and its first bytes, and what is refused.

use std::fs::File;
use std::io::Write;

use kato_loader::options::{Compression, Quoting};
use kato_loader::{Format, LoadError, OnBadRecord, StreamingDatasetLoaderBuilder, TextUnit};

use crate::support::{Folder, builder, gzip, texts, with_ledger, zstd};

const LINES: &str = "{\"text\": \"one\"}\n{\"text\": \"two\"}\n";

/// How a file fails, in words.
fn failure(builder: StreamingDatasetLoaderBuilder) -> String {
    let mut loader = match builder.build() {
        Ok(loader) => loader,
        Err(error) => return error.to_string(),
    };
    loader.find_map(Result::err).unwrap().to_string()
}

fn bzip2(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn xz(bytes: &[u8]) -> Vec<u8> {
    let options = lzma_rust2::XzOptions::with_preset(1);
    let mut writer = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
    writer.write_all(bytes).unwrap();
    writer.finish().unwrap()
}

fn utf16(text: &str, is_big: bool) -> Vec<u8> {
    let units = "\u{FEFF}".encode_utf16().chain(text.encode_utf16());
    let bytes = |unit: u16| match is_big {
        true => unit.to_be_bytes(),
        false => unit.to_le_bytes(),
    };
    units.flat_map(bytes).collect()
}

#[test]
fn json_lines_without_a_name_are_read_as_such() {
    let folder = Folder::new();
    for name in [
        "f.jl",
        "part-00000",
        "data.lines",
        "x.jsonlines",
        "no extension",
    ] {
        let path = folder.write(name, LINES);
        assert_eq!(texts(builder().with_input(path)), ["one", "two"], "{name}");
    }
    for (name, bytes) in [
        ("gz", gzip(LINES.as_bytes())),
        ("zst", zstd(LINES.as_bytes())),
        ("bz2", bzip2(LINES.as_bytes())),
        ("xz", xz(LINES.as_bytes())),
    ] {
        let path = folder.write(name, &bytes);
        assert_eq!(texts(builder().with_input(path)), ["one", "two"], "{name}");
        let named = folder.write(&format!("a.jsonl.{name}"), &bytes);
        assert_eq!(texts(builder().with_input(named)), ["one", "two"], "{name}");
        let stream = builder().with_reader("-", std::io::Cursor::new(bytes));
        assert_eq!(texts(stream), ["one", "two"], "{name}");
    }
    let stream = builder().with_reader("-", LINES.as_bytes());
    assert_eq!(texts(stream), ["one", "two"]);
}

#[test]
fn prose_without_a_name_is_text() {
    let prose = "[1] It was the best of times,\nit was the worst of times.\n";
    let folder = Folder::new();
    let path = folder.write("README", prose);
    assert_eq!(texts(builder().with_input(path)), [prose]);
    assert_eq!(texts(builder().with_reader("-", prose.as_bytes())), [prose]);
}

#[test]
fn what_looks_like_another_format_than_its_name_is_refused() {
    let folder = Folder::new();
    let table = "id,text\n1,one\n";
    let cases: [(&str, Vec<u8>, &str); 17] = [
        (
            "a.txt",
            LINES.into(),
            "read as plain text, and looks like JSON Lines",
        ),
        (
            "a.log",
            LINES.into(),
            "read as plain text, and looks like JSON Lines",
        ),
        (
            "b.txt",
            table.into(),
            "read as plain text, and looks like comma-separated values",
        ),
        (
            "part-0",
            table.into(),
            "nothing says what it is, and looks like comma-separated",
        ),
        (
            "c.csv",
            LINES.into(),
            "comma-separated values, and looks like JSON Lines",
        ),
        (
            "c.tsv",
            table.into(),
            "tab-separated values, and looks like comma-separated",
        ),
        (
            "d.jsonl",
            b"[{\"text\": \"a\"}]".into(),
            "this is a JSON array, which is not read",
        ),
        (
            "d.json",
            b"{\n\"text\": \"a\"}".into(),
            "JSON over several lines, which is not read",
        ),
        (
            "e.txt",
            gzip(b"prose"),
            "read as plain text, and looks like gzip",
        ),
        (
            "e.jsonl",
            gzip(LINES.as_bytes()),
            "read as JSON Lines, and looks like gzip",
        ),
        (
            "e.jsonl.gz",
            LINES.into(),
            "read as gzip, and looks like JSON Lines",
        ),
        (
            "e.jsonl.zst",
            gzip(LINES.as_bytes()),
            "read as zstd, and looks like gzip",
        ),
        (
            "f.jsonl",
            b"PK\x03\x04\x14\0\0\0".into(),
            "a zip archive, which is not read",
        ),
        (
            "g",
            b"SQLite format 3\0\x10".into(),
            "an SQLite database, which is not read",
        ),
        (
            "h.txt",
            b"text \0 and more".into(),
            "binary data, which is not read",
        ),
        (
            "i.txt",
            b"a\0b\0".into(),
            "UTF-16 text without a byte order mark, which is not read",
        ),
        (
            "j.txt",
            b"version https://git-lfs.github.com/spec/v1\noid sha256:1\n".into(),
            "a pointer of Git LFS, which is not read",
        ),
    ];
    for (name, bytes, expected) in cases {
        let path = folder.write(name, bytes);
        let told = failure(builder().with_input(&path));
        assert!(told.contains(expected), "{name}: {told}");
        // A policy may leave such files out, with an entry for each.
        let (found, ledger) = with_ledger(builder().with_input(&path));
        assert!(found.is_empty(), "{name}: {found:?}");
        assert_eq!(ledger.len(), 1, "{name}: {ledger:?}");
    }
}

#[test]
fn what_is_told_is_read_as_that() {
    let folder = Folder::new();
    let path = folder.write("a.txt", LINES);
    let told = |format| builder().with_input(&path).with_format(format);
    assert_eq!(texts(told(Format::JsonLines)), ["one", "two"]);
    assert_eq!(texts(told(Format::Text)), [LINES]);
    let path = folder.write("b.txt", gzip(LINES.as_bytes()));
    let told = builder().with_input(&path).with_format(Format::JsonLines);
    assert_eq!(
        texts(told.with_compression(Compression::Gzip)),
        ["one", "two"]
    );
    let told = failure(builder().with_input(&path).with_format(Format::JsonLines));
    assert!(told.contains("looks like gzip"), "{told}");
}

#[test]
fn rows_of_a_table_are_no_lines_of_text() {
    let rows = |delimiter: &str| -> String {
        let header = ["id", "review", "stars"].join(delimiter) + "\n";
        let row = |n| format!("{n}{delimiter}\"Good, very; \tgood.\nSo {n}\"{delimiter}5\n");
        header + &(0..30).map(row).collect::<String>()
    };
    let commas = "its first 31 rows have 3 fields each, with commas between them";
    let folder = Folder::new();
    for name in ["data.txt", "notes.md", "rows", "data.txt.gz"] {
        let bytes = match name.ends_with("gz") {
            true => gzip(rows(",").as_bytes()),
            false => rows(",").into_bytes(),
        };
        let path = folder.write(name, bytes);
        for unit in [TextUnit::File, TextUnit::Line, TextUnit::Paragraphs] {
            let open = || builder().with_input(&path).with_text_unit(unit);
            let told = failure(open());
            assert!(told.contains(commas), "{name}: {told}");
            let parallel = failure(open().with_workers(2));
            assert_eq!(parallel, told, "{name}");
            let table = open().with_format(Format::Csv).with_text_field("review");
            assert_eq!(texts(table).len(), 30, "{name}");
            assert!(
                !texts(open().with_format(Format::Text)).is_empty(),
                "{name}"
            );
        }
    }
    for piece in [1, 100, 100_000] {
        let bytes = Pieces(rows(",").into_bytes(), piece);
        let told = failure(builder().with_reader("-", bytes));
        assert!(told.contains(commas), "{told}");
    }
    let semicolons = failure(builder().with_reader("-", std::io::Cursor::new(rows(";"))));
    assert!(
        semicolons.contains("with semicolons between"),
        "{semicolons}"
    );
    let bars = failure(builder().with_input(folder.write("wavs.txt", rows("|"))));
    assert!(bars.contains("with vertical bars between"), "{bars}");
    let pairs: String = (0..20).map(|n| format!("ham\tSo, {n}.\n")).collect();
    let told = failure(builder().with_input(folder.write("pairs.txt", pairs)));
    assert!(told.contains("have 2 fields each, with tabs"), "{told}");
    let tabs: String = (0..20).map(|n| format!("{n}\ta\tb\n")).collect();
    let told = failure(builder().with_input(folder.write("tabs.txt", tabs)));
    assert!(told.contains("with tabs between"), "{told}");

    let path = folder.write("some.txt", rows(","));
    let mut loader = builder().with_input(path).build().unwrap();
    let advice = loader.find_map(Result::err).unwrap().advice().unwrap();
    assert_eq!(
        advice.to_string(),
        "read it as a table with `Format::Csv`, read it as plain text with `Format::Text`, or leave it out"
    );
    // Another name says what it is.
    let path = folder.write(
        "some.tsv",
        "text\tat\n".to_owned() + &"x\t1,2,3\n".repeat(30),
    );
    assert_eq!(texts(builder().with_input(path)).len(), 30);
}

#[test]
fn tags_and_time_codes_are_no_words() {
    let page = "\n<!DOCTYPE html>\n<html><body><p>It was.</p></body></html>\n";
    let feed = "<?xml version=\"1.0\"?>\n<rss><item><title>It was.</title></item></rss>\n";
    let subtitles = "1\n00:00:01,000 --> 00:00:04,000\nIt was.\n";
    let folder = Folder::new();
    for (text, is_told) in [
        (page, "looks like HTML: its tags would be learned"),
        (feed, "looks like XML: its tags would be learned"),
        (
            subtitles,
            "looks like subtitles: its numbers and times would be learned",
        ),
    ] {
        for (name, bytes) in [
            ("page.html", text.into()),
            ("page.txt", text.into()),
            ("page", [b"\xEF\xBB\xBF", text.as_bytes()].concat()),
            ("wide.srt", utf16(text, true)),
            ("page.md.gz", gzip(text.as_bytes())),
            ("page.zst", zstd(text.as_bytes())),
        ] {
            let path = folder.write(name, bytes);
            for unit in [TextUnit::File, TextUnit::Line, TextUnit::Paragraphs] {
                let open = || builder().with_input(&path).with_text_unit(unit);
                let told = failure(open());
                assert!(told.contains(is_told), "{name}: {told}");
                assert_eq!(failure(open().with_workers(2)), told, "{name}");
                let meant = open().with_format(Format::Text);
                assert!(texts(meant).concat().contains("It was."), "{name}");
            }
        }
        for piece in [1, 100, 100_000] {
            let bytes = Pieces(text.into(), piece);
            let told = failure(builder().with_reader("-", bytes));
            assert!(told.contains(is_told), "{told}");
        }
    }
    let folder = Folder::new();
    folder.write("a.txt", "It was.");
    folder.write("b.txt", page);
    folder.write("c.txt", "It is <b>so</b>.");
    let (found, ledger) = with_ledger(builder().with_input(folder.path()));
    assert_eq!(found, ["It was.", "It is <b>so</b>."]);
    assert!(
        ledger.len() == 1 && ledger[0].contains("b.txt"),
        "{ledger:?}"
    );
    let mut loader = builder().with_input(folder.at("b.txt")).build().unwrap();
    let advice = loader.find_map(Result::err).unwrap().advice().unwrap();
    assert_eq!(
        advice.to_string(),
        "take the text out of it first, read it as plain text with `Format::Text`, or leave it out"
    );
}

#[test]
fn a_table_with_another_delimiter_is_told_by_its_header() {
    let folder = Folder::new();
    for (name, rows, expected) in [
        (
            "a.csv",
            "text;lang\na;en\n",
            "a table of semicolons, which is not read: write it with commas",
        ),
        (
            "a.csv",
            "text\tlang\na\ten\n",
            "and looks like tab-separated",
        ),
        (
            "a.tsv",
            "body,lang\na,en\n",
            "and looks like comma-separated",
        ),
        (
            "a.tsv",
            "text|lang\na|en\n",
            "a table of vertical bars, which is not read: write it with tabs",
        ),
        ("a.csv", "body\na\n", "no column `text` among body"),
    ] {
        let told = failure(builder().with_input(folder.write(name, rows)));
        assert!(told.contains(expected), "{told}");
    }
    let path = folder.write("latin1.txt", b"Caf\xE9\n");
    let mut loader = builder().with_input(path).build().unwrap();
    let advice = loader.find_map(Result::err).unwrap().advice().unwrap();
    assert!(
        advice.to_string().contains("convert it to UTF-8"),
        "{advice}"
    );
}

/// Bytes that come in pieces of a size, as from a pipe.
struct Pieces(Vec<u8>, usize);

impl std::io::Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n = self.0.len().min(buffer.len()).min(self.1);
        buffer[..n].copy_from_slice(&self.0[..n]);
        self.0.drain(..n);
        Ok(n)
    }
}

#[test]
fn utf16_is_read_in_every_way() {
    let folder = Folder::new();
    let text: String = (0..3_000)
        .map(|n| format!("{{\"text\": \"漢字 {n}\"}}\n"))
        .collect();
    let expected: Vec<_> = (0..3_000).map(|n| format!("漢字 {n}")).collect();
    for is_big in [false, true] {
        let bytes = utf16(&text, is_big);
        let path = folder.write("a.jsonl", &bytes);
        assert_eq!(texts(builder().with_input(&path)), expected);
        let parallel = builder().with_input(&path).with_workers(3);
        assert_eq!(texts(parallel), expected);
        let zipped = folder.write("a.jsonl.gz", gzip(&bytes));
        assert_eq!(texts(builder().with_input(zipped)), expected);
        let stream = std::io::Cursor::new(bytes);
        assert_eq!(texts(builder().with_reader("a.jsonl", stream)), expected);
        // Positions are those of the text, and behind the end of the file where it is longer.
        for read in [1, 2_999, 3_000] {
            let mut loader = builder().with_input(&path).build().unwrap();
            loader
                .by_ref()
                .take(read)
                .for_each(|document| drop(document.unwrap()));
            let resumed = builder().with_input(&path).with_cursor(loader.cursor());
            assert_eq!(texts(resumed), expected[read..]);
        }
    }
    let broken = folder.write("b.txt", b"\xFF\xFEa\0\x3D\xD8");
    let told = failure(builder().with_input(broken));
    assert!(told.contains("UTF-16 with half of a pair"), "{told}");
}

#[test]
fn zeros_behind_a_member_of_gzip_are_padding() {
    let folder = Folder::new();
    let member = gzip(LINES.as_bytes());
    for zeros in [0, 1, 511, 70_000] {
        let padding = vec![0; zeros];
        let path = folder.write("a.jsonl.gz", [&member[..], &padding].concat());
        assert_eq!(texts(builder().with_input(path)), ["one", "two"]);
        let several = [&member[..], &padding, &member, &padding].concat();
        let path = folder.write("b.jsonl.gz", several);
        assert_eq!(texts(builder().with_input(path)).len(), 4);
    }
    let path = folder.write("c.jsonl.gz", [&member[..], &[0, 0, 7]].concat());
    let told = failure(builder().with_input(path));
    assert!(told.contains("damaged or cut off"), "{told}");
}

#[test]
fn windows_of_zstd_are_allowed_by_an_option() {
    let folder = Folder::new();
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.window_log(28).unwrap();
    encoder.long_distance_matching(true).unwrap();
    encoder.write_all(LINES.as_bytes()).unwrap();
    let bytes = encoder.finish().unwrap();
    let path = folder.write("a.jsonl.zst", &bytes);
    let told = failure(builder().with_input(&path));
    assert!(
        told.contains("needs a window of 268435456 bytes, and 134217728 are allowed"),
        "{told}"
    );
    let allowed = builder().with_input(&path).with_max_window_bytes(1 << 28);
    assert_eq!(texts(allowed), ["one", "two"]);
    // A frame behind the first.
    let path = folder.write("b.jsonl.zst", [zstd(LINES.as_bytes()), bytes].concat());
    let told = failure(builder().with_input(&path));
    assert!(
        told.contains("needs a window of more than the 134217728 bytes"),
        "{told}"
    );
}

#[test]
fn tables_of_tabs_are_not_quoted_unless_asked_for() {
    let folder = Folder::new();
    let rows = "id\ttext\n1\t\"Hello\n2\tworld\"\n3\tplain\n";
    let path = folder.write("a.tsv", rows);
    let open = || builder().with_input(&path);
    assert_eq!(texts(open()), ["\"Hello", "world\"", "plain"]);
    let path = folder.write("b.tsv", "id\ttext\n1\t\"Hello\nworld\"\n");
    let quoted = builder().with_input(&path).with_quoting(Quoting::Double);
    assert_eq!(texts(quoted), ["Hello\nworld"]);
    let path = folder.write("c.csv", "id,text\n1,\"a\n2,b\"\n");
    let bare = builder().with_input(&path).with_quoting(Quoting::None);
    assert_eq!(texts(bare), ["\"a", "b\""]);
    assert_eq!(texts(builder().with_input(&path)), ["a\n2,b"]);
}

#[test]
fn numbers_of_python_do_no_harm_where_nobody_asks_for_them() {
    let folder = Folder::new();
    let lines =
        "{\"text\": \"a\", \"score\": NaN}\n{\"s\": [-Infinity, Infinity], \"text\": \"NaN b\"}\n";
    let path = folder.write("a.jsonl", lines);
    assert_eq!(texts(builder().with_input(path)), ["a", "NaN b"]);
    // Python's strings may hold half of a pair, which no text can.
    let halves = r#"{"\ud800": 1, "text": "a"}
{"text": "b\udc00"}
{"text": "\ud83d\ude00"}"#;
    let path = folder.write("h.jsonl", halves);
    let (found, ledger) = with_ledger(builder().with_input(path));
    assert_eq!(found, ["a", "\u{1F600}"]);
    assert!(
        ledger.len() == 1 && ledger[0].contains("line 2"),
        "{ledger:?}"
    );
    let path = folder.write(
        "b.jsonl",
        "{\"text\": NaN}\n{\"text\": \"b\", \"id\": NaN}\n{\"text\": nan}\n",
    );
    let (found, ledger) = with_ledger(builder().with_input(&path).with_id_field("id"));
    assert!(found.is_empty());
    assert!(
        ledger[0].contains("field `text` holds a number, not text"),
        "{}",
        ledger[0]
    );
    assert!(
        ledger[1].contains("field `id` holds a number, not text"),
        "{}",
        ledger[1]
    );
    assert!(ledger[2].contains("not a JSON object"), "{}", ledger[2]);
}

#[test]
fn byte_order_marks_are_dropped_in_the_middle_of_lines_put_together() {
    let folder = Folder::new();
    let path = folder.write("a.jsonl", format!("\u{FEFF}{LINES}\u{FEFF}{LINES}"));
    assert_eq!(
        texts(builder().with_input(path)),
        ["one", "two", "one", "two"]
    );
}

#[test]
fn a_device_without_an_end_is_read_by_its_first_bytes() {
    // As a process substitution names it: no extension, no size.
    let folder = Folder::new();
    let path = folder.write("lines", LINES);
    let file = File::open(path).unwrap();
    assert_eq!(
        texts(builder().with_reader("/dev/fd/63", file)),
        ["one", "two"]
    );
    let table = "1\ta\n2\tb\n3\tc\n4\td\n5\te\n";
    let told = failure(builder().with_reader("-", table.as_bytes()));
    assert!(told.contains("looks like a table of tabs"), "{told}");
    let by_line = builder()
        .with_reader("-", table.as_bytes())
        .with_format(Format::Text);
    assert_eq!(texts(by_line.with_text_unit(TextUnit::Line)).len(), 5);
    let skipped = builder().with_reader("-", table.as_bytes());
    let mut loader = skipped.on_bad_record(OnBadRecord::Skip).build().unwrap();
    assert!(matches!(
        loader.next(),
        None | Some(Err(LoadError::BadRecord { .. }))
    ));
}
