//! Corpora of all formats, as properties draw them, and what reading one leaves behind.

use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use proptest::prelude::*;
use tempfile::TempDir;

use crate::{
    BadRecord, Document, OnBadRecord, Order, RecordCounts, StreamingDatasetLoader,
    StreamingDatasetLoaderBuilder, TextUnit,
};

/// One row of a file.
#[derive(Clone, Debug)]
pub(super) enum Row {
    Text(String),
    Blank,
    Bad,
}

/// How rows are written down.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    JsonLines,
    JsonLinesGz,
    Lines,
    LinesZst,
    Csv,
    Parquet {
        group_rows: usize,
        page_rows: usize,
        has_dictionary: bool,
        has_page_index: bool,
    },
}

/// Files in a folder, cut into blocks of so many bytes.
#[derive(Debug)]
pub(super) struct Corpus {
    folder: TempDir,
    pub(super) extent_bytes: u64,
    /// The texts, sorted.
    pub(super) texts: Vec<String>,
    pub(super) n_blank: u64,
    pub(super) n_bad: u64,
}

/// What reading left behind.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Read {
    pub(super) documents: Vec<Document>,
    pub(super) ledger: Vec<BadRecord>,
    pub(super) counts: RecordCounts,
}

impl Corpus {
    pub(super) fn new(files: &[(Kind, Vec<Row>)], extent_bytes: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut corpus = Self {
            folder,
            extent_bytes,
            texts: Vec::new(),
            n_blank: 0,
            n_bad: 0,
        };
        for (number, (kind, rows)) in files.iter().enumerate() {
            let values: Vec<_> = rows
                .iter()
                .enumerate()
                .map(|(row, content)| match content {
                    Row::Text(text) => {
                        // Every text is another one.
                        let text = format!("{number}:{row} {text}");
                        let text = match kind {
                            // What ends a field or a row where it is not quoted.
                            Kind::Csv => text.replace(' ', "\r\n,\"\n"),
                            _ => text,
                        };
                        corpus.texts.push(text.clone());
                        Some(text)
                    }
                    Row::Blank => {
                        corpus.n_blank += 1;
                        Some(" ".to_owned())
                    }
                    Row::Bad => {
                        corpus.n_bad += 1;
                        None
                    }
                })
                .collect();
            let (extension, bytes) = kind.write(&values);
            let path = corpus
                .folder
                .path()
                .join(format!("{number:02}.{extension}"));
            std::fs::write(path, bytes).unwrap();
        }
        corpus.texts.sort();
        corpus
    }

    /// A loader of all files that lists what is bad.
    pub(super) fn open(&self) -> StreamingDatasetLoaderBuilder {
        let mut builder = StreamingDatasetLoader::builder()
            .allow_empty()
            .with_input(self.folder.path())
            .with_text_unit(TextUnit::Line)
            .with_max_record_bytes(2000)
            .on_bad_record(OnBadRecord::Skip);
        builder.selection.extent_bytes = self.extent_bytes;
        builder
    }

    pub(super) fn n_records(&self) -> u64 {
        self.texts.len() as u64 + self.n_blank + self.n_bad
    }
}

impl Kind {
    fn write(self, values: &[Option<String>]) -> (&'static str, Vec<u8>) {
        match self {
            Self::JsonLines => ("jsonl", json_lines(values)),
            Self::JsonLinesGz => {
                let level = flate2::Compression::fast();
                let mut encoder = flate2::write::GzEncoder::new(Vec::new(), level);
                encoder.write_all(&json_lines(values)).unwrap();
                ("jsonl.gz", encoder.finish().unwrap())
            }
            Self::Lines => ("txt", lines(values)),
            Self::LinesZst => ("txt.zst", zstd::encode_all(&*lines(values), 1).unwrap()),
            Self::Csv => ("csv", csv(values)),
            Self::Parquet { .. } => ("parquet", self.parquet(values)),
        }
    }

    fn parquet(self, values: &[Option<String>]) -> Vec<u8> {
        let Self::Parquet {
            group_rows,
            page_rows,
            has_dictionary,
            has_page_index,
        } = self
        else {
            panic!("only Parquet is written as Parquet");
        };
        let texts: ArrayRef = Arc::new(StringArray::from_iter(values));
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..values.len() as i64));
        let batch = RecordBatch::try_from_iter_with_nullable([
            ("n", numbers, false),
            ("text", texts, true),
        ])
        .unwrap();
        let properties = WriterProperties::builder()
            .set_max_row_group_row_count(Some(group_rows))
            .set_data_page_row_count_limit(page_rows)
            .set_write_batch_size(page_rows)
            .set_dictionary_enabled(has_dictionary)
            .set_offset_index_disabled(!has_page_index)
            .set_statistics_enabled(EnabledStatistics::None)
            .build();
        let mut bytes = Vec::new();
        let mut writer =
            ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        bytes
    }
}

fn json_lines(values: &[Option<String>]) -> Vec<u8> {
    let line = |value: &Option<String>| serde_json::json!({"text": value}).to_string() + "\n";
    values.iter().map(line).collect::<String>().into_bytes()
}

fn lines(values: &[Option<String>]) -> Vec<u8> {
    let line = |value: &Option<String>| match value {
        Some(text) => format!("{text}\n").into_bytes(),
        None => b"b\xFFd\n".to_vec(),
    };
    values.iter().flat_map(line).collect()
}

fn csv(values: &[Option<String>]) -> Vec<u8> {
    let mut rows = String::from("n,text\n");
    for (number, value) in values.iter().enumerate() {
        match value {
            // Some rows have blank lines behind them.
            Some(text) => {
                let breaks = "\r\n".repeat(1 + number % 3 / 2);
                write!(rows, "{number},\"{}\"{breaks}", text.replace('"', "\"\"")).unwrap();
            }
            None => writeln!(rows, "{number},too,many").unwrap(),
        }
    }
    rows.into_bytes()
}

/// Reads to the end.
pub(super) fn read(builder: StreamingDatasetLoaderBuilder) -> Read {
    let mut read = Read::default();
    read.go_on(&mut builder.build().unwrap(), usize::MAX);
    read
}

pub(super) fn texts(builder: StreamingDatasetLoaderBuilder) -> Vec<String> {
    let documents = read(builder).documents;
    documents
        .into_iter()
        .map(|document| document.text)
        .collect()
}

pub(super) fn sorted(mut texts: Vec<String>) -> Vec<String> {
    texts.sort();
    texts
}

impl Read {
    /// Reads at most `n` documents more.
    pub(super) fn go_on(&mut self, loader: &mut StreamingDatasetLoader, n: usize) {
        let documents = loader.by_ref().take(n).map(Result::unwrap);
        self.documents.extend(documents);
        self.ledger.extend(loader.take_bad_records());
        self.counts = loader.counts();
    }
}

fn rows() -> impl Strategy<Value = Vec<Row>> {
    let row = prop_oneof![
        8 => "[a-zé ]{0,30}".prop_map(Row::Text),
        1 => Just(Row::Text("x".repeat(400))),
        1 => Just(Row::Blank),
        1 => Just(Row::Bad),
    ];
    prop::collection::vec(row, 0..30)
}

fn kinds() -> impl Strategy<Value = Kind> {
    let parquet = (1..12_usize, 1..8_usize, any::<bool>(), any::<bool>()).prop_map(
        |(group_rows, page_rows, has_dictionary, has_page_index)| Kind::Parquet {
            group_rows,
            page_rows,
            has_dictionary,
            has_page_index,
        },
    );
    prop_oneof![
        3 => Just(Kind::JsonLines),
        1 => Just(Kind::JsonLinesGz),
        3 => Just(Kind::Lines),
        1 => Just(Kind::LinesZst),
        1 => Just(Kind::Csv),
        3 => parquet,
    ]
}

/// Some files, cut into blocks of 50 to 1,000 bytes.
pub(super) fn corpora() -> impl Strategy<Value = Corpus> {
    let files = prop::collection::vec((kinds(), rows()), 1..5);
    (files, 50..1000_u64).prop_map(|(files, extent_bytes)| Corpus::new(&files, extent_bytes))
}

/// Sequential, or shuffled in windows of one to many blocks.
pub(super) fn orders() -> impl Strategy<Value = Order> {
    prop_oneof![
        1 => Just(Order::Sequential),
        3 => (any::<u64>(), 0..3_u64, 1..4000_u64).prop_map(|(seed, epoch, bytes)| {
            Order::shuffled(seed).with_epoch(epoch).with_window_bytes(bytes)
        }),
    ]
}

/// None, one, and more than there are blocks to begin with.
pub(super) fn workers() -> impl Strategy<Value = usize> {
    prop::sample::select(vec![0, 1, 3])
}
