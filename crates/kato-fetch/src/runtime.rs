//! The threads that carry out requests, and how other threads wait for them.

use std::sync::{Arc, mpsc};

use tokio::runtime::{Builder, Handle};

use crate::retry::unless_cancelled;
use crate::{Cancel, FetchError};

/// Two: one core's worth of decryption should not stall the other transfers.
const THREADS: usize = 2;

/// Ends when the last clone is gone, without waiting: it may be dropped on any thread, async ones and its own included.
#[derive(Debug, Clone)]
pub(crate) struct Runtime(Arc<Owned>);

#[derive(Debug)]
struct Owned {
    runtime: Option<tokio::runtime::Runtime>,
    handle: Handle,
}

impl Runtime {
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

    pub(crate) fn handle(&self) -> &Handle {
        &self.0.handle
    }

    /// Blocks the calling thread, whatever it is, until `work` is done or `cancel` is used.
    pub(crate) fn wait<T: Send + 'static>(
        &self,
        cancel: &Cancel,
        work: impl Future<Output = Result<T, FetchError>> + Send + 'static,
    ) -> Result<T, FetchError> {
        if cancel.is_cancelled() {
            return Err(FetchError::Cancelled);
        }
        let (sender, receiver) = mpsc::sync_channel(1);
        let cancel = cancel.clone();
        self.handle().spawn(async move {
            // Nobody waits any more: nothing to tell.
            let _ = sender.send(unless_cancelled(&cancel, work).await);
        });
        let _waiting = kato_probe::waiting(kato_probe::Wait::Server);
        receiver
            .recv()
            .map_err(|_| FetchError::Runtime { source: None })?
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
