//! Back-pressure, and the end of the threads.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};

use kato_loader::{StreamingDatasetLoader, TextUnit};
use kato_token_batches::{TokenBatchOptions, TokenBatches};

use super::support::{batches_of, corpus, decimal, lines};

#[test]
fn a_consumer_that_stops_pulling_stops_reading() {
    let encoded = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&encoded);
    let encoder = move |text: &str| {
        counter.fetch_add(1, Ordering::Relaxed);
        decimal(text)
    };
    let options = TokenBatchOptions::new(100)
        .with_window_documents(4)
        .with_workers(2)
        .with_prefetch(3);
    let loader = lines(&corpus(&[1; 1_000])).build().unwrap();
    let mut batches = TokenBatches::new(loader, options, encoder).unwrap();
    for delivered in 1..=20 {
        assert_eq!(batches.next().unwrap().unwrap().len(), 4);
        let windows = delivered + 2 * 3;
        assert!(encoded.load(Ordering::Relaxed) <= 4 * windows);
    }
    drop(batches);
    assert!(encoded.load(Ordering::Relaxed) <= 4 * (20 + 2 * 3));
    assert_eq!(Arc::strong_count(&encoded), 1, "no thread is left");
}

#[test]
fn batches_can_be_sent_to_another_thread() {
    let batches = batches_of(&corpus(&[1, 2]), TokenBatchOptions::new(8));
    let consumer = std::thread::spawn(move || batches.map(Result::unwrap).count());
    assert_eq!(consumer.join().unwrap(), 1);
}

/// Lines without end; says when the first is read.
struct Endless(SyncSender<()>);

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let _told = self.0.try_send(());
        for (at, byte) in buffer.iter_mut().enumerate() {
            *byte = if at % 2 == 0 { b'1' } else { b'\n' };
        }
        Ok(buffer.len() & !1)
    }
}

#[test]
fn dropping_ends_a_thread_in_the_middle_of_a_window() {
    let (reads, first_read) = sync_channel(1);
    let loader = StreamingDatasetLoader::builder()
        .with_reader("endless.txt", Endless(reads))
        .with_text_unit(TextUnit::Line)
        .build()
        .unwrap();
    let options = TokenBatchOptions::new(100)
        .with_window_documents(usize::MAX)
        .with_window_bytes(usize::MAX)
        .with_workers(2);
    let batches = TokenBatches::new(loader, options, decimal).unwrap();
    first_read.recv().unwrap();
    drop(batches);
    assert!(first_read.recv().is_err(), "the reader is gone");
}

#[test]
fn dropping_waits_for_the_encoder() {
    // Both workers are inside the encoder, which returns when the test lets go.
    let (started, starts) = crossbeam_channel::bounded(2);
    let (go, gone) = crossbeam_channel::bounded::<()>(0);
    let alive = Arc::new(());
    let guard = Arc::clone(&alive);
    let encoder = move |text: &str| {
        let _alive = &guard;
        started.send(()).ok();
        gone.recv().ok();
        decimal(text)
    };
    let options = TokenBatchOptions::new(100)
        .with_window_documents(2)
        .with_workers(2);
    let loader = lines(&corpus(&[1; 100])).build().unwrap();
    let batches = TokenBatches::new(loader, options, encoder).unwrap();
    starts.recv().unwrap();
    starts.recv().unwrap();
    let dropping = std::thread::spawn(move || drop(batches));
    drop((go, starts));
    dropping.join().unwrap();
    assert_eq!(Arc::strong_count(&alive), 1, "no thread is left");
}
