//! The client for programs without an async runtime: most of the same calls, each of which blocks until
//! it is done.
//!
//! A client has a thread of its own for its connections; forks share it.

mod runtime;

use std::sync::Arc;
use std::time::Duration;

use kato_model::PatternName;
use kato_protocol::extension::{AskBatchRequest, BatchItem, Extensions, NextAnswer, NextQuery};
use kato_protocol::monitoring::{
    CacheInvalidated, CacheStats, Concurrency, ConnectionPools, DistributedStm, Health,
    MetricHistory, Metrics, Stats, Status,
};
use kato_protocol::node::{NodeAffinities, NodeSymbols, PatternBody};
use kato_protocol::observation::{EmotiveValues, LearnResult, ObservationResult, Stm};
use kato_protocol::percept::{GenesUpdated, PerceptAnswer, SessionCognition};
use kato_protocol::sequence::SequenceResult;
use kato_protocol::session::{Cleared, Extended, FinalizedTraining, Root, SessionInfo};
use kato_protocol::{Observation, Sequence};
use serde_json::{Map, Value};

use self::runtime::Runtime;
use crate::batch::LearnReport;
use crate::calls::Calls;
use crate::{
    ClientError, KatoClientBuilder, KatoGeneration, SessionOptions, TypedBatchAnswer,
    TypedPredictions,
};

/// A client of a KATO server whose calls block; see [`crate::KatoClient`] for its guarantees.
///
/// # Examples
///
/// ```no_run
/// use kato_client::protocol::Observation;
/// use kato_client::{KatoClient, SessionOptions, blocking};
///
/// let builder = KatoClient::builder("http://localhost:8000", SessionOptions::new("node0"));
/// let client = blocking::KatoClient::new(builder)?;
/// client.observe(Observation::strings(["a", "b"]))?;
/// println!("{}", client.learn()?.pattern_name);
/// # Ok::<(), kato_client::ClientError>(())
/// ```
#[derive(Debug)]
pub struct KatoClient {
    // `None` only while the client is dropped. Counted, because a call runs on the runtime's
    // thread and must own what it uses.
    client: Option<Arc<crate::KatoClient>>,
    runtime: Arc<Runtime>,
}

macro_rules! same {
    ($($(#[$doc:meta])* fn $name:ident($($arg:ident: $type:ty),*) -> $answer:ty;)*) => {
        impl KatoClient {
            $(
                #[doc = concat!("Waits for [`", stringify!($name), "`](crate::KatoClient::", stringify!($name), ").")]
                $(#[$doc])*
                ///
                /// # Errors
                ///
                /// As there; [`ClientError::BlockingInAsync`] inside an async context.
                pub fn $name(&self, $($arg: $type),*) -> Result<$answer, ClientError> {
                    let client = self.client();
                    self.runtime.wait(async move { client.$name($($arg),*).await })
                }
            )*
        }
    };
}

same! {
    fn observe(observation: Observation) -> ObservationResult;
    fn observe_sequence(sequence: Sequence) -> SequenceResult;
    fn learn() -> LearnResult;
    fn clear_stm() -> Cleared;
    fn clear_all() -> Cleared;
    fn update_config(changes: Map<String, Value>) -> ();
    fn session_id() -> String;
    fn session_info() -> SessionInfo;
    fn config() -> Map<String, Value>;
    fn session_exists() -> bool;
    fn extend(ttl: Duration) -> Extended;
    fn stm() -> Stm;
    fn predictions() -> TypedPredictions;
    fn next(query: NextQuery) -> NextAnswer;
    fn ask_batch(request: AskBatchRequest) -> Vec<TypedBatchAnswer>;
    fn percept() -> PerceptAnswer;
    fn cognition() -> SessionCognition;
    fn finalize_training() -> FinalizedTraining;
    fn symbols() -> NodeSymbols;
    fn affinities() -> NodeAffinities;
    fn count_patterns() -> u64;
    fn update_genes(genes: Map<String, Value>) -> GenesUpdated;
    fn generation() -> KatoGeneration;
    fn root() -> Root;
    fn health() -> Health;
    fn status() -> Status;
    fn metrics() -> Metrics;
    fn concurrency() -> Concurrency;
    fn cache_stats() -> CacheStats;
    fn distributed_stm() -> DistributedStm;
    fn connection_pools() -> ConnectionPools;
    fn session_count() -> u64;
    fn stats(minutes: u32) -> Stats;
}

impl KatoClient {
    /// Creates the client that `builder` describes. Makes no request.
    ///
    /// # Errors
    ///
    /// As [`KatoClientBuilder::build`]; when the thread cannot be started.
    pub fn new(builder: KatoClientBuilder) -> Result<Self, ClientError> {
        let client = Some(Arc::new(builder.build()?));
        let runtime = Arc::new(Runtime::start()?);
        Ok(Self { client, runtime })
    }

    /// Creates another client over the same connections, with a session of its own made from the
    /// same options.
    #[must_use]
    pub fn fork(&self) -> Self {
        self.beside(self.client().fork())
    }

    /// Creates another client over the same connections, with a session of its own, possibly of
    /// another node.
    #[must_use]
    pub fn fork_with(&self, session: SessionOptions) -> Self {
        self.beside(self.client().fork_with(session))
    }

    /// Returns the node of this client.
    #[must_use]
    pub fn node_id(&self) -> String {
        self.client().node_id().to_owned()
    }

    /// Returns the requests so far.
    #[must_use]
    pub fn calls(&self) -> Calls {
        self.client().calls()
    }

    /// Waits for [`extensions`](crate::KatoClient::extensions).
    ///
    /// # Errors
    ///
    /// As there; [`ClientError::BlockingInAsync`] inside an async context.
    pub fn extensions(&self) -> Result<Option<Extensions>, ClientError> {
        let client = self.client();
        self.runtime
            .wait(async move { Ok(client.extensions().await?.cloned()) })
    }

    /// Waits for [`pattern`](crate::KatoClient::pattern).
    ///
    /// # Errors
    ///
    /// As there; [`ClientError::BlockingInAsync`] inside an async context.
    pub fn pattern(&self, name: PatternName) -> Result<Option<PatternBody>, ClientError> {
        let client = self.client();
        self.runtime
            .wait(async move { client.pattern(&name).await })
    }

    /// Waits for [`affinity`](crate::KatoClient::affinity).
    ///
    /// # Errors
    ///
    /// As there; [`ClientError::BlockingInAsync`] inside an async context.
    pub fn affinity(&self, symbol: &str) -> Result<EmotiveValues, ClientError> {
        let (client, symbol) = (self.client(), symbol.to_owned());
        self.runtime
            .wait(async move { client.affinity(&symbol).await })
    }

    /// Waits for [`gene`](crate::KatoClient::gene).
    ///
    /// # Errors
    ///
    /// As there; [`ClientError::BlockingInAsync`] inside an async context.
    pub fn gene(&self, name: &str) -> Result<Option<Value>, ClientError> {
        let (client, name) = (self.client(), name.to_owned());
        self.runtime.wait(async move { client.gene(&name).await })
    }

    /// Waits for [`metric_history`](crate::KatoClient::metric_history).
    ///
    /// # Errors
    ///
    /// As there; [`ClientError::BlockingInAsync`] inside an async context.
    pub fn metric_history(
        &self,
        name: &str,
        minutes: u32,
    ) -> Result<Option<MetricHistory>, ClientError> {
        let (client, name) = (self.client(), name.to_owned());
        self.runtime
            .wait(async move { client.metric_history(&name, minutes).await })
    }

    /// Waits for [`invalidate_cache`](crate::KatoClient::invalidate_cache).
    ///
    /// # Errors
    ///
    /// As there; [`ClientError::BlockingInAsync`] inside an async context.
    pub fn invalidate_cache(
        &self,
        session_id: Option<&str>,
    ) -> Result<CacheInvalidated, ClientError> {
        let (client, session_id) = (self.client(), session_id.map(str::to_owned));
        self.runtime
            .wait(async move { client.invalidate_cache(session_id.as_deref()).await })
    }

    /// Waits for [`learn_all`](crate::KatoClient::learn_all).
    ///
    /// # Errors
    ///
    /// As there; [`ClientError::BlockingInAsync`] inside an async context.
    pub fn learn_all(
        &self,
        items: Vec<BatchItem>,
        chunk_size: Option<usize>,
    ) -> Result<LearnReport, ClientError> {
        let client = self.client();
        self.runtime
            .wait(async move { client.learn_all(&items, chunk_size).await })
    }

    /// Waits for [`learn_all_once`](crate::KatoClient::learn_all_once).
    ///
    /// # Errors
    ///
    /// As there; [`ClientError::BlockingInAsync`] inside an async context.
    pub fn learn_all_once(
        &self,
        key: String,
        items: Vec<BatchItem>,
        chunk_size: Option<usize>,
    ) -> Result<LearnReport, ClientError> {
        let client = self.client();
        let work = async move { client.learn_all_once(&key, &items, chunk_size).await };
        self.runtime.wait(work)
    }

    /// Waits for [`start_over`](crate::KatoClient::start_over).
    ///
    /// # Errors
    ///
    /// [`ClientError::BlockingInAsync`] inside an async context.
    pub fn start_over(&self) -> Result<(), ClientError> {
        let client = self.client();
        self.runtime.wait(async move {
            client.start_over().await;
            Ok(())
        })
    }

    /// Waits for [`close`](crate::KatoClient::close).
    ///
    /// # Errors
    ///
    /// As there; [`ClientError::BlockingInAsync`] inside an async context.
    pub fn close(mut self) -> Result<(), ClientError> {
        // No call can be under way, because each borrows `self`; so this is the last handle.
        let Some(client) = self.client.take().and_then(Arc::into_inner) else {
            return Ok(());
        };
        self.runtime.wait(client.close())
    }

    /// Returns a handle of the async client.
    fn client(&self) -> Arc<crate::KatoClient> {
        Arc::clone(self.client.as_ref().expect("taken only when it ends"))
    }

    /// Creates a client that shares this one's thread.
    fn beside(&self, client: crate::KatoClient) -> Self {
        Self {
            client: Some(Arc::new(client)),
            runtime: Arc::clone(&self.runtime),
        }
    }
}

impl Drop for KatoClient {
    fn drop(&mut self) {
        if let Some(client) = self.client.take().and_then(Arc::into_inner) {
            // Dropping cannot report an error: a doubt that the session was left in is lost here,
            // unlike with `close`.
            self.runtime.run_briefly(client.close());
        }
    }
}
