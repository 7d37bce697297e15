//! A corpus of nothing is an error, unless it is asked for.

use kato_loader::{
    LoadError, OnBadRecord, Order, Sample, StreamingDatasetLoader, StreamingDatasetLoaderBuilder,
    TextUnit,
};

use crate::support::{Folder, gzip, texts};

fn strict() -> StreamingDatasetLoaderBuilder {
    StreamingDatasetLoader::builder()
}

/// How a stream ends, in words; nothing where it ends well.
fn end(builder: StreamingDatasetLoaderBuilder) -> String {
    let mut loader = builder.build().unwrap();
    let error = loader.find_map(Result::err);
    error.map_or_else(String::new, |error| error.to_string())
}

#[test]
fn an_input_without_a_record_is_an_error_wherever_it_stands() {
    let folder = Folder::new();
    let empties = [
        folder.write("a.txt", ""),
        folder.write("b.jsonl", "\n \n"),
        folder.write("c.csv", "id,text\n"),
        folder.write("d.txt.gz", gzip(b"")),
        folder.write("nothing", ""),
    ];
    let full = folder.write("full.txt", "words");
    for order in [Order::Sequential, Order::shuffled(1)] {
        for empty in &empties {
            for inputs in [[&full, empty], [empty, &full]] {
                let open = || {
                    let open = strict().with_inputs(inputs).with_order(order);
                    open.with_text_unit(TextUnit::Line)
                };
                assert!(
                    end(open()).contains("no text is in it"),
                    "{empty:?} {order:?}"
                );
                assert_eq!(texts(open().allow_empty()), ["words"]);
                for policy in [OnBadRecord::Skip, OnBadRecord::SkipFile] {
                    let mut skipping = open().on_bad_record(policy).build().unwrap();
                    let texts: Vec<_> = skipping.by_ref().map(|it| it.unwrap().text).collect();
                    assert_eq!(
                        (&texts[..], skipping.counts().bad),
                        (&["words".into()][..], 1)
                    );
                }
            }
        }
        // In a folder it is one of many.
        let of_folder = strict().with_input(folder.path()).with_order(order);
        assert!(end(of_folder).is_empty());
    }
    let stream = strict().with_reader("-", std::io::empty());
    assert!(end(stream).contains("no text is in it"));
    std::fs::remove_file(full).unwrap();
    assert!(end(strict().with_input(folder.path())).contains("no text is in it"));
}

#[test]
fn a_shuffled_input_without_a_record_is_told_once_however_often_reading_is_interrupted() {
    let folder = Folder::new();
    let lines: String = (0..9).map(|line| format!("line {line}\n")).collect();
    let (full, empty) = (folder.write("a.txt", lines), folder.write("b.txt", ""));
    let open = |seed| {
        let open = strict().with_inputs([&full, &empty]);
        let open = open.with_text_unit(TextUnit::Line);
        let open = open.with_order(Order::shuffled(seed));
        open.on_bad_record(OnBadRecord::Skip)
    };
    for seed in 0..9 {
        let whole = texts(open(seed));
        let mut cursor = None;
        let mut found = Vec::new();
        loop {
            let mut builder = open(seed);
            if let Some(cursor) = cursor.take() {
                builder = builder.with_cursor(cursor);
            }
            let mut loader = builder.build().unwrap();
            let Some(document) = loader.next() else {
                assert_eq!(loader.counts().bad, 1);
                break;
            };
            found.push(document.unwrap().text);
            cursor = Some(loader.cursor());
        }
        assert_eq!(found, whole);
    }
}

#[test]
fn an_input_without_a_record_is_told_again_where_reading_goes_on_in_front_of_it() {
    let folder = Folder::new();
    let (full, empty) = (folder.write("a.txt", "words"), folder.write("b.txt", ""));
    let open = || strict().with_inputs([&full, &empty]);
    let mut loader = open().build().unwrap();
    assert_eq!(loader.next().unwrap().unwrap().text, "words");
    let told = loader.next().unwrap().unwrap_err().to_string();
    assert!(told.contains("no text is in it"), "{told}");
    assert_eq!(end(open().with_cursor(loader.cursor())), told);
}

#[test]
fn a_corpus_without_a_document_is_an_error_in_every_order() {
    let folder = Folder::new();
    let blank = folder.write("a.jsonl", "{\"text\": \" \"}\n{\"text\": \"\"}\n");
    let bad = folder.write("b.jsonl", "{\"body\": \"a\"}\n");
    let none = folder.write("c.jsonl", "");
    for order in [Order::Sequential, Order::shuffled(1)] {
        let open = |path| {
            strict()
                .with_input(path)
                .with_order(order)
                .on_bad_record(OnBadRecord::Skip)
        };
        let told = end(open(&blank));
        assert!(told.contains("2 of them blank"), "{told}");
        let told = end(open(&bad));
        assert!(
            told.contains("1 record, 0 of them blank, 1 bad; first ")
                && told.contains("byte 0: field `text` is missing"),
            "{told}"
        );
        assert!(end(open(&none)).contains("no document"));
        let error = open(&none).build().unwrap().next().unwrap().unwrap_err();
        assert!(matches!(error, LoadError::NoDocuments { .. }));
        assert!(end(open(&none).allow_empty()).is_empty());
    }
}

#[test]
fn what_options_leave_out_is_asked_for() {
    let folder = Folder::new();
    let path = folder.write("a.jsonl", "{\"text\": \"short\"}\n");
    let open = || strict().with_input(&path);
    assert!(end(open().with_min_chars(100)).is_empty());
    assert!(end(open().with_filter("none", |_| false)).is_empty());
    assert!(end(open().with_skip_records(1)).is_empty());
    assert!(end(open().with_max_documents(0)).is_empty());
    assert!(end(open().with_sample(Sample::new(1e-9, 1))).is_empty());
    // At the end of a corpus nothing is left.
    let mut loader = open().build().unwrap();
    loader.by_ref().for_each(|document| drop(document.unwrap()));
    assert!(end(open().with_cursor(loader.cursor())).is_empty());
}
