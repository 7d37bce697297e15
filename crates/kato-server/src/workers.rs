//! Threads for work that blocks: matching, locks of sessions, disks.

use std::sync::Arc;

use axum::http::StatusCode;
use tokio::sync::Semaphore;
use tokio::task;

use crate::refusal::Refusal;
use crate::routes::Work;

/// Workers at most, whatever is asked for: more threads than any system has.
const MAX_WORKERS: u32 = 1 << 16;

/// Bounds how many requests work at once; others wait in order. How many may wait is bounded by the requests in flight.
#[derive(Debug)]
pub(crate) struct Workers {
    n_workers: u32,
    all: Arc<Semaphore>,
    /// Long work takes a place here first, so that short work always finds a thread.
    long: Arc<Semaphore>,
}

impl Workers {
    pub(crate) fn new(n_workers: usize) -> Self {
        let n_workers = u32::try_from(n_workers)
            .unwrap_or(MAX_WORKERS)
            .clamp(2, MAX_WORKERS);
        let places = |n: u32| Arc::new(Semaphore::new(n as usize));
        Self {
            n_workers,
            all: places(n_workers),
            long: places(n_workers / 2),
        }
    }

    /// Does the work on a thread that may block. Once begun it runs to its end, whether or not somebody still waits for it.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: Work,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        if work == Work::Light {
            return Ok(job());
        }
        let closed = "the semaphores of a server are never closed";
        let long = if work == Work::Long {
            Some(Arc::clone(&self.long).acquire_owned().await.expect(closed))
        } else {
            None
        };
        let place = Arc::clone(&self.all).acquire_owned().await.expect(closed);
        let done = task::spawn_blocking(move || {
            let value = job();
            drop((place, long));
            value
        });
        done.await.map_err(|error| {
            let detail = "the request ended unexpectedly; report this with the server's log";
            Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, detail).caused_by(error.to_string())
        })
    }

    /// Waits for all work that has begun. Must be called when nobody asks for more.
    pub(crate) async fn finish(&self) {
        // Whoever has all places knows that nobody works.
        let all = self.all.acquire_many(self.n_workers).await;
        drop(all.expect("the semaphores of a server are never closed"));
    }
}
