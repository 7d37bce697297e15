//! Memory does not grow with the corpus: one pass over 1 GB takes what ten passes over 100 MB take.
//! As many passes, because an allocator reaches its level only after some hundred megabytes.

#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests may fail by panic, as tests do"
)]

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use kato_loader::{Order, StreamingDatasetLoader};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;

/// The environment variables that hold the child's task.
const PATH: &str = "KATO_LOADER_MEMORY_PATH";
const ORDER: &str = "KATO_LOADER_MEMORY_ORDER";
const WORKERS: &str = "KATO_LOADER_MEMORY_WORKERS";
const PASSES: &str = "KATO_LOADER_MEMORY_PASSES";

const ROWS_PER_GROUP: usize = 10_000;
const ROW_BYTES: usize = 1000;
const GROUPS_IN_100_MB: usize = 10;
/// What an allocator may hold beside, in KiB: without threads reading takes so little, and with
/// them the order of allocations varies so much, that it shows.
const SLACK_KIB: f64 = 8192.0;

/// Row groups of 10 MB of text.
fn write(path: &Path, n_groups: usize) {
    let text = |row: usize| format!("{row:0>ROW_BYTES$}");
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values((0..ROWS_PER_GROUP).map(text)));
    let group = RecordBatch::try_from_iter([("text", texts)]).unwrap();
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(ROWS_PER_GROUP))
        .set_dictionary_enabled(false)
        .build();
    let file = File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, group.schema(), Some(properties)).unwrap();
    for _ in 0..n_groups {
        writer.write(&group).unwrap();
    }
    writer.close().unwrap();
}

#[test]
#[ignore = "the process that is measured; the other test starts it"]
fn child() {
    let task = |name| std::env::var(name).unwrap();
    let mut bytes = 0;
    for epoch in 0..task(PASSES).parse().unwrap() {
        let order = match task(ORDER).as_str() {
            "shuffled" => Order::shuffled(1).with_window_bytes(16 << 20),
            _ => Order::Sequential,
        };
        let mut loader = StreamingDatasetLoader::builder()
            .with_input(task(PATH))
            .with_order(order.with_epoch(epoch))
            .with_workers(task(WORKERS).parse().unwrap())
            .with_prefetch_bytes(16 << 20)
            .build()
            .unwrap();
        while let Some(batch) = loader.next_batch(256 << 10).unwrap() {
            bytes += batch.text_bytes();
        }
    }
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak = status
        .lines()
        .find(|line| line.starts_with("VmHWM"))
        .unwrap();
    let peak = peak.split_whitespace().nth(1).unwrap();
    println!("read={bytes} peak_kib={peak};");
}

/// Bytes of text read, and the peak resident set in KiB.
fn measure(path: &Path, passes: u64, order: &str, workers: usize) -> (u64, u64) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--ignored", "--nocapture"])
        .env(PATH, path)
        .env(PASSES, passes.to_string())
        .env(ORDER, order)
        .env(WORKERS, workers.to_string())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8(output.stdout).unwrap();
    let number = |name: &str| -> u64 {
        let rest = said.split(name).nth(1).unwrap();
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().unwrap()
    };
    (number("read="), number("peak_kib="))
}

#[test]
fn ten_times_the_corpus_takes_no_more_memory() {
    let folder = tempfile::tempdir().unwrap();
    let (small, large) = (
        folder.path().join("small.parquet"),
        folder.path().join("large.parquet"),
    );
    write(&small, GROUPS_IN_100_MB);
    write(&large, 10 * GROUPS_IN_100_MB);
    for order in ["sequential", "shuffled"] {
        for workers in [0, 2] {
            let (of_small, small_peak) = measure(&small, 10, order, workers);
            let (of_large, large_peak) = measure(&large, 1, order, workers);
            assert_eq!((of_small, of_large), (1_000_000_000, 1_000_000_000));
            println!(
                "{order}, {workers} workers: {small_peak} KiB for 100 MB, {large_peak} KiB for 1 GB"
            );
            assert!(
                large_peak as f64 <= small_peak as f64 * 1.05 + SLACK_KIB,
                "{order}, {workers} workers: {small_peak} KiB, then {large_peak} KiB"
            );
        }
    }
}
