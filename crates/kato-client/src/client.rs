//! The client: one session of one node.

#[cfg(feature = "events")]
mod events;
mod learn_all;
mod monitoring;
mod node;
mod retirement;
mod session;

use std::sync::Arc;
use std::time::Duration;

use kato_protocol::extension::Extensions;
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

pub use session::{TypedBatchAnswer, TypedPredictions};

use crate::batch::BatchSessions;
use crate::builder::KatoClientBuilder;
use crate::calls::{Calls, Counters};
use crate::session::Session;
use crate::transport::Transport;
use crate::{ClientError, KatoGeneration, SessionOptions};

/// A client of a KATO server, with one session of its own.
///
/// **One client is one session.** The session is created with the first call that needs it and
/// deleted by [`close`](Self::close), or, as far as possible, when the client is dropped. Calls about
/// it are carried out one after the other. For more sessions over the same connections see
/// [`fork`](Self::fork); that is why a client cannot be cloned.
///
/// **Nothing is repeated blindly.** A session that the server lost is created anew with the
/// short-term memory that it had. A request without an answer is repeated only where that is
/// harmless, or after the server has shown, as far as it can, that it did not act; where nobody can tell,
/// [`ClientError::OutcomeUnknown`] says so and the session accepts no more work until
/// [`start_over`](Self::start_over). A call that observes, learns, clears or changes the
/// session's settings is carried out to its end, also if it is dropped once it has sent that.
///
/// All calls need a Tokio runtime with time and I/O enabled.
///
/// # Examples
///
/// ```no_run
/// use kato_client::protocol::Observation;
/// use kato_client::{KatoClient, SessionOptions};
///
/// # async fn example() -> Result<(), kato_client::ClientError> {
/// let client = KatoClient::builder("http://localhost:8000", SessionOptions::new("node0")).build()?;
/// for symbol in ["a", "b", "c"] {
///     client.observe(Observation::strings([symbol])).await?;
/// }
/// let learned = client.learn().await?;
/// assert_eq!(learned.pattern_name, "PTRN|b98534b32c1d7489d4ce1a48724aa65aeecbdba9");
///
/// client.observe(Observation::strings(["a"])).await?;
/// let answer = client.predictions().await?;
/// println!("{:?}", answer.predictions[0].future);
/// client.close().await
/// # }
/// ```
#[derive(Debug)]
pub struct KatoClient {
    pub(crate) transport: Transport,
    pub(crate) session: Arc<Session>,
    pub(crate) batch: Mutex<Option<BatchSessions>>,
    keep_alive: std::sync::Mutex<Option<JoinHandle<()>>>,
}

impl KatoClient {
    /// Creates a builder for a client of the server at `base_url`, such as `http://localhost:8000`,
    /// with a session made from `session`.
    pub fn builder(base_url: impl Into<String>, session: SessionOptions) -> KatoClientBuilder {
        KatoClientBuilder::new(base_url.into(), session)
    }

    /// Creates a client that has made no request yet.
    pub(crate) fn with(transport: Transport, options: SessionOptions) -> Self {
        Self {
            session: Session::new(transport.clone(), options),
            transport,
            batch: Mutex::new(None),
            keep_alive: std::sync::Mutex::new(None),
        }
    }

    /// Creates another client over the same connections, with a session of its own made from the
    /// same options.
    #[must_use]
    pub fn fork(&self) -> Self {
        self.fork_with(self.session.options.clone())
    }

    /// Creates another client over the same connections, with a session of its own, possibly of
    /// another node.
    #[must_use]
    pub fn fork_with(&self, session: SessionOptions) -> Self {
        let transport = Transport {
            pool: Arc::clone(&self.transport.pool),
            // Connections and what is known of the server are shared; requests are counted for each
            // client.
            counters: Arc::new(Counters::default()),
        };
        Self::with(transport, session)
    }

    /// Returns the node of this client.
    #[must_use]
    pub fn node_id(&self) -> &str {
        self.session.options.node_id()
    }

    /// Returns the server's URL. It holds no token.
    #[must_use]
    pub fn base_url(&self) -> &str {
        self.transport.pool.base.as_str()
    }

    /// Returns the requests so far, including those of [`learn_all`](Self::learn_all).
    #[must_use]
    pub fn calls(&self) -> Calls {
        self.transport.counters.read()
    }

    /// Returns the generation of KATO that the server is; asked once for all clients of the pool.
    ///
    /// # Errors
    ///
    /// When the server cannot be reached or is no KATO server.
    pub async fn generation(&self) -> Result<KatoGeneration, ClientError> {
        self.transport.generation().await
    }

    /// Returns what the server offers beyond KATO; `None` for a stock server, or when this is
    /// switched off. Asked once.
    ///
    /// # Errors
    ///
    /// When the server cannot be reached or is no KATO server.
    pub async fn extensions(&self) -> Result<Option<&Extensions>, ClientError> {
        Ok(self.transport.server().await?.extensions.as_ref())
    }

    /// Carries out `work` to its end even if the caller no longer waits: a request that was sent
    /// cannot be taken back.
    pub(crate) async fn detached<T: Send + 'static>(
        &self,
        what: &'static str,
        work: impl Future<Output = Result<T, ClientError>> + Send + 'static,
    ) -> Result<T, ClientError> {
        let stopped = || ClientError::Stopped {
            what: what.to_owned(),
        };
        let runtime = tokio::runtime::Handle::try_current().map_err(|_| ClientError::Config {
            field: "runtime",
            reason: "call from within a Tokio runtime, or use the blocking client".to_owned(),
        })?;
        self.start_keep_alive(&runtime);
        // A future that is dropped between sending and noting the answer would leave the mirror of
        // the session wrong; a task is not dropped with its caller.
        runtime.spawn(work).await.map_err(|_| stopped())?
    }

    /// Starts the task that extends the session, if one is wanted and none runs.
    fn start_keep_alive(&self, runtime: &tokio::runtime::Handle) {
        let Some(every) = self.session.options.keep_alive else {
            return;
        };
        let mut task = self
            .keep_alive
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if task.is_none() {
            // Weak, so that the task does not keep the session alive after its client.
            *task = Some(runtime.spawn(keep_alive(Arc::downgrade(&self.session), every)));
        }
    }

    /// Stops that task.
    fn stop_keep_alive(&self) {
        let mut task = self
            .keep_alive
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(task) = task.take() {
            task.abort();
        }
    }

    /// Deletes the session, after calls that were dropped and are still carried out. Waits a few
    /// seconds at most for the answer: a session whose deletion does not reach the server expires there.
    ///
    /// # Errors
    ///
    /// [`ClientError::OutcomeUnknown`] if an operation was left in doubt. The session is deleted all
    /// the same.
    pub async fn close(self) -> Result<(), ClientError> {
        self.stop_keep_alive();
        if let Some(batch) = self.batch.lock().await.take() {
            batch.start_over().await;
        }
        // Read first: starting over forgets it.
        let doubt = self.session.doubt().await;
        self.session.start_over().await;
        doubt.map_or(Ok(()), Err)
    }
}

impl Drop for KatoClient {
    fn drop(&mut self) {
        self.stop_keep_alive();
        // Without a runtime nothing can be sent: the session expires on the server.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        let mut sessions = vec![Arc::clone(&self.session)];
        if let Some(batch) = self.batch.get_mut().take() {
            sessions.extend(batch.into_sessions());
        }
        for session in sessions {
            // Without a session there is nothing to delete. One that is locked is at work: its
            // operation keeps it alive, and the deletion waits for the lock.
            if session
                .state
                .try_lock()
                .is_ok_and(|state| state.id.is_none())
            {
                continue;
            }
            runtime.spawn(async move { session.start_over().await });
        }
    }
}

/// Extends a session every so often, until it is dropped.
async fn keep_alive(session: std::sync::Weak<Session>, every: Duration) {
    loop {
        tokio::time::sleep(every).await;
        let Some(session) = session.upgrade() else {
            return;
        };
        session.extend_if_idle().await;
    }
}
