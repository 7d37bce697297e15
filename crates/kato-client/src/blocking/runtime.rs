//! A thread with an async runtime that carries out what other threads wait for.

use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

use crate::ClientError;

/// Longest time that dropping a client waits for its session to be deleted.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// A single-threaded runtime and its thread.
#[derive(Debug)]
pub(super) struct Runtime {
    handle: Handle,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Runtime {
    /// Starts the thread.
    pub(super) fn start() -> Result<Self, ClientError> {
        let cannot = |error: std::io::Error| ClientError::Config {
            field: "runtime",
            reason: error.to_string(),
        };
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(cannot)?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel();
        let thread = thread::Builder::new()
            .name("kato-client".to_owned())
            .spawn(move || {
                // The runtime carries out spawned work only while the thread is in here. An error
                // means that the sender is gone, which is the end as well.
                let _ = runtime.block_on(stopped);
            })
            .map_err(cannot)?;
        Ok(Self {
            handle,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Carries out `work` and blocks until it is done.
    pub(super) fn wait<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, ClientError>> + Send + 'static,
    ) -> Result<T, ClientError> {
        // Blocking here would stop a thread of the caller's runtime, and with a single-threaded one
        // everything on it.
        if Handle::try_current().is_ok() {
            return Err(ClientError::BlockingInAsync);
        }
        let (sender, receiver) = mpsc::sync_channel(1);
        self.handle.spawn(async move {
            // An error means that nobody waits any more. The channel has room for the one value, so
            // sending never blocks the runtime.
            let _ = sender.send(work.await);
        });
        receiver.recv().map_err(|_| ClientError::Stopped {
            what: "the call".to_owned(),
        })?
    }

    /// Carries out `work`, and waits for it no longer than `CLOSE_TIMEOUT`.
    pub(super) fn run_briefly(
        &self,
        work: impl Future<Output = Result<(), ClientError>> + Send + 'static,
    ) {
        let (sender, receiver) = mpsc::sync_channel(1);
        self.handle.spawn(async move {
            let _ = sender.send(work.await);
        });
        // Within an async context nothing may block: there the work goes on as long as the runtime
        // does.
        if Handle::try_current().is_err() {
            let _ = receiver.recv_timeout(CLOSE_TIMEOUT);
        }
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        // The last handle may be dropped by work on the thread itself, which cannot join itself.
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != thread::current().id()
        {
            let _ = thread.join();
        }
    }
}
