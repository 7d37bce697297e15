//! Threads that carry out requests, and the wait of other threads for them.

use std::sync::{Arc, mpsc};

use tokio::runtime::{Builder, Handle};

use crate::retry::unless_cancelled;
use crate::{CancellationToken, FetchError};

/// Worker threads. Two, because decryption that keeps one core busy should not stall the other
/// transfers.
const THREADS: usize = 2;

/// Threads of a fetcher. They end when the last clone is dropped, without being waited for, so that
/// it may be dropped on any thread, async ones and its own included.
#[derive(Debug, Clone)]
pub(crate) struct Runtime(Arc<Owned>);

/// The runtime itself, owned by all clones together.
#[derive(Debug)]
struct Owned {
    runtime: Option<tokio::runtime::Runtime>,
    handle: Handle,
}

impl Runtime {
    /// Starts the threads.
    pub(crate) fn start() -> Result<Self, FetchError> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("kato-fetch")
            .enable_all()
            .build()
            .map_err(|error| FetchError::Runtime {
                source: Some(error),
            })?;
        let handle = runtime.handle().clone();
        Ok(Self(Arc::new(Owned {
            runtime: Some(runtime),
            handle,
        })))
    }

    /// Returns the handle by which tasks are spawned.
    pub(crate) fn handle(&self) -> &Handle {
        &self.0.handle
    }

    /// Blocks the calling thread, whatever it is, until `work` is done or `cancel` is used.
    pub(crate) fn wait<T: Send + 'static>(
        &self,
        cancel: &CancellationToken,
        work: impl Future<Output = Result<T, FetchError>> + Send + 'static,
    ) -> Result<T, FetchError> {
        if cancel.is_cancelled() {
            return Err(FetchError::Cancelled);
        }
        // Not `block_on`, which panics on the threads of an async runtime.
        let (sender, receiver) = mpsc::sync_channel(1);
        let cancel = cancel.clone();
        self.handle().spawn(async move {
            // It fails only when nobody waits for the result any more.
            let _ = sender.send(unless_cancelled(&cancel, work).await);
        });
        let _waiting = kato_probe::thread::waiting(kato_probe::Wait::Server);
        receiver
            // The sender is dropped without a result if the task panics or the runtime ends.
            .recv()
            .map_err(|_| FetchError::Runtime { source: None })?
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // Dropping the runtime itself would wait for its tasks, which panics in async code.
            runtime.shutdown_background();
        }
    }
}
