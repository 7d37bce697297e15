//! A thread with a runtime that carries out what other threads wait for.

use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

use crate::ClientError;

/// Longest time that dropping a client waits for its session to be deleted.
const PARTING: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(super) struct Runtime {
    handle: Handle,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Runtime {
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
                // An error means that the sender is gone: that is the end as well.
                let _ = runtime.block_on(stopped);
            })
            .map_err(cannot)?;
        Ok(Self {
            handle,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    pub(super) fn wait<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, ClientError>> + Send + 'static,
    ) -> Result<T, ClientError> {
        if Handle::try_current().is_ok() {
            return Err(ClientError::BlockingInAsync);
        }
        let (sender, receiver) = mpsc::sync_channel(1);
        self.handle.spawn(async move {
            // Nobody waits any more: nothing to tell.
            let _ = sender.send(work.await);
        });
        receiver.recv().map_err(|_| ClientError::Stopped {
            what: "the call".to_owned(),
        })?
    }

    /// Carries `work` out, waiting for it no longer than parting takes.
    pub(super) fn leave(
        &self,
        work: impl Future<Output = Result<(), ClientError>> + Send + 'static,
    ) {
        let (sender, receiver) = mpsc::sync_channel(1);
        self.handle.spawn(async move {
            let _ = sender.send(work.await);
        });
        if Handle::try_current().is_err() {
            let _ = receiver.recv_timeout(PARTING);
        }
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != thread::current().id()
        {
            let _ = thread.join();
        }
    }
}
