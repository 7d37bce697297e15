//! Reading documents from files that are in memory as the system caches them. Bound by finding line ends,
//! unescaping and checking UTF-8 for JSON Lines and text, by decompressing and copying for Parquet, gzip
//! and Zstandard; the limit is reading the file and checking UTF-8. Shuffled reading adds the order and
//! memory for what is read ahead.
//!
//! The files are larger than the caches of most processors; the size is printed. Bytes are those of the
//! text, whatever the file takes. docs/benchmarks.md says what was measured.
#![expect(clippy::print_stderr, reason = "a bench reports to its user")]

use std::fs::File;
use std::hint::black_box;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use kato_benches::{json_lines, sized, texts};
use kato_loader::{Order, StreamingDatasetLoader, TextUnit};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

const CORPUS_BYTES: u64 = 200_000_000;
/// Text handed out at once: what a training run asks for.
const BATCH_BYTES: usize = 512 << 10;
/// Documents of a row group, as the Hub's files have them.
const ROW_GROUP: usize = 1_000;

fn load(c: &mut Criterion) {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let lines = json_lines(sized(CORPUS_BYTES));
    let texts = texts(&lines);
    let one_line: Vec<String> = texts.iter().map(|text| text.replace('\n', " ")).collect();
    let jsonl = write(dir.path(), "corpus.jsonl", &lines);
    let plain = write(dir.path(), "corpus.txt", one_line.join("\n").as_bytes());
    let parquet = dir.path().join("corpus.parquet");
    write_parquet(&parquet, &texts);
    let gzip = write(dir.path(), "corpus.jsonl.gz", &gzip(&lines));
    let zstandard = zstd::encode_all(&lines[..], 3).expect("memory takes every write");
    let zstandard = write(dir.path(), "corpus.jsonl.zst", &zstandard);
    let (n_documents, bytes) = (texts.len(), texts.iter().map(String::len).sum::<usize>());
    drop((lines, texts, one_line));
    eprintln!("load: {n_documents} documents, {bytes} bytes of text");

    let mut group = c.benchmark_group("load");
    group.sample_size(10);
    group.throughput(Throughput::ElementsAndBytes {
        elements: n_documents as u64,
        bytes: bytes as u64,
    });
    let (in_order, shuffled) = (Order::Sequential, Order::shuffled(1));
    for (name, path, order) in [
        ("json lines", &jsonl, in_order),
        ("json lines, shuffled", &jsonl, shuffled),
        ("json lines, gzip", &gzip, in_order),
        ("json lines, zstandard", &zstandard, in_order),
        ("text by line", &plain, in_order),
        ("parquet, snappy", &parquet, in_order),
        ("parquet, snappy, shuffled", &parquet, shuffled),
    ] {
        assert_eq!(read(path, order), bytes as u64, "{name}");
        group.bench_function(name, |b| b.iter(|| black_box(read(path, order))));
    }
    let mut buffer = vec![0; BATCH_BYTES];
    group.bench_function("limit: read and check UTF-8", |b| {
        b.iter(|| black_box(check(&plain, &mut buffer)));
    });
    group.finish();
}

/// Bytes of text in all documents of a file.
fn read(path: &Path, order: Order) -> u64 {
    let mut loader = StreamingDatasetLoader::builder()
        .with_input(path)
        .with_text_unit(TextUnit::Line)
        .with_order(order)
        .build()
        .expect("the corpus can be opened");
    let mut bytes = 0;
    while let Some(batch) = loader
        .next_batch(BATCH_BYTES)
        .expect("the corpus has no bad records")
    {
        bytes += batch.text_bytes() as u64;
    }
    bytes
}

/// Reads a file through one buffer, and checks that it is UTF-8. Returns its bytes that are.
fn check(path: &Path, buffer: &mut [u8]) -> usize {
    let mut file = File::open(path).expect("the file was written");
    let mut total = 0;
    loop {
        let n_read = file.read(buffer).expect("the file was written");
        if n_read == 0 {
            return total;
        }
        // A character that the buffer's end cuts is left out: it is one in half a million.
        total += match str::from_utf8(&buffer[..n_read]) {
            Ok(text) => text.len(),
            Err(cut) => cut.valid_up_to(),
        };
    }
}

fn write(dir: &Path, name: &str, content: &[u8]) -> PathBuf {
    let path = dir.join(name);
    std::fs::write(&path, content).expect("the temporary folder has room");
    path
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder
        .write_all(content)
        .expect("memory takes every write");
    encoder.finish().expect("memory takes every write")
}

fn write_parquet(path: &Path, texts: &[String]) {
    let column: ArrayRef = Arc::new(StringArray::from_iter_values(texts));
    let batch = RecordBatch::try_from_iter([("text", column)]).expect("one column");
    let file = File::create(path).expect("the temporary folder has room");
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_max_row_group_row_count(Some(ROW_GROUP))
        .build();
    let mut writer =
        ArrowWriter::try_new(file, batch.schema(), Some(properties)).expect("a plain schema");
    writer.write(&batch).expect("the temporary folder has room");
    writer.close().expect("the temporary folder has room");
}

criterion_group!(benches, load);
criterion_main!(benches);
