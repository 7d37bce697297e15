//! A process that reads a mixed, shuffled, filtered remote stream is killed at random rows, again
//! and again: what it wrote down is the uninterrupted stream, row for row.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests may fail by panic, as tests do"
)]

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use kato_fetch::Fetcher;
use kato_fetch::defaults::DEFAULT_RETRY;
use kato_hub_standin::{Dataset, Fault, HubStandin, PlainFile, When};
use kato_loader::{
    LoaderState, OnBadRecord, Order, StreamingDatasetLoader, StreamingDatasetLoaderBuilder,
};
use parquet::arrow::ArrowWriter;
use serde::{Deserialize, Serialize};

const N_TABLES: usize = 12;
const N_LINE_FILES: usize = 8;
const ROWS_PER_FILE: usize = 5000;
const N_KILLS: usize = 210;
/// A run is stopped before it has read more rows than this.
const MAX_ROWS_PER_RUN: u64 = 720;
/// What the child says for every row that it has written.
const TICK: u8 = 1;
/// The environment variable that holds the child's task.
const TASK: &str = "KATO_LOADER_KILL_TASK";

/// What a child is to do.
#[derive(Serialize, Deserialize)]
struct Task {
    hub: String,
    line_files: Vec<String>,
    /// Where rows, bad records and states are written down.
    log: PathBuf,
    workers: usize,
    prefetch_bytes: usize,
    /// Rows between two states.
    batch: usize,
    /// After how many rows to wait for the end.
    max_rows: u64,
}

/// Numbers that look random and are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// One in a hundred rows is bad, one in eight does not pass the filter.
fn rows(file: usize) -> Vec<Option<String>> {
    let row =
        |row: usize| (row % 100 != 37).then(|| format!("{file}:{row} some text, {}", row % 8));
    (0..ROWS_PER_FILE).map(row).collect()
}

fn table(file: usize) -> Vec<u8> {
    let texts: ArrayRef = Arc::new(StringArray::from_iter(rows(file)));
    let batch = RecordBatch::try_from_iter_with_nullable([("text", texts, true)]).unwrap();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    bytes
}

fn lines(file: usize) -> Vec<u8> {
    let line = |text: Option<String>| serde_json::json!({"text": text}).to_string() + "\n";
    rows(file)
        .into_iter()
        .map(line)
        .collect::<String>()
        .into_bytes()
}

fn standin() -> HubStandin {
    let mut dataset = Dataset::new("me/tables");
    let mut standin = HubStandin::builder();
    for number in 0..N_TABLES {
        dataset = dataset.file(&format!("data/train-{number:05}.parquet"), table(number));
    }
    for number in 0..N_LINE_FILES {
        let file = PlainFile::new(lines(N_TABLES + number));
        standin = standin.file(&format!("{number}.jsonl"), file);
    }
    standin
        .dataset(dataset)
        .fault("/cdn/", When::Chance(3, 1), Fault::Truncate(20_000))
        .fault("/files/", When::Chance(3, 2), Fault::ResetAfterHead)
        .fault("", When::Chance(2, 3), Fault::Status(503, None))
        .start()
        .unwrap()
}

fn open(task: &Task) -> StreamingDatasetLoaderBuilder {
    let fetcher = Fetcher::builder()
        .with_hub_endpoint(&task.hub)
        .with_retry(
            DEFAULT_RETRY
                .with_attempts(50)
                .with_first_wait(Duration::from_micros(100))
                .with_longest_wait(Duration::from_millis(2)),
        )
        .build()
        .unwrap();
    let kept = |text: &str| !text.ends_with(", 5");
    let tables = StreamingDatasetLoader::builder()
        .with_input("hf://me/tables")
        .with_order(Order::shuffled(11).with_window_bytes(600_000))
        .with_filter("not five", kept);
    let line_files = StreamingDatasetLoader::builder()
        .with_inputs(&task.line_files)
        .with_order(Order::shuffled(12).with_window_bytes(900_000))
        .with_filter("not five", kept);
    StreamingDatasetLoader::builder()
        .with_mixed(0.7, tables)
        .with_mixed(0.3, line_files)
        .with_mixing_seed(13)
        .with_fetcher(fetcher)
        .on_bad_record(OnBadRecord::Skip)
        .with_workers(task.workers)
        .with_prefetch_bytes(task.prefetch_bytes)
}

/// The last state that was written down in full; what follows it is cut off.
fn last_state(log: &Path) -> Option<LoaderState> {
    let bytes = fs::read(log).unwrap();
    let end = bytes
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |at| at + 1);
    let text = std::str::from_utf8(&bytes[..end]).unwrap();
    let found = match text.starts_with("S ") && text.matches("\nS ").next().is_none() {
        true => Some(0),
        false => text.rfind("\nS ").map(|at| at + 1),
    };
    let kept = found.map_or(0, |at| at + text[at..].find('\n').unwrap() + 1);
    let file = OpenOptions::new().write(true).open(log).unwrap();
    file.set_len(kept as u64).unwrap();
    found.map(|at| serde_json::from_str(text[at + 2..kept].trim_end()).unwrap())
}

/// Reads batches, and writes down each with the state behind it; true at the end of the stream.
fn read_on(task: &Task, log: &mut File) -> bool {
    let mut builder = open(task);
    if let Some(state) = last_state(&task.log) {
        builder = builder.with_state(state);
    }
    let mut loader = builder.build().unwrap();
    let mut n_rows = 0;
    while n_rows < task.max_rows {
        let mut n_in_batch = 0;
        for document in loader.by_ref().take(task.batch) {
            let document = document.unwrap();
            writeln!(
                log,
                "R {} {} {}",
                document.index, document.id, document.text
            )
            .unwrap();
            std::io::stdout().write_all(&[TICK]).unwrap();
            std::io::stdout().flush().unwrap();
            n_in_batch += 1;
        }
        for record in loader.take_bad_records() {
            writeln!(log, "B {record}").unwrap();
        }
        let state = serde_json::to_string(&loader.state()).unwrap();
        writeln!(log, "S {state}").unwrap();
        n_rows += n_in_batch;
        if n_in_batch == 0 {
            return true;
        }
    }
    false
}

#[test]
#[ignore = "the process that is killed; the other test starts it"]
fn child() {
    let task: Task = serde_json::from_str(&std::env::var(TASK).unwrap()).unwrap();
    let mut log = OpenOptions::new().append(true).open(&task.log).unwrap();
    if !read_on(&task, &mut log) {
        // Until it is killed, or the parent has died.
        let _end = std::io::stdin().read(&mut [0]);
    }
}

/// A child that does not outlive the test.
struct Running(Child);

impl Running {
    fn start(task: &Task) -> Self {
        let command = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "child",
                "--ignored",
                "--nocapture",
                "--test-threads=1",
            ])
            .env(TASK, serde_json::to_string(task).unwrap())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        Self(command.unwrap())
    }

    /// Waits for so many rows; fewer when the child has ended.
    fn wait_for(&mut self, rows: u64) -> u64 {
        let mut seen = 0;
        let mut bytes = [0; 256];
        while seen < rows {
            let read = self.0.stdout.as_mut().unwrap().read(&mut bytes).unwrap();
            if read == 0 {
                break;
            }
            seen += bytes[..read].iter().filter(|byte| **byte == TICK).count() as u64;
        }
        seen
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // By SIGKILL, where there are signals.
        let _ended = self.0.kill();
        let _status = self.0.wait();
    }
}

/// Rows and bad records, without the states between them.
fn written(log: &Path) -> Vec<String> {
    let text = fs::read_to_string(log).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with("S "));
    lines.map(str::to_owned).collect()
}

#[test]
fn a_stream_that_is_killed_again_and_again_is_the_uninterrupted_one() {
    let standin = standin();
    let folder = tempfile::tempdir().unwrap();
    let task = |log: &str| {
        let log = folder.path().join(log);
        let _new = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&log)
            .unwrap();
        let numbers = 0..N_LINE_FILES;
        Task {
            hub: standin.url(),
            line_files: numbers
                .map(|number| standin.file_url(&format!("{number}.jsonl")))
                .collect(),
            log,
            workers: 0,
            prefetch_bytes: 64 << 20,
            batch: usize::MAX,
            max_rows: u64::MAX,
        }
    };
    let whole = task("whole");
    let mut loader = open(&whole).build().unwrap();
    let mut expected = Vec::new();
    for document in loader.by_ref() {
        let document = document.unwrap();
        expected.push(format!(
            "R {} {} {}",
            document.index, document.id, document.text
        ));
    }
    let ledger = loader.take_bad_records();
    let expected_ledger: Vec<_> = ledger.iter().map(|record| format!("B {record}")).collect();
    assert_eq!(
        loader.counts().records,
        ((N_TABLES + N_LINE_FILES) * ROWS_PER_FILE) as u64
    );

    let mut numbers = Numbers(5);
    for _ in 0..N_KILLS {
        let killed = Task {
            workers: numbers.below(4) as usize,
            prefetch_bytes: 1 << (10 + numbers.below(16)),
            batch: 1 + numbers.below(40) as usize,
            max_rows: 1 + numbers.below(MAX_ROWS_PER_RUN),
            ..task("killed")
        };
        let mut child = Running::start(&killed);
        // Under way, or while it waits with threads that go on ahead.
        let at = 1 + numbers.below(killed.max_rows);
        let seen = child.wait_for(at);
        assert!(
            seen >= at,
            "the stream ended before it was killed often enough"
        );
        assert!(
            child.0.try_wait().unwrap().is_none(),
            "the child ended by itself"
        );
    }
    let mut last = Running::start(&task("killed"));
    last.wait_for(u64::MAX);
    assert!(last.0.wait().unwrap().success());

    let found = written(&task("killed").log);
    let (rows, ledger): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|line| line.starts_with("R "));
    assert_eq!(rows.len(), expected.len());
    assert!(rows == expected, "rows differ");
    assert_eq!(ledger, expected_ledger);
}
