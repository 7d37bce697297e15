//! The builder of clients.

use std::sync::Arc;
use std::time::Duration;

use hyper::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kato_advice::retry::{Backoff, random_seed};
use kato_probe::Probe;
use tokio::sync::OnceCell;

use crate::address::Address;
use crate::calls::Counters;
use crate::connect::Connector;
use crate::transport::{Pool, Transport};
use crate::{ClientError, KatoClient, RetryPolicy, SessionOptions, checks};

/// Time after which an idle connection is not used again: a KATO closes it after 5 s, and a request
/// that is sent at that moment is lost.
const IDLE: Duration = Duration::from_secs(3);

/// Builds a [`KatoClient`]. Nothing is sent before the client's first call.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use kato_client::{KatoClient, SessionOptions};
///
/// let session = SessionOptions::new("node0")
///     .with_max_pattern_length(8)
///     .with_process_predictions(false);
/// let client = KatoClient::builder("http://localhost:8000", session)
///     .with_request_timeout(Duration::from_secs(30))
///     .build()?;
/// assert_eq!(client.node_id(), "node0");
/// # Ok::<(), kato_client::ClientError>(())
/// ```
#[derive(Clone)]
#[must_use = "a builder does nothing until it is built"]
pub struct KatoClientBuilder {
    base_url: String,
    session: SessionOptions,
    connect_timeout: Duration,
    request_timeout: Duration,
    pool_size: usize,
    max_answer_bytes: usize,
    headers: Vec<(String, String)>,
    token: Option<String>,
    #[cfg(feature = "https")]
    roots: Vec<Vec<u8>>,
    retry: RetryPolicy,
    settle: Duration,
    use_extensions: bool,
    outlasts_failures: bool,
    probe: Probe,
}

impl KatoClientBuilder {
    /// Creates a builder with the defaults.
    pub(crate) fn new(base_url: String, session: SessionOptions) -> Self {
        Self {
            base_url,
            session,
            connect_timeout: Duration::from_secs(5),
            request_timeout: Duration::from_secs(120),
            pool_size: 32,
            max_answer_bytes: 256 << 20,
            headers: Vec::new(),
            token: None,
            #[cfg(feature = "https")]
            roots: Vec::new(),
            retry: RetryPolicy::default(),
            settle: Duration::from_secs(5),
            use_extensions: true,
            outlasts_failures: false,
            probe: Probe::off(),
        }
    }

    /// Sets the longest time to make a connection. Default: 5 s.
    pub const fn with_connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Sets the longest time from sending a request to the last byte of its answer; where many questions are asked
    /// at once, to the first answer, and from each to the next. Default: 120 s.
    pub const fn with_request_timeout(mut self, timeout: Duration) -> Self {
        self.request_timeout = timeout;
        self
    }

    /// Sets the number of idle connections that are kept for later requests. Default: 32.
    pub const fn with_pool_size(mut self, connections: usize) -> Self {
        self.pool_size = connections;
        self
    }

    /// Sets the maximum size of an answer in bytes; a longer one is an error, whatever it says.
    /// Default: 256 MiB.
    pub const fn with_max_answer_bytes(mut self, bytes: usize) -> Self {
        self.max_answer_bytes = bytes;
        self
    }

    /// Adds a header to every request. Its value is never shown.
    pub fn with_header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Sets a token that every request carries as `Authorization: Bearer …`. It is never shown.
    pub fn with_bearer_token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// Trusts the certificates of a PEM text in addition to those of the system.
    #[cfg(feature = "https")]
    pub fn with_root_certificate(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.roots.push(pem.into());
        self
    }

    /// Sets how often and how fast to try again. Whether the client may is decided for each
    /// request: see the crate's documentation. Patience begins with the first attempt. Default:
    /// [`RetryPolicy::default`], with which a port that refuses connections is tried eight times: an error
    /// comes after the seven waits between, 5.7 to 11.3 seconds, 8.5 on average. Where nobody is to wait
    /// for a server that does not run, set
    /// [`with_attempts(1)`](RetryPolicy::with_attempts).
    pub fn with_retry(mut self, retry: RetryPolicy) -> Self {
        self.retry = retry;
        self
    }

    /// Sets how long a stock server may go on with a request that had no answer: so long the request's
    /// session is watched, and as long is waited once the session is deleted. Default: 5 s.
    ///
    /// Keep it well above the longest time that the server takes for one request, and above the
    /// 200 ms after which it shows a new pattern at the latest.
    pub const fn with_settle(mut self, time: Duration) -> Self {
        self.settle = time;
        self
    }

    /// Sets whether to use what kato-rs servers offer beyond KATO. Default: yes, where a server
    /// says that it does.
    pub const fn with_extensions(mut self, on: bool) -> Self {
        self.use_extensions = on;
        self
    }

    /// Sets whether a request that may be repeated is repeated after a plain 500 as well. Default: no,
    /// since most servers fail again in the same way. Clear-all, and what may teach and has a key, is in
    /// any case.
    ///
    /// A stock KATO answers so while a database behind it restarts. [`with_retry`](Self::with_retry)
    /// says for how long.
    pub const fn with_database_restarts(mut self, are_waited_for: bool) -> Self {
        self.outlasts_failures = are_waited_for;
        self
    }

    /// Sets the probe that times requests, by their kind as
    /// [`CallKind::as_str`](crate::calls::CallKind::as_str) names it. Default: none.
    pub fn with_probe(mut self, probe: Probe) -> Self {
        self.probe = probe;
        self
    }

    /// Builds the client. Makes no request.
    ///
    /// # Errors
    ///
    /// [`ClientError::Config`] names the setting that cannot be used.
    pub fn build(self) -> Result<KatoClient, ClientError> {
        let base = Address::parse(&self.base_url)?;
        if self.retry.attempts == 0 {
            return Err(config("retry", "attempts must be at least 1"));
        }
        // The background task would never sleep.
        if self.session.keep_alive.is_some_and(|every| every.is_zero()) {
            return Err(config("keep_alive", "must be longer than nothing"));
        }
        // On the wire it is whole seconds, and 0 is no lifetime.
        if self.session.ttl.is_some_and(|ttl| ttl.as_secs() == 0) {
            return Err(config("ttl", "must be at least a second"));
        }
        checks::settings(&self.session.config, None)?;
        let headers = self.all_headers()?;
        #[cfg(feature = "https")]
        let tls = crate::tls::client_config(base.is_secure(), &self.roots)?;
        let connector = Connector::new(
            self.connect_timeout,
            #[cfg(feature = "https")]
            tls,
        );
        let http = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_max_idle_per_host(self.pool_size)
            .pool_idle_timeout(IDLE)
            .build(connector.clone());
        let pool = Pool {
            http,
            headers,
            request_timeout: self.request_timeout,
            backoff: Backoff::new(self.retry, random_seed()),
            settle: self.settle,
            max_answer_bytes: self.max_answer_bytes,
            use_extensions: self.use_extensions,
            outlasts_failures: self.outlasts_failures,
            server: OnceCell::new(),
            probe: self.probe,
            #[cfg(feature = "events")]
            connector,
            base,
        };
        let transport = Transport {
            pool: Arc::new(pool),
            counters: Arc::new(Counters::default()),
        };
        Ok(KatoClient::with(transport, self.session))
    }

    /// Returns the headers of every request.
    fn all_headers(&self) -> Result<HeaderMap, ClientError> {
        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers {
            let name = HeaderName::try_from(name)
                .map_err(|_| config("header", "the name is no header name"))?;
            headers.append(name, secret(value, "header")?);
        }
        if let Some(token) = &self.token {
            let value = secret(&format!("Bearer {token}"), "bearer_token")?;
            headers.insert(AUTHORIZATION, value);
        }
        Ok(headers)
    }
}

impl std::fmt::Debug for KatoClientBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KatoClientBuilder")
            .field("session", &self.session)
            .field("retry", &self.retry)
            .field("use_extensions", &self.use_extensions)
            .finish_non_exhaustive()
    }
}

/// Makes a header value that is never shown.
fn secret(value: &str, field: &'static str) -> Result<HeaderValue, ClientError> {
    let mut value = HeaderValue::from_str(value)
        .map_err(|_| config(field, "the value has characters that a header cannot hold"))?;
    value.set_sensitive(true);
    Ok(value)
}

/// Creates the error of a setting.
fn config(field: &'static str, reason: &str) -> ClientError {
    ClientError::Config {
        field,
        reason: reason.to_owned(),
    }
}
