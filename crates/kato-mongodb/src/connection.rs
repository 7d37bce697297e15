//! The connection to a server: the threads that speak to it, operations that are tried again, and
//! failures that are shown without secrets.

mod figures;
mod operation_error;
mod runtime;
mod secrets;
mod server;
mod sessions;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use kato_store::StoreError;

pub use self::figures::ConnectionFigures;
pub(crate) use self::figures::Counters;
pub(crate) use self::operation_error::{DUPLICATE_KEY, OperationError};
use self::runtime::Runtime;
pub(crate) use self::server::{Server, durable};
pub(crate) use self::sessions::{Sessions, end_sessions};

/// A server, and the threads that speak to it.
#[derive(Debug)]
pub(crate) struct Connection {
    runtime: Runtime,
    server: Arc<Server>,
}

impl Connection {
    /// Starts the threads, and a client on them.
    pub(crate) fn open(uri: &str, patience: Duration, pool: u32) -> Result<Self, StoreError> {
        let runtime = Runtime::start().map_err(|source| StoreError::Io {
            action: "start threads for",
            path: "the connection".into(),
            source,
        })?;
        let uri = uri.to_owned();
        let server = runtime.run(async move { Server::new(&uri, patience, pool).await })?;
        // A client that is dropped while its threads end takes its leave beside them, and panics
        // there when they are gone first.
        runtime.at_the_end(server.leave());
        Ok(Self {
            runtime,
            server: Arc::new(server),
        })
    }

    /// Returns the server.
    pub(crate) fn server(&self) -> &Arc<Server> {
        &self.server
    }

    /// Runs a conversation with the server while the calling thread waits.
    pub(crate) fn block_on<T, F>(&self, conversation: impl FnOnce(Arc<Server>) -> F) -> T
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        self.runtime.run(conversation(Arc::clone(&self.server)))
    }

    /// Starts a future that nobody waits for, and that ends with the connection at the latest.
    pub(crate) fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        self.runtime.spawn(future);
    }

    /// Starts a future that nobody waits for, and that keeps the threads alive until it is done.
    pub(crate) fn spawn_to_completion(&self, future: impl Future<Output = ()> + Send + 'static) {
        self.runtime.spawn_to_completion(future);
    }
}
