//! The threads that speak to the server, so that the store may be called from any thread, asynchronous ones too.

use std::future::Future;
use std::sync::mpsc;
use std::{io, thread};

use tokio::runtime::{Builder, Handle};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

/// Threads with a runtime of their own. They end when the engine and its background tasks have.
#[derive(Debug)]
pub(crate) struct Engine {
    handle: Handle,
    /// Nothing is sent: the threads wait until all copies are gone.
    alive: UnboundedSender<()>,
}

impl Engine {
    pub(crate) fn start() -> io::Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("kato-mongodb")
            .enable_all()
            .build()?;
        let handle = runtime.handle().clone();
        let (alive, mut all_gone) = unbounded_channel();
        // A thread of its own owns the runtime: dropping one inside another would panic.
        thread::Builder::new()
            .name("kato-mongodb".to_owned())
            .spawn(move || {
                runtime.block_on(all_gone.recv());
                runtime.shutdown_background();
            })?;
        Ok(Self { handle, alive })
    }

    /// Runs a future to its end while the calling thread waits.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> T {
        let (sender, receiver) = mpsc::sync_channel(1);
        self.handle.spawn(async move {
            // The caller waits, so there is one who receives.
            let _ = sender.send(future.await);
        });
        let _waiting = kato_probe::waiting(kato_probe::Wait::Server);
        receiver
            .recv()
            .expect("tasks of the store do not panic, and the runtime outlives the engine")
    }

    /// Starts a future that nobody waits for, and that ends with the engine.
    pub(crate) fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        self.handle.spawn(future);
    }

    /// Starts a future that nobody waits for, and that the threads outlive.
    pub(crate) fn spawn_to_the_end(&self, future: impl Future<Output = ()> + Send + 'static) {
        let alive = self.alive.clone();
        self.handle.spawn(async move {
            future.await;
            drop(alive);
        });
    }
}
