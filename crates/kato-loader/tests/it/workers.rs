//! Threads end when they are not needed any more, and what goes wrong on them reaches the caller.

use std::io::{self, Read};
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use futures_util::StreamExt;
use kato_loader::{
    LoadError, OnBadRecord, Order, StreamingDatasetLoader, StreamingDatasetLoaderBuilder, TextUnit,
};
use kato_test_needs::wait_until;

use crate::support::{Folder, builder, documents};

/// Breaks when it is read.
struct Panics;

#[expect(clippy::panic, reason = "what happens then is what is tested")]
impl Read for Panics {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        panic!("the stream broke")
    }
}

/// Says that it is being read, and then has nothing to say until it is told to end.
struct Silent(SyncSender<()>, Receiver<()>);

impl Read for Silent {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        let _told = self.0.try_send(());
        let _ended = self.1.recv();
        Ok(0)
    }
}

fn by_line(text: &str) -> StreamingDatasetLoaderBuilder {
    builder()
        .with_reader("a.txt", io::Cursor::new(text.as_bytes().to_vec()))
        .with_text_unit(TextUnit::Line)
}

fn buffer(documents: usize) -> NonZeroUsize {
    NonZeroUsize::new(documents).unwrap()
}

/// A corpus of which a thread has always more to decode than may wait.
fn large() -> (Folder, Vec<String>) {
    let folder = Folder::new();
    let texts: Vec<_> = (0..4000)
        .map(|n| format!("{n} {}", "lorem ipsum ".repeat(40)))
        .collect();
    let (extension, content) = packed(&texts);
    for number in 0..8 {
        folder.write(&format!("{number}.{extension}"), &content);
    }
    (folder, texts)
}

/// A file of the texts that takes work to decode, with its extension.
#[cfg(feature = "parquet")]
fn packed(texts: &[String]) -> (&'static str, Vec<u8>) {
    let values: Vec<_> = texts.iter().map(|text| Some(text.as_str())).collect();
    ("parquet", crate::support::parquet_of(&values, 500))
}

/// A file of the texts that takes work to decode, with its extension.
#[cfg(not(feature = "parquet"))]
fn packed(texts: &[String]) -> (&'static str, Vec<u8>) {
    let line = |text: &String| serde_json::json!({"text": text}).to_string() + "\n";
    let lines: String = texts.iter().map(line).collect();
    ("jsonl.gz", crate::support::gzip(lines.as_bytes()))
}

#[test]
fn a_panic_reaches_the_caller_and_ends_the_stream() {
    for workers in [0, 2] {
        let stream = builder().with_reader("a.txt", Panics);
        let filter = by_line("a\nb\n").with_filter("breaks", |text| match text {
            "b" => panic!("the filter broke"),
            _ => true,
        });
        for (builder, before) in [(stream, 0), (filter, 1)] {
            let mut loader = builder.with_workers(workers).build().unwrap();
            assert_eq!(loader.by_ref().take(before).count(), before);
            let panic = catch_unwind(AssertUnwindSafe(|| loader.next().is_some())).unwrap_err();
            assert!(panic.downcast_ref::<&str>().unwrap().ends_with("broke"));
            assert!(loader.next().is_none(), "{workers} workers");
            assert!(matches!(loader.next_batch(10), Err(LoadError::Stopped)));
            assert_eq!(loader.cursor().documents(), before as u64);
        }
    }
}

#[test]
fn dropping_a_loader_ends_its_threads() {
    let (folder, texts) = large();
    for order in [
        Order::Sequential,
        Order::shuffled(1).with_window_bytes(1 << 20),
    ] {
        for budget in [1, 64 << 20] {
            for taken in [0, 1, 700] {
                let open = builder()
                    .with_input(folder.path())
                    .with_order(order)
                    .with_prefetch_bytes(budget);
                // The filter lives as long as the loader's threads could need it.
                let life = Arc::new(());
                let held = Arc::clone(&life);
                let keeps = move |_: &str| Arc::strong_count(&held) > 0;
                let mut loader = open
                    .with_filter("all", keeps)
                    .with_workers(3)
                    .build()
                    .unwrap();
                for document in loader.by_ref().take(taken) {
                    assert!(texts.contains(&document.unwrap().text));
                }
                drop(loader);
                assert_eq!(Arc::strong_count(&life), 1);
            }
        }
    }
}

#[test]
fn dropping_a_loader_does_not_wait_for_a_silent_pipe() {
    let (reads, read) = sync_channel(1);
    let (_end, ended) = sync_channel(1);
    let mut loader = builder()
        .with_reader("a.txt", io::Cursor::new("first\n"))
        .with_reader("b.txt", Silent(reads, ended))
        .with_text_unit(TextUnit::Line)
        .with_workers(2)
        .build()
        .unwrap();
    assert_eq!(loader.next().unwrap().unwrap().text, "first");
    read.recv().unwrap();
    drop(loader);
}

#[test]
fn a_loader_can_go_to_another_thread() {
    let (folder, texts) = large();
    let loader = builder()
        .with_input(folder.path())
        .with_workers(2)
        .build()
        .unwrap();
    let counted = std::thread::spawn(move || loader.map(Result::unwrap).count());
    assert_eq!(counted.join().unwrap(), 8 * texts.len());
}

fn runtimes() -> [tokio::runtime::Runtime; 2] {
    [
        tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap(),
        tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .build()
            .unwrap(),
    ]
}

#[test]
fn a_stream_yields_what_the_loader_does_and_can_be_left_at_any_document() {
    let folder = Folder::new();
    let path = folder.write(
        "a.jsonl",
        "{}\n{\"text\":\"a\"}\n{\"text\":\"b\"}\n[]\n{\"text\":\"c\"}\nx\n",
    );
    let open = || {
        builder()
            .with_input(&path)
            .on_bad_record(OnBadRecord::Skip)
            .with_workers(1)
    };
    let expected = documents(open());
    for runtime in runtimes() {
        for left_at in 0..=expected.len() {
            for ahead in [1, 100] {
                let (mut found, mut ledger) = (Vec::new(), Vec::new());
                let cursor = runtime.block_on(async {
                    let mut stream = open().build().unwrap().into_stream(buffer(ahead)).unwrap();
                    for _ in 0..left_at {
                        found.push(stream.next().await.unwrap().unwrap());
                    }
                    ledger.extend(stream.take_bad_records());
                    stream.cursor()
                });
                assert_eq!(cursor.documents(), left_at as u64);
                runtime.block_on(async {
                    let loader = open().with_cursor(cursor).build().unwrap();
                    let mut stream = loader.into_stream(buffer(ahead)).unwrap();
                    while let Some(document) = stream.next().await {
                        found.push(document.unwrap());
                    }
                    assert!(stream.next().await.is_none());
                    ledger.extend(stream.take_bad_records());
                });
                assert_eq!(found, expected);
                let lines: Vec<_> = ledger.iter().map(|record| record.line.unwrap()).collect();
                assert_eq!(lines, [1, 4, 6], "left at {left_at}, {ahead} ahead");
            }
        }
    }
}

#[test]
fn an_error_of_a_stream_comes_behind_the_documents_in_front_of_it() {
    for runtime in runtimes() {
        runtime.block_on(async {
            let rows = "{\"text\":\"a\"}\n{}\n{\"text\":\"b\"}\n";
            let loader = builder()
                .with_reader("a.jsonl", io::Cursor::new(rows))
                .build()
                .unwrap();
            let mut stream = loader.into_stream(buffer(8)).unwrap();
            assert_eq!(stream.next().await.unwrap().unwrap().text, "a");
            let error = stream.next().await.unwrap().unwrap_err();
            assert_eq!(error.record().unwrap().line, Some(2));
            assert!(stream.next().await.is_none());
            assert_eq!(stream.cursor().documents(), 1);
        });
    }
}

#[test]
fn a_panic_reaches_who_polls() {
    for runtime in runtimes() {
        let loader = by_line("a\n").with_filter("breaks", |_| panic!("the filter broke"));
        let mut stream = loader.build().unwrap().into_stream(buffer(1)).unwrap();
        let polled = catch_unwind(AssertUnwindSafe(|| runtime.block_on(stream.next())));
        assert!(polled.is_err());
        assert!(runtime.block_on(stream.next()).is_none());
    }
}

#[test]
fn dropping_a_stream_ends_its_thread() {
    let (told, ended) = sync_channel::<()>(1);
    let (folder, _) = large();
    let loader: StreamingDatasetLoader = builder()
        .with_input(folder.path())
        .with_workers(1)
        // Dropped with the loader, by the thread.
        .with_filter("all", move |_| {
            let _held = &told;
            true
        })
        .build()
        .unwrap();
    let mut stream = loader.into_stream(buffer(2)).unwrap();
    for runtime in runtimes() {
        assert!(runtime.block_on(stream.next()).is_some());
    }
    drop(stream);
    assert!(ended.recv().is_err(), "the thread has let go of the filter");
}

#[test]
fn a_probe_hears_what_the_threads_decode_and_the_documents_stay_the_same() {
    let (folder, texts) = large();
    let probe = kato_probe::Probe::on([kato_loader::DECODE_STAGE]);
    let loader = builder()
        .with_input(folder.path())
        .with_workers(3)
        .with_probe(probe.clone());
    let found = crate::support::texts(loader);
    assert!(found.chunks(texts.len()).all(|file| file == texts));
    let reading = probe.read().unwrap();
    let decode = &reading.stages[0];
    assert!(decode.items >= 8, "{decode:?}");
    assert!(decode.seconds.busy > 0.0, "{decode:?}");
}

/// A stream of so many lines whose writer takes his time: until its reader is seen to starve.
struct Slow(u8, kato_probe::Probe);

fn starved(probe: &kato_probe::Probe) -> f64 {
    probe.read().unwrap().stages[0].threads[0].seconds.starved
}

impl std::io::Read for Slow {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.0 == 0 {
            return Ok(0);
        }
        self.0 -= 1;
        let before = starved(&self.1);
        wait_until("the reader starves", || starved(&self.1) >= before + 0.02);
        let line = b"a line\n";
        buffer[..line.len()].copy_from_slice(line);
        Ok(line.len())
    }
}

#[test]
fn a_slow_stream_is_no_work_of_who_reads_it() {
    let probe = kato_probe::Probe::on(["load"]);
    let thread = probe.thread("load");
    kato_probe::thread::set(kato_probe::ThreadState::Busy);
    let loader = builder()
        .with_reader("a.txt", Slow(10, probe.clone()))
        .with_text_unit(kato_loader::TextUnit::Line)
        .build()
        .unwrap();
    assert_eq!(loader.count(), 10);
    let seconds = probe.read().unwrap().stages[0].threads[0].seconds;
    assert!(seconds.starved >= 0.2, "{seconds:?}");
    assert!(seconds.busy < seconds.starved, "{seconds:?}");
    drop(thread);
}
