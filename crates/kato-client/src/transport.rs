//! One pool of connections to one server: sends requests, interprets failures, repeats what may be
//! repeated.

mod answer;
mod gist;

use std::sync::Arc;
use std::time::{Duration, Instant};

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::{Method, Request, Response};
use hyper_util::client::legacy::Client;
use kato_advice::retry::{Backoff, Retry};
use kato_probe::Probe;
use kato_protocol::extension::{EXTENSIONS_PATH, Extensions, IDEMPOTENCY_KEY};
use kato_protocol::session::Root;
use serde::de::DeserializeOwned;
use tokio::sync::OnceCell;

pub(crate) use answer::{Answer, Failure, Meaning};

use crate::address::Address;
use crate::call::Call;
use crate::calls::{CallKind, Counters};
use crate::connect::Connector;
use crate::server::Server;
use crate::{ClientError, KatoGeneration};

/// Longest time that anything is waited for: instants have an end.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

/// The state that the clients of one pool share.
#[derive(Debug)]
pub(crate) struct Pool {
    pub(crate) http: Client<Connector, Full<Bytes>>,
    pub(crate) base: Address,
    /// Headers of every request.
    pub(crate) headers: HeaderMap,
    /// Longest time from sending a request to the last byte of its answer; of one in lines to the first of them, and
    /// from each to the next.
    pub(crate) request_timeout: Duration,
    pub(crate) backoff: Backoff,
    /// How long a stock server may go on with a request that had no answer.
    pub(crate) settle: Duration,
    /// Most bytes of an answer.
    pub(crate) max_answer_bytes: usize,
    pub(crate) use_extensions: bool,
    /// Whether a request that may be repeated is repeated after a plain 500.
    pub(crate) outlasts_failures: bool,
    pub(crate) server: OnceCell<Server>,
    pub(crate) probe: Probe,
    #[cfg(feature = "events")]
    pub(crate) connector: Connector,
}

/// A pool, with the counters of one client.
#[derive(Debug, Clone)]
pub(crate) struct Transport {
    pub(crate) pool: Arc<Pool>,
    pub(crate) counters: Arc<Counters>,
}

impl Transport {
    /// Creates a request.
    pub(crate) fn call(&self, kind: CallKind, method: Method, path: &[&str]) -> Call {
        Call::new(kind, method, &self.pool.base, path)
    }

    /// Sends a request once.
    pub(crate) async fn once<T: DeserializeOwned>(
        &self,
        call: &Call,
    ) -> Result<Answer<T>, Failure> {
        self.counters.count(call.kind);
        if call.repeated {
            self.counters.count_retry();
        }
        // Dropped without `finish` it counts a failure, which is what a request without an answer
        // is.
        let timer = self.pool.probe.calls(call.kind.as_str()).start();
        let timeout = call.timeout.unwrap_or(self.pool.request_timeout);
        let timeout = timeout.min(LONGEST);
        let until = tokio::time::Instant::now() + timeout;
        let answer = match tokio::time::timeout_at(until, self.send(call)).await {
            Ok(Ok(response)) => {
                let own = self.pool.max_answer_bytes;
                let max_bytes = call.max_bytes.map_or(own, |bytes| bytes.min(own));
                answer::read(call, response, max_bytes, until, timeout).await
            }
            Ok(Err(failure)) => Err(failure),
            Err(_) => Err(answer::late(call)),
        };
        timer.finish();
        answer
    }

    /// Sends a request once; returns the head of its answer.
    async fn send(&self, call: &Call) -> Result<Response<Incoming>, Failure> {
        let mut request = Request::new(Full::from(call.body.clone().unwrap_or_default()));
        *request.method_mut() = call.method.clone();
        *request.uri_mut() = call.target.uri().map_err(answer::unsent)?;
        let headers = request.headers_mut();
        headers.clone_from(&self.pool.headers);
        if call.body.is_some() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        if let Some(key) = &call.key {
            let key = HeaderValue::from_str(key).map_err(|_| {
                answer::unsent(ClientError::Config {
                    field: "key",
                    reason: "it has characters that a header cannot hold".to_owned(),
                })
            })?;
            headers.insert(IDEMPOTENCY_KEY, key);
        }
        let answered = self.pool.http.request(request).await;
        answered.map_err(|error| answer::not_answered(call, error))
    }

    /// Sends a request until there is a definite answer: only for what may be repeated.
    pub(crate) async fn repeat<T: DeserializeOwned>(&self, call: Call) -> Result<T, Failure> {
        self.repeat_noting_doubt(call).await.map(|(value, _)| value)
    }

    /// Sends a request as [`repeat`](Self::repeat) does; returns also whether an earlier copy may
    /// still be under way.
    pub(crate) async fn repeat_noting_doubt<T: DeserializeOwned>(
        &self,
        mut call: Call,
    ) -> Result<(T, bool), Failure> {
        let mut doubt = false;
        let mut retry = Retry::from_start(Instant::now());
        loop {
            let failure = match self.once(&call).await {
                Ok(answer) => return Ok((answer.value, doubt)),
                Err(failure) => failure,
            };
            // Kept over all attempts: a later one that succeeds does not take an earlier one back.
            doubt |= failure.meaning == Meaning::Doubtful;
            let outlasts = self.pool.outlasts_failures && failure.status == Some(500);
            let may_repeat = failure.is_transient() || outlasts;
            if !may_repeat || !self.pause(&mut retry, &failure).await {
                return Err(failure);
            }
            call.repeated = true;
        }
    }

    /// Waits for the next attempt; returns `false` if there is to be none.
    pub(crate) async fn pause(&self, retry: &mut Retry, failure: &Failure) -> bool {
        let wait = retry.next_wait(&self.pool.backoff, Instant::now(), failure.retry_after);
        let Some(wait) = wait else {
            return false;
        };
        tracing::debug!(attempt = retry.failures(), ?wait, error = %failure.error, "trying again");
        tokio::time::sleep(wait).await;
        true
    }

    /// Returns how long a stock server may go on with a request that had no answer.
    pub(crate) fn settle(&self) -> Duration {
        self.pool.settle
    }

    /// Returns the facts about the server; asked once for all clients of the pool.
    pub(crate) async fn server(&self) -> Result<&Server, ClientError> {
        self.pool
            .server
            // A failure is not kept: the next call asks again.
            .get_or_try_init(|| async {
                let root: Root = self
                    .repeat(self.call(CallKind::Monitoring, Method::GET, &[]))
                    .await?;
                let extensions = if self.pool.use_extensions {
                    self.ask_extensions().await?
                } else {
                    None
                };
                Ok(Server {
                    generation: KatoGeneration::from_version(&root.version),
                    extensions,
                })
            })
            .await
    }

    /// Asks for the server's extensions; `None` if it has none.
    async fn ask_extensions(&self) -> Result<Option<Extensions>, ClientError> {
        let path = [EXTENSIONS_PATH.trim_start_matches('/')];
        let call = self.call(CallKind::Monitoring, Method::GET, &path);
        match self.repeat(call).await {
            Ok(extensions) => Ok(Some(extensions)),
            // A stock server. Any other failure must not be taken for one: without keys writes
            // would be resolved in a weaker way.
            Err(failure) if matches!(failure.status, Some(404 | 405)) => Ok(None),
            Err(failure) => Err(failure.error),
        }
    }

    /// Returns the generation of the server.
    pub(crate) async fn generation(&self) -> Result<KatoGeneration, ClientError> {
        Ok(self.server().await?.generation)
    }
}
