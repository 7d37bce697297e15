//! The threads that speak to the server, so that a store may be called from any thread,
//! asynchronous ones included.

use std::future::Future;
use std::pin::Pin;
use std::sync::mpsc;
use std::time::Duration;
use std::{io, thread};

use tokio::runtime::{Builder, Handle};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::time::timeout;

/// How long what is to be done in the end may take.
const FAREWELL: Duration = Duration::from_secs(2);

/// What the threads do in the end.
type Farewell = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Threads with a runtime of their own, which end with it and its background tasks.
#[derive(Debug)]
pub(crate) struct Runtime {
    handle: Handle,
    /// Carries what is to be done in the end: once all copies are gone, the thread that owns the
    /// runtime does it.
    alive: UnboundedSender<Farewell>,
}

impl Runtime {
    /// Starts the threads.
    pub(crate) fn start() -> io::Result<Self> {
        let threads = Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("kato-mongodb")
            .enable_all()
            .build()?;
        let handle = threads.handle().clone();
        let (alive, mut farewells) = unbounded_channel::<Farewell>();
        // A thread of its own owns the runtime: dropping one inside another would panic.
        thread::Builder::new()
            .name("kato-mongodb".to_owned())
            .spawn(move || {
                threads.block_on(async {
                    let mut last = Vec::new();
                    while let Some(farewell) = farewells.recv().await {
                        last.push(farewell);
                    }
                    for farewell in last {
                        // A server that is gone does not hear it.
                        let _ = timeout(FAREWELL, farewell).await;
                    }
                });
                // Without waiting: a task that sleeps, such as the renewal of a lease, would hold
                // the thread up.
                threads.shutdown_background();
            })?;
        Ok(Self { handle, alive })
    }

    /// Runs a future to its end while the calling thread waits.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> T {
        let (sender, receiver) = mpsc::sync_channel(1);
        // Spawned and waited for by a channel, because `block_on` panics on the threads of another
        // runtime, from which a store may be called, too.
        self.handle.spawn(async move {
            // The caller is waiting, so sending cannot fail.
            let _ = sender.send(future.await);
        });
        let _waiting = kato_probe::thread::waiting(kato_probe::Wait::Server);
        receiver
            .recv()
            .expect("tasks of the store do not panic, and the threads outlive it")
    }

    /// Runs a future once the runtime is dropped and all that was to be completed is done, for no
    /// longer than seconds.
    pub(crate) fn at_the_end(&self, farewell: impl Future<Output = ()> + Send + 'static) {
        // The thread takes it as long as there is a sender, which is here.
        let _ = self.alive.send(Box::pin(farewell));
    }

    /// Starts a future that nobody waits for, and that ends with the threads at the latest.
    pub(crate) fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        self.handle.spawn(future);
    }

    /// Starts a future that nobody waits for, and that keeps the threads alive until it is done.
    pub(crate) fn spawn_to_completion(&self, future: impl Future<Output = ()> + Send + 'static) {
        let alive = self.alive.clone();
        self.handle.spawn(async move {
            future.await;
            drop(alive);
        });
    }
}
