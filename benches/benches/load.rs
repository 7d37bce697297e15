//! Reading documents from files in the page cache. Bound by finding line ends, unescaping and
//! checking UTF-8 for JSON Lines and text, by decompressing and copying for Parquet; the limit is
//! reading the file, `read and check UTF-8`.
//!
//! Bytes are those of the text, whatever the file takes. docs/benchmarks.md says what was measured.

use std::fs::File;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use kato_benches::json_lines;
use kato_loader::{StreamingDatasetLoader, TextUnit};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

const CORPUS_BYTES: u64 = 20_000_000;
/// Text handed out at once: what a training run asks for.
const BATCH_BYTES: usize = 512 << 10;

fn load(c: &mut Criterion) {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let lines = json_lines(CORPUS_BYTES);
    let texts: Vec<String> = lines
        .split(|&byte| byte == b'\n')
        .filter_map(|line| {
            serde_json::from_slice::<serde_json::Value>(line).ok()?["text"]
                .as_str()
                .map(str::to_owned)
        })
        .collect();
    let one_line: Vec<String> = texts.iter().map(|text| text.replace('\n', " ")).collect();
    let jsonl = write(dir.path(), "corpus.jsonl", &lines);
    let plain = write(dir.path(), "corpus.txt", one_line.join("\n").as_bytes());
    let parquet = dir.path().join("corpus.parquet");
    write_parquet(&parquet, &texts);

    let mut group = c.benchmark_group("load");
    group.sample_size(10);
    let bytes = texts.iter().map(String::len).sum::<usize>() as u64;
    group.throughput(Throughput::ElementsAndBytes {
        elements: texts.len() as u64,
        bytes,
    });
    for (name, path) in [
        ("json lines", &jsonl),
        ("text by line", &plain),
        ("parquet, snappy", &parquet),
    ] {
        assert_eq!(read(path), bytes, "{name}");
        group.bench_function(name, |b| b.iter(|| black_box(read(path))));
    }
    group.bench_function("limit: read and check UTF-8", |b| {
        b.iter(|| {
            let bytes = std::fs::read(&plain).expect("the file was written");
            black_box(str::from_utf8(&bytes).expect("the corpus is UTF-8").len())
        });
    });
    group.finish();
}

/// Bytes of text in all documents of a file.
fn read(path: &Path) -> u64 {
    let mut loader = StreamingDatasetLoader::builder()
        .with_input(path)
        .with_text_unit(TextUnit::Line)
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

fn write(dir: &Path, name: &str, content: &[u8]) -> PathBuf {
    let path = dir.join(name);
    std::fs::write(&path, content).expect("the temporary folder has room");
    path
}

fn write_parquet(path: &Path, texts: &[String]) {
    let column: ArrayRef = Arc::new(StringArray::from_iter_values(texts));
    let batch = RecordBatch::try_from_iter([("text", column)]).expect("one column");
    let file = File::create(path).expect("the temporary folder has room");
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .build();
    let mut writer =
        ArrowWriter::try_new(file, batch.schema(), Some(properties)).expect("a plain schema");
    writer.write(&batch).expect("the temporary folder has room");
    writer.close().expect("the temporary folder has room");
}

criterion_group!(benches, load);
criterion_main!(benches);
