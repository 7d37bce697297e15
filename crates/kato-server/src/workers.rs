//! Threads for work that blocks: matching, locks of sessions, disks.

mod fair_semaphore;

use std::time::Duration;

use axum::http::StatusCode;
use kato_prediction::Cancel;
use tokio::sync::watch;
use tokio::{task, time};

use self::fair_semaphore::FairSemaphore;
use crate::refusal::Refusal;

/// Workers at most.
pub(crate) const MAX_WORKERS: usize = 1024;

/// How heavy the work of a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    /// Nothing that blocks: carried out where the request is read.
    Light,
    /// Some microseconds on a thread that may block.
    Short,
    /// As long as predictions and batches take; never on all threads at once.
    Long,
}

/// Bounds how many requests work at once; others wait for their node's turn. How many may wait is
/// bounded by the requests in flight.
#[derive(Debug)]
pub(crate) struct Workers {
    short: FairSemaphore,
    /// Permits for long work, apart from the others so that short work always finds a thread.
    long: FairSemaphore,
    /// Longest time that a thread works for one prediction.
    longest_prediction: Duration,
    /// Number of jobs that have begun and not ended.
    n_running: watch::Sender<usize>,
}

/// Cancels a prediction when nobody waits for its answer any more: hyper drops the future of a
/// request when its connection is closed, and so does a server that stops.
struct CancelOnDrop<'a>(&'a Cancel);

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Counts as a job that has begun until it is dropped.
struct RunningGuard(watch::Sender<usize>);

impl RunningGuard {
    /// Counts a job that begins.
    fn new(n_running: &watch::Sender<usize>) -> Self {
        n_running.send_modify(|n| *n += 1);
        Self(n_running.clone())
    }
}

impl Drop for RunningGuard {
    fn drop(&mut self) {
        self.0.send_modify(|n| *n -= 1);
    }
}

impl Workers {
    /// Creates threads for the short work of one node, half as many for long work, and twice as
    /// many for all nodes together. There are more than cores, because they wait for locks more
    /// often than they work.
    pub(crate) fn new(n_workers: usize, longest_prediction: Duration) -> Self {
        // At least 2, so that a half of them is not none.
        let n_workers = n_workers.clamp(2, MAX_WORKERS);
        Self {
            short: FairSemaphore::new(2 * n_workers, n_workers),
            long: FairSemaphore::new(n_workers / 2 * 2, n_workers / 2),
            longest_prediction,
            n_running: watch::Sender::new(0),
        }
    }

    /// Returns how many threads work for one node at a time on what takes long.
    pub(crate) fn n_long_of_node(&self) -> usize {
        self.long.per_node()
    }

    /// Runs a job on a thread that may block, when it is its node's turn. Once begun it runs to its
    /// end, whether or not anybody still waits for it; only a job that checks `cancel` ends early,
    /// as soon as nobody waits or when it takes too long.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: Work,
        node: &str,
        cancel: &Cancel,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        let semaphore = match work {
            Work::Light => return Ok(job()),
            Work::Short => &self.short,
            Work::Long => &self.long,
        };
        // Before the queue, so that a request that is abandoned there is cancelled as well.
        let _cancel_on_drop = CancelOnDrop(cancel);
        let permit = semaphore.acquire(node).await;
        let running = RunningGuard::new(&self.n_running);
        let mut done = task::spawn_blocking(move || {
            let value = job();
            // By the thread itself, not by the future, which may be gone: a permit is free only
            // when its thread is.
            drop((permit, running));
            value
        });
        let done = tokio::select! {
            done = &mut done => done,
            // Writes that are long, such as batches, do not check `cancel` and so run to their end.
            () = time::sleep(self.longest_prediction), if work == Work::Long => {
                // The job still decides: a prediction that was just complete is answered.
                cancel.cancel();
                done.await
            }
        };
        done.map_err(|error| {
            let detail = "the request ended unexpectedly; report this with the server's log";
            Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, detail).caused_by(error.to_string())
        })
    }

    /// Waits for all jobs that have begun. Must be called when nobody starts any more.
    pub(crate) async fn finish(&self) {
        let mut n_running = self.n_running.subscribe();
        // The sender lives in `self`, so there is no error.
        let _ = n_running.wait_for(|n| *n == 0).await;
    }
}
