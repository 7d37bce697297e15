//! From a text to vectors.

use std::collections::HashSet;
use std::io::Write as _;

use kato_embeddings::options::{Layout, OnBadLine};
use kato_embeddings::report::{BadLineReason, Origin};
use kato_embeddings::{Embeddings, EmbeddingsError};
use proptest::prelude::*;

use crate::support::{Folder, glove, open, rows};

/// What a text means, said as simply as possible: words without blanks, no header, no bad lines.
fn naive(text: &str) -> Vec<(String, Vec<f32>)> {
    let mut seen = HashSet::new();
    text.lines()
        .map(|line| {
            let (word, numbers) = line.split_once(' ').unwrap();
            let numbers = numbers.split(' ').map(|number| number.parse().unwrap());
            (word.to_owned(), numbers.collect())
        })
        .filter(|(word, _)| seen.insert(word.clone()))
        .collect()
}

#[test]
fn a_text_is_read_in_its_order_by_any_number_of_workers() {
    let folder = Folder::new();
    // Some blocks of a MiB.
    let text = glove(40_000, 20).replace("two words ", "two-words-");
    let path = folder.write("vectors.txt", &text);
    let expected = naive(&text);
    let one = Embeddings::builder(&path).with_workers(1).open().unwrap();
    assert!(rows(&one) == expected);
    for workers in [2, 3, 8] {
        let many = Embeddings::builder(&path)
            .with_workers(workers)
            .open()
            .unwrap();
        assert!(rows(&many) == expected, "{workers} workers");
        assert_eq!(many.report(), one.report());
        assert_eq!(many.norms(), one.norms());
    }
    let report = one.report();
    assert_eq!(report.lines, 40_000);
    assert_eq!(report.kept, expected.len() as u64);
    assert_eq!(report.duplicates, 40_000 - expected.len() as u64);
    assert_eq!(report.bytes, text.len() as u64);
    assert_eq!(report.origin, Origin::Text);
    assert!(report.duplicates > 100);
}

#[test]
fn all_forms_of_a_file_hold_the_same() {
    let folder = Folder::new();
    let text = glove(3_000, 7);
    let plain = open(&folder.write("plain", &text));
    assert_eq!(plain.word(50), Some("two words 50x"));
    let check = |name: &str, content: Vec<u8>| {
        let other = open(&folder.write(name, content));
        assert!(rows(&other) == rows(&plain), "{name}");
        assert_eq!(other.dims(), 7, "{name}");
    };
    let gzip = |text: &str| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    let word2vec = format!("3000 7\n{text}");
    check("header", word2vec.clone().into_bytes());
    check(
        "blanks at the ends",
        word2vec.replace('\n', " \n").into_bytes(),
    );
    check("windows", word2vec.replace('\n', "\r\n").into_bytes());
    check("no last break", text.trim_end().as_bytes().to_vec());
    check(
        "blank lines",
        text.replacen('\n', "\n\n \n", 2).into_bytes(),
    );
    check("byte order mark", format!("\u{feff}{text}").into_bytes());
    check("gzip", gzip(&word2vec));
    check(
        "two members",
        [gzip(&text[..1000]), gzip(&text[1000..])].concat(),
    );
    check("zstd", zstd::encode_all(text.as_bytes(), 1).unwrap());
}

#[test]
fn words_can_be_chosen() {
    let folder = Folder::new();
    let path = folder.write("vectors.txt", "c 1 2\nb 3 4\ntwo words 5 6\nc 7 8\na 9 9\n");
    let check = |words: &[&str], max_words: usize, expected: &[&str], lines: u64| {
        let chosen = Embeddings::builder(&path)
            .with_vocabulary(words)
            .with_max_words(max_words)
            .open()
            .unwrap();
        let kept: Vec<&str> = chosen.iter().map(|(word, _)| word).collect();
        assert_eq!(kept, expected);
        assert_eq!(chosen.report().lines, lines);
        assert_eq!(chosen.len(), expected.len());
        assert_eq!(chosen.is_empty(), expected.is_empty());
    };
    check(
        &["a", "two words", "c", "z"],
        9,
        &["c", "two words", "a"],
        5,
    );
    check(&["a", "two words", "c"], 2, &["c", "two words"], 3);
    check(&["a"], 9, &["a"], 5);
    check(&["a"], 0, &[], 0);
    check(&[], 9, &[], 5);
    let first = Embeddings::builder(&path).with_max_words(2).open().unwrap();
    assert_eq!(
        rows(&first),
        [
            ("c".to_owned(), vec![1.0, 2.0]),
            ("b".to_owned(), vec![3.0, 4.0])
        ]
    );
    let united = Embeddings::builder(&path)
        .with_vocabulary(["a"])
        .with_vocabulary(["b".to_owned()])
        .open()
        .unwrap();
    assert_eq!(united.len(), 2);
}

#[test]
fn what_is_behind_the_last_wanted_word_is_not_looked_at() {
    let folder = Folder::new();
    let path = folder.write("vectors.txt", "9 2\na 1 2\nb 3 4\nbroken\n");
    let two = Embeddings::builder(&path).with_max_words(2).open().unwrap();
    assert_eq!((two.len(), two.report().lines), (2, 3));
    let three = Embeddings::builder(&path).with_max_words(3).open();
    assert!(matches!(three, Err(EmbeddingsError::BadLine { line, .. }) if line.line == 4));
}

#[test]
fn bad_lines_are_refused_or_listed() {
    let folder = Folder::new();
    let text = b"a 1 2\nb 1\nc nan 2\n\nd\xff 1 2\ne 1 x\na 3 4\nf 1 2 3\ng 5 6\n";
    let path = folder.write("vectors.txt", text);
    let refused = Embeddings::builder(&path).open().unwrap_err();
    let message = refused.to_string();
    assert!(
        message.contains("line 2, byte 6: a vector has a length of 2 here, and this line one of 1"),
        "{message}"
    );
    assert!(message.contains("OnBadLine::Skip"), "{message}");

    let kept = Embeddings::builder(&path)
        .on_bad_line(OnBadLine::Skip)
        .open()
        .unwrap();
    let listed: Vec<String> = kept
        .report()
        .bad_lines
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        listed,
        [
            "line 2, byte 6: a vector has a length of 2 here, and this line one of 1",
            "line 3, byte 10: `nan` is not a finite number",
            "line 5, byte 19: the word is not UTF-8",
            "line 6, byte 26: `x` is not a number",
            "line 8, byte 38: a vector has a length of 2 here, and this line one of 3",
        ]
    );
    assert_eq!(
        (kept.len(), kept.report().duplicates, kept.report().lines),
        (2, 1, 9)
    );
    assert_eq!(kept.get("a"), Some(&[1.0, 2.0][..]), "the first stands");
}

#[test]
fn positions_of_bad_lines_do_not_depend_on_blocks_and_workers() {
    let folder = Folder::new();
    let mut lines: Vec<String> = glove(40_000, 20).lines().map(str::to_owned).collect();
    for at in (7..40_000).step_by(1_000) {
        lines[at] = format!("broken{at} 1 2");
    }
    let text = lines.join("\n");
    let path = folder.write("vectors.txt", &text);
    for workers in [1, 4] {
        let kept = Embeddings::builder(&path)
            .on_bad_line(OnBadLine::Skip)
            .with_workers(workers)
            .open()
            .unwrap();
        let places: Vec<_> = kept
            .report()
            .bad_lines
            .iter()
            .map(|bad| (bad.line, bad.byte_offset))
            .collect();
        let expected = (7..40_000_usize).step_by(1_000).map(|at| {
            let offset = text.find(&format!("broken{at} ")).unwrap();
            (at as u64 + 1, offset as u64)
        });
        assert!(expected.eq(places));
    }
}

#[test]
fn a_text_that_was_cut_off_is_noticed() {
    let folder = Folder::new();
    let path = folder.write("vectors.txt", "3 2\na 1 2\nb 3 4\n");
    let error = Embeddings::builder(&path).open().unwrap_err();
    let reason = BadLineReason::HeaderCount {
        announced: 3,
        found: 2,
    };
    assert!(matches!(error, EmbeddingsError::BadLine { line, .. } if line.reason == reason));
    let kept = Embeddings::builder(&path)
        .on_bad_line(OnBadLine::Skip)
        .open()
        .unwrap();
    assert_eq!(kept.report().bad_lines[0].reason, reason);

    let archive = zstd::encode_all(glove(1000, 5).as_bytes(), 1).unwrap();
    let path = folder.write("vectors.zst", &archive[..archive.len() - 20]);
    let cut = Embeddings::builder(&path)
        .on_bad_line(OnBadLine::Skip)
        .open();
    assert!(matches!(cut, Err(EmbeddingsError::Corrupt { .. })));
}

#[test]
fn what_cannot_be_read_is_said() {
    let folder = Folder::new();
    let check = |content: &str, expected: &str| {
        let message = Embeddings::builder(folder.write("x", content))
            .open()
            .unwrap_err()
            .to_string();
        assert!(message.contains(expected), "{content:?}: {message}");
    };
    check("", "empty");
    check("\n\n", "no lines");
    check("PK\u{3}\u{4}", "ZIP");
    check("words only\n", "does not end with a number");
    let path = folder.write("x", "5 2\na 1 2\n");
    let message = |error: EmbeddingsError| error.to_string();
    let builder = || Embeddings::builder(&path);
    assert!(message(builder().with_dims(3).open().unwrap_err()).contains("2 dimensions, not 3"));
    assert!(message(builder().with_dims(0).open().unwrap_err()).contains("`with_dims`"));
    assert!(message(builder().with_workers(0).open().unwrap_err()).contains("`with_workers`"));
    assert!(
        message(Embeddings::builder(folder.path("none")).open().unwrap_err())
            .contains("check the path")
    );
    assert!(
        Embeddings::builder(folder.path("")).open().is_err(),
        "a folder"
    );
    let glove = folder.write("y", "a 1\nb 2\n");
    let error = Embeddings::builder(&glove)
        .with_layout(Layout::Word2Vec)
        .open()
        .unwrap_err();
    assert!(message(error).contains("Layout::Glove"));
    let error = Embeddings::builder(&glove).with_dims(2).open().unwrap_err();
    assert!(message(error).contains("a vector has a length of 2 here, and this line one of 1"));
}

#[test]
fn nothing_but_bad_lines_is_an_error_even_when_they_may_be_passed_over() {
    let folder = Folder::new();
    let path = folder.write("x", format!("a 1 2\n{}", "b 1\n".repeat(100_001)));
    let error = Embeddings::builder(&path)
        .on_bad_line(OnBadLine::Skip)
        .open()
        .unwrap_err();
    assert!(matches!(error, EmbeddingsError::TooManyBadLines { last, .. } if last.line == 100_002));
}

#[test]
fn a_header_alone_is_no_words() {
    let folder = Folder::new();
    let none = open(&folder.write("x", "0 3\n"));
    assert_eq!((none.len(), none.dims(), none.iter().count()), (0, 3, 0));
    assert_eq!(none.nearest(&[1.0, 2.0, 3.0], 5), Ok(Vec::new()));
}

proptest! {
    /// Any text of lines that the naive reader understands.
    #[test]
    fn reading_equals_the_naive_reader(
        lines in prop::collection::vec(("[a-zé.]{1,4}", prop::array::uniform3(any::<f32>().prop_filter("finite", |x| x.is_finite()))), 1..60),
        workers in 1_usize..4,
    ) {
        let text: String = lines.iter().map(|(word, [a, b, c])| format!("{word} {a} {b:e} {c:?}\n")).collect();
        let folder = Folder::new();
        let path = folder.write("x", &text);
        let read = Embeddings::builder(&path).with_workers(workers).open().unwrap();
        prop_assert_eq!(rows(&read), naive(&text));
    }

    /// Whatever the bytes are, there is an answer.
    #[test]
    fn any_bytes_are_answered(bytes in prop::collection::vec(prop::sample::select(b"a1 .-e\n\r\t\xff\xc3\xa4".to_vec()), 0..200)) {
        let folder = Folder::new();
        let path = folder.write("x", &bytes);
        let _ = Embeddings::builder(&path).open();
        if let Ok(read) = Embeddings::builder(&path).on_bad_line(OnBadLine::Skip).open() {
            prop_assert!(read.iter().all(|(word, vector)| read.index_of(word).is_some() && vector.len() == read.dims()));
        }
    }
}

#[test]
fn words_that_are_blank_or_a_line_break_do_not_hide_a_header() {
    let folder = Folder::new();
    for (text, expected) in [
        (
            "2 2\n\n 1 2\na 3 4\n",
            [("\n", [1.0, 2.0]), ("a", [3.0, 4.0])].as_slice(),
        ),
        (
            "3 2\nthe 0.5 0.25\n  1 2\nof 3 4\n",
            &[("the", [0.5, 0.25]), (" ", [1.0, 2.0]), ("of", [3.0, 4.0])],
        ),
    ] {
        let path = folder.write("vectors.txt", text);
        for policy in [OnBadLine::Fail, OnBadLine::Skip] {
            let read = Embeddings::builder(&path)
                .on_bad_line(policy)
                .open()
                .unwrap();
            let expected: Vec<(String, Vec<f32>)> = expected
                .iter()
                .map(|(word, vector)| ((*word).to_owned(), vector.to_vec()))
                .collect();
            assert_eq!(rows(&read), expected, "{text:?}");
            assert!(read.report().bad_lines.is_empty());
        }
    }
}
