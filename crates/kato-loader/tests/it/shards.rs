//! Shards of small corpora: each has its share, or it is an error.

use std::fs;
use std::io::{self, Cursor, Read, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bzip2::Compression;
use bzip2::write::BzEncoder;
use kato_loader::{
    LoadError, Order, Shard, StreamingDatasetLoader, StreamingDatasetLoaderBuilder, TextUnit,
};

/// Opens a corpus anew.
type Open = Box<dyn Fn() -> StreamingDatasetLoaderBuilder>;

fn n_documents(builder: StreamingDatasetLoaderBuilder) -> Result<usize, LoadError> {
    let mut n = 0;
    for document in builder.build()? {
        document?;
        n += 1;
    }
    Ok(n)
}

#[test]
fn shards_of_a_small_file_have_about_as_many_records_each() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lines.txt");
    let lines: String = (0..4000).map(|n| format!("line number {n:05}\n")).collect();
    fs::write(&path, lines).unwrap();
    let open = || {
        StreamingDatasetLoader::builder()
            .with_input(&path)
            .with_text_unit(TextUnit::Line)
    };
    for order in [Order::Sequential, Order::shuffled(7)] {
        for count in [2, 3, 5] {
            let shard = |index| {
                let open = || {
                    open()
                        .with_order(order)
                        .with_shard(Shard::new(index, count))
                };
                let n = n_documents(open().with_workers(0)).unwrap();
                assert_eq!(n_documents(open().with_workers(2)).unwrap(), n);
                n
            };
            let shares: Vec<usize> = (0..count).map(shard).collect();
            assert_eq!(shares.iter().sum::<usize>(), 4000, "{shares:?}");
            let fair = 4000 / count as usize;
            assert!(
                shares.iter().all(|share| share.abs_diff(fair) <= fair / 3),
                "{order:?} {shares:?}"
            );
        }
    }
}

#[test]
fn a_shard_without_a_record_is_an_error_unless_it_is_allowed() {
    let open = |index| {
        StreamingDatasetLoader::builder()
            .with_reader("stream.txt", "one\n".as_bytes())
            .with_text_unit(TextUnit::Line)
            .with_shard(Shard::new(index, 2))
    };
    assert_eq!(n_documents(open(0)).unwrap(), 1);
    let error = n_documents(open(1)).unwrap_err();
    assert!(
        matches!(error, LoadError::EmptyShard { index: 1, count: 2 }),
        "{error:?}"
    );
    assert_eq!(n_documents(open(1).allow_empty()).unwrap(), 0);
}

#[test]
fn a_shard_has_the_identity_of_its_corpus() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lines.txt");
    fs::write(&path, "one\ntwo\nthree\n".repeat(100)).unwrap();
    let open = || {
        StreamingDatasetLoader::builder()
            .with_input(&path)
            .with_text_unit(TextUnit::Line)
    };
    let shard = Shard::new(1, 4);
    let of_shard = open().with_shard(shard).build().unwrap().identity();
    assert_eq!(
        open().build().unwrap().identity().with_shard(shard),
        of_shard
    );
}

/// Records of corpora whose files cannot be cut.
const N_RECORDS: usize = 100;

/// Returns corpora of the same texts in every form that has to be read from its beginning, with whether they
/// can be shuffled.
fn uncuttable(folder: &Path) -> Vec<(&'static str, bool, Open)> {
    let texts: Arc<[String]> = (0..N_RECORDS).map(|n| format!("text number {n}")).collect();
    let write = |name: &str, text: String| {
        let path = folder.join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let file = |path: PathBuf, unit: TextUnit| -> Open {
        Box::new(move || {
            StreamingDatasetLoader::builder()
                .with_input(&path)
                .with_text_unit(unit)
        })
    };
    let table = write("table.csv", format!("text\n{}\n", texts.join("\n")));
    let paragraphs = write("paragraphs.txt", texts.join("\n\n"));
    let compressed = folder.join("lines.txt.bz2");
    let mut encoder = BzEncoder::new(fs::File::create(&compressed).unwrap(), Compression::fast());
    encoder.write_all(texts.join("\n").as_bytes()).unwrap();
    encoder.finish().unwrap();
    let lines = texts.join("\n");
    let (listed, awaited) = (Arc::clone(&texts), Arc::clone(&texts));
    vec![
        ("rows of a table", true, file(table, TextUnit::File)),
        ("paragraphs", true, file(paragraphs, TextUnit::Paragraphs)),
        ("a compressed file", true, file(compressed, TextUnit::Line)),
        (
            "a reader",
            false,
            Box::new(move || {
                StreamingDatasetLoader::builder()
                    .with_reader("lines.txt", Cursor::new(lines.clone()))
                    .with_text_unit(TextUnit::Line)
            }),
        ),
        (
            "an iterator",
            false,
            Box::new(move || {
                StreamingDatasetLoader::builder().with_documents("texts", listed.to_vec())
            }),
        ),
        (
            "an async stream",
            false,
            Box::new(move || {
                let texts = futures_util::stream::iter(awaited.to_vec());
                StreamingDatasetLoader::builder().with_stream("texts", texts)
            }),
        ),
    ]
}

fn texts(builder: StreamingDatasetLoaderBuilder) -> Vec<String> {
    let loader = builder.build().unwrap();
    loader.map(|document| document.unwrap().text).collect()
}

#[test]
fn what_cannot_be_cut_is_dealt_record_by_record() {
    let folder = tempfile::tempdir().unwrap();
    for (what, can_be_shuffled, open) in uncuttable(folder.path()) {
        let orders = [Order::Sequential, Order::shuffled(7)];
        for order in orders.into_iter().take(1 + usize::from(can_be_shuffled)) {
            let all = texts(open().with_order(order));
            assert_eq!(all.len(), N_RECORDS, "{what}");
            for count in [2, 3, 7] {
                let shard = |index| {
                    open()
                        .with_order(order)
                        .with_shard(Shard::new(index, count))
                };
                let mut found = Vec::new();
                for index in 0..count {
                    let own = texts(shard(index));
                    assert!(
                        own.len().abs_diff(N_RECORDS / count as usize) <= 1,
                        "{what}"
                    );
                    assert_eq!(texts(shard(index).with_workers(2)), own, "{what}");
                    let mut first = shard(index).build().unwrap();
                    let begun: Vec<_> = first.by_ref().take(5).map(|it| it.unwrap().text).collect();
                    let rest = texts(shard(index).with_cursor(first.cursor()));
                    assert_eq!([begun, rest].concat(), own, "{what}");
                    found.extend(own);
                }
                let mut expected = all.clone();
                found.sort();
                expected.sort();
                assert_eq!(found, expected, "{what} in {count} shards");
            }
        }
    }
}

/// A disk that is gone.
struct Gone;

impl Read for Gone {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::other("the disk is gone"))
    }
}

#[test]
fn every_shard_tells_that_its_reading_broke_off() {
    for index in 0..3 {
        let lines = Cursor::new("one\ntwo\nthree\nfour\n").chain(Gone);
        let shard = StreamingDatasetLoader::builder()
            .with_reader("lines.txt", lines)
            .with_text_unit(TextUnit::Line)
            .with_shard(Shard::new(index, 3))
            .allow_empty();
        let ended = n_documents(shard);
        assert!(ended.is_err(), "shard {index}: {ended:?}");
    }
}
