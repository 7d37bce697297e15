//! Makes windows on the caller's thread, or on threads that are a bounded number of windows ahead.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use crossbeam_channel::{Receiver, Sender, bounded};
use kato_loader::StreamingDatasetLoader;

use crate::error::TokenBatchError;
use crate::window::{Encoding, Window, read};

/// Result of an attempt to make the next window.
pub(crate) enum Outcome {
    Window(Box<Window>),
    /// The corpus has ended.
    End,
    Failed(TokenBatchError),
    /// The encoder panicked, with this.
    Panicked(Box<dyn Any + Send>),
}

/// Makes windows, on any number of threads.
pub(crate) struct WindowSource {
    reading: Mutex<Reading>,
    encoding: Encoding,
    stop: AtomicBool,
}

/// What the threads take turns at: reading the documents of the next window.
struct Reading {
    loader: StreamingDatasetLoader,
    /// Number of the next window.
    next: u64,
    /// Whether there is nothing more to read; an error of the loader is an end too.
    ended: bool,
}

impl WindowSource {
    /// Creates a source of the windows of a loader's documents.
    pub(crate) fn new(loader: StreamingDatasetLoader, encoding: Encoding) -> Self {
        Self {
            reading: Mutex::new(Reading {
                loader,
                next: 0,
                ended: false,
            }),
            encoding,
            stop: AtomicBool::new(false),
        }
    }

    /// Makes the next window and returns which one it is, or `None` when the end was already found.
    ///
    /// Reading is in turn, encoding at the same time. Panics are caught, so that they reach the
    /// caller at the window where they happened and no thread waits for one that is gone.
    pub(crate) fn next_window(&self) -> Option<(u64, Outcome)> {
        // The lock is held while a window is read, since its documents must be consecutive, and
        // given up before they are encoded, so that several windows are encoded at the same time.
        let (number, read) = {
            let mut guard = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
            let reading = &mut *guard;
            if reading.ended {
                return None;
            }
            let number = reading.next;
            reading.next += 1;
            let read = catch_unwind(AssertUnwindSafe(|| {
                read(&mut reading.loader, &self.encoding.shape, &self.stop)
            }));
            // A loader that has failed or panicked is not read again.
            reading.ended = !matches!(read, Ok(Ok(Some(_))));
            (number, read)
        };
        let outcome = match read {
            Ok(Ok(Some(documents))) => {
                // The encoder is the caller's: what it leaves behind when it panics is the caller's
                // too, who gets the panic.
                let made = AssertUnwindSafe(|| self.encoding.window(documents, &self.stop));
                match catch_unwind(made) {
                    Ok(Ok(Some(window))) => Outcome::Window(Box::new(window)),
                    Ok(Ok(None)) => Outcome::End,
                    Ok(Err(error)) => Outcome::Failed(error),
                    Err(panic) => Outcome::Panicked(panic),
                }
            }
            Ok(Ok(None)) => Outcome::End,
            Ok(Err(error)) => Outcome::Failed(TokenBatchError::Load(error)),
            Err(panic) => Outcome::Panicked(panic),
        };
        Some((number, outcome))
    }
}

/// Threads that make windows, with the windows that are ready.
pub(crate) struct Pool {
    source: Arc<WindowSource>,
    /// Gives one permit for each window that may be ahead; a worker takes one before it makes a
    /// window.
    permits: Option<Sender<()>>,
    outcomes: Receiver<(u64, Outcome)>,
    /// Windows that were ready before their turn.
    early: BTreeMap<u64, Outcome>,
    /// Number of the window whose turn it is.
    next: u64,
    threads: Vec<JoinHandle<()>>,
}

impl Pool {
    /// Starts threads that make windows, at most `n_workers * prefetch` of them ahead.
    pub(crate) fn start(
        source: WindowSource,
        n_workers: usize,
        prefetch: usize,
    ) -> Result<Self, TokenBatchError> {
        // Both factors are at most 1,024, which the options were checked for.
        let ahead = n_workers * prefetch;
        let (permits, permits_taken) = bounded(ahead);
        // Every outcome belongs to a permit, so that sending one never waits: a thread that is told
        // to stop cannot be stuck in it.
        let (made, outcomes) = bounded(ahead);
        let mut pool = Self {
            source: Arc::new(source),
            permits: Some(permits),
            outcomes,
            early: BTreeMap::new(),
            next: 0,
            threads: Vec::new(),
        };
        for worker in 0..n_workers {
            let (source, permits, made) = (
                Arc::clone(&pool.source),
                permits_taken.clone(),
                made.clone(),
            );
            let thread = thread::Builder::new()
                .name(format!("token-batches-{worker}"))
                .spawn(move || work(&source, &permits, &made))
                .map_err(TokenBatchError::Threads)?;
            pool.threads.push(thread);
        }
        for _ in 0..ahead {
            pool.permit_one();
        }
        Ok(pool)
    }

    /// Returns the next window in order, and waits for it.
    pub(crate) fn next(&mut self) -> Outcome {
        let outcome = loop {
            if let Some(outcome) = self.early.remove(&self.next) {
                break outcome;
            }
            // Windows are taken in order and finished in any order.
            let (number, outcome) = self.outcomes.recv().expect(
                "workers hand in every window up to the end, behind which none is asked for",
            );
            self.early.insert(number, outcome);
        };
        self.next += 1;
        // Only now, when a window leaves: handing out permits as windows arrive would let those
        // behind a slow one pile up.
        self.permit_one();
        outcome
    }

    /// Permits one more window.
    fn permit_one(&self) {
        if let Some(permits) = &self.permits {
            // No worker is left when the corpus was read to its end; then no permit is needed
            // either.
            let _unneeded = permits.send(());
        }
    }
}

impl Drop for Pool {
    /// Waits for the threads, each of which ends behind the document that it has begun.
    fn drop(&mut self) {
        // Relaxed: nothing else is published by it. The permits are closed behind it, so that a
        // thread which waits for one wakes up and ends.
        self.source.stop.store(true, Ordering::Relaxed);
        self.permits = None;
        for thread in self.threads.drain(..) {
            // Panics of the encoder are outcomes; a thread itself has nothing to say.
            let _nothing = thread.join();
        }
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("threads", &self.threads.len())
            .field("next", &self.next)
            .finish_non_exhaustive()
    }
}

/// Makes windows until none is permitted or wanted any more.
fn work(source: &WindowSource, permits: &Receiver<()>, made: &Sender<(u64, Outcome)>) {
    while permits.recv().is_ok() && !source.stop.load(Ordering::Relaxed) {
        let Some(outcome) = source.next_window() else {
            return;
        };
        if made.send(outcome).is_err() {
            return;
        }
    }
}
