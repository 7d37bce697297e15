//! One pool of connections to one server: sends requests, says what a failure means, repeats what may be repeated.

mod answer;

use std::sync::Arc;
use std::time::{Duration, Instant};

use kato_probe::Probe;
use kato_protocol::{EXTENSIONS_PATH, Extensions, IDEMPOTENCY_KEY, Root};
use reqwest::Method;
use serde::de::DeserializeOwned;
use tokio::sync::OnceCell;
use url::Url;

pub(crate) use answer::{Answer, Failure, Meaning};

use crate::call::Call;
use crate::calls::Counters;
use crate::generation::Server;
use crate::retry::Retry;
use crate::{CallKind, ClientError, Generation};

/// What clients of one pool share.
#[derive(Debug)]
pub(crate) struct Pool {
    pub(crate) http: reqwest::Client,
    pub(crate) base: Url,
    pub(crate) retry: Retry,
    /// Bytes of an answer at most.
    pub(crate) max_answer_bytes: usize,
    pub(crate) use_extensions: bool,
    pub(crate) server: OnceCell<Server>,
    pub(crate) probe: Probe,
    #[cfg(feature = "events")]
    pub(crate) sockets: crate::events::SocketOptions,
}

/// Attempts at one request.
#[derive(Debug)]
pub(crate) struct Attempts {
    pub(crate) n: u32,
    began: Instant,
}

impl Attempts {
    pub(crate) fn new() -> Self {
        Self {
            n: 1,
            began: Instant::now(),
        }
    }
}

/// A pool, with the counters of one client.
#[derive(Debug, Clone)]
pub(crate) struct Transport {
    pub(crate) pool: Arc<Pool>,
    pub(crate) counters: Arc<Counters>,
}

impl Transport {
    pub(crate) fn call(&self, kind: CallKind, method: Method, path: &[&str]) -> Call {
        Call::new(kind, method, &self.pool.base, path)
    }

    /// Sends once.
    pub(crate) async fn once<T: DeserializeOwned>(
        &self,
        call: &Call,
    ) -> Result<Answer<T>, Failure> {
        self.counters.count(call.kind);
        if call.repeated {
            self.counters.count_retry();
        }
        let mut request = self
            .pool
            .http
            .request(call.method.clone(), call.url.clone());
        if let Some(body) = &call.body {
            request = request
                .header(reqwest::header::CONTENT_TYPE, "application/json")
                .body(body.clone());
        }
        if let Some(key) = &call.key {
            request = request.header(IDEMPOTENCY_KEY, key);
        }
        if let Some(timeout) = call.timeout {
            request = request.timeout(timeout);
        }
        let timer = self.pool.probe.calls(call.kind.as_str()).start();
        let response = request
            .send()
            .await
            .map_err(|error| answer::not_answered(call, error))?;
        let answer = {
            let own = self.pool.max_answer_bytes;
            let max_bytes = call.max_bytes.map_or(own, |bytes| bytes.min(own));
            answer::read(call, response, max_bytes).await
        };
        timer.finish();
        answer
    }

    /// Sends until there is a definite answer: only for what may be repeated.
    pub(crate) async fn repeat<T: DeserializeOwned>(&self, call: Call) -> Result<T, Failure> {
        self.repeat_noting_doubt(call).await.map(|(value, _)| value)
    }

    /// As [`repeat`](Self::repeat); says also whether an earlier copy may still be under way.
    pub(crate) async fn repeat_noting_doubt<T: DeserializeOwned>(
        &self,
        mut call: Call,
    ) -> Result<(T, bool), Failure> {
        let mut doubt = false;
        let mut attempts = Attempts::new();
        loop {
            let failure = match self.once(&call).await {
                Ok(answer) => return Ok((answer.value, doubt)),
                Err(failure) => failure,
            };
            doubt |= failure.meaning == Meaning::Doubtful;
            if !failure.is_transient() || !self.pause(&mut attempts, &failure).await {
                return Err(failure);
            }
            call.repeated = true;
        }
    }

    /// Waits for the next attempt; `false` when there is to be none.
    pub(crate) async fn pause(&self, attempts: &mut Attempts, failure: &Failure) -> bool {
        let (attempt, retry) = (attempts.n, &self.pool.retry);
        let Some(pause) = retry.next(attempt, attempts.began, failure.retry_after) else {
            return false;
        };
        tracing::debug!(attempt, ?pause, error = %failure.error, "trying again");
        tokio::time::sleep(pause).await;
        attempts.n += 1;
        true
    }

    pub(crate) fn settle(&self) -> Duration {
        self.pool.retry.policy().settle
    }

    /// What the server is; asked once for all clients of the pool.
    pub(crate) async fn server(&self) -> Result<&Server, ClientError> {
        self.pool
            .server
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
                    generation: Generation::of(&root),
                    extensions,
                })
            })
            .await
    }

    async fn ask_extensions(&self) -> Result<Option<Extensions>, ClientError> {
        let path = [EXTENSIONS_PATH.trim_start_matches('/')];
        let call = self.call(CallKind::Monitoring, Method::GET, &path);
        match self.repeat(call).await {
            Ok(extensions) => Ok(Some(extensions)),
            Err(failure) if matches!(failure.status, Some(404 | 405)) => Ok(None),
            Err(failure) => Err(failure.error),
        }
    }

    pub(crate) async fn generation(&self) -> Result<Generation, ClientError> {
        Ok(self.server().await?.generation)
    }
}
