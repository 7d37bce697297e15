//! HTTP client of a fetcher: sends requests, follows redirects without leaking secrets, and turns
//! refusals into errors.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use kato_retry::{Backoff, retry_after};
use reqwest::header::{
    ACCEPT_ENCODING, AUTHORIZATION, HeaderMap, HeaderName, HeaderValue, IF_MATCH, LOCATION, RANGE,
    RETRY_AFTER,
};
use reqwest::{Method, Response, StatusCode};
use tokio::sync::Semaphore;
use url::Url;

use crate::FetchError;
use crate::error::{Cause, is_transient_status};
use crate::figures::{Counters, add};
use crate::location::redacted;
use crate::options::Timeouts;
use crate::retry::Attempts;

/// Redirects that are followed; no honest chain is longer.
const MAX_REDIRECTS: usize = 10;

/// State that all requests of a fetcher share.
pub(crate) struct Client {
    pub(crate) http: reqwest::Client,
    pub(crate) backoff: Backoff,
    pub(crate) counters: Arc<Counters>,
    pub(crate) permits: Semaphore,
    pub(crate) timeouts: Timeouts,
    pub(crate) endpoint: Url,
    pub(crate) token: Option<HeaderValue>,
    pub(crate) headers: Vec<(String, HeaderName, HeaderValue)>,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client")
            .field("endpoint", &redacted(&self.endpoint))
            .field("has_token", &self.token.is_some())
            .finish_non_exhaustive()
    }
}

/// GET or HEAD request.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    pub(crate) method: Method,
    pub(crate) range: Option<(u64, Option<u64>)>,
    pub(crate) if_match: Option<String>,
}

impl Ask {
    /// Creates a GET request for the whole content.
    pub(crate) const fn get() -> Self {
        Self::new(Method::GET)
    }

    /// Creates a HEAD request.
    pub(crate) const fn head() -> Self {
        Self::new(Method::HEAD)
    }

    const fn new(method: Method) -> Self {
        Self {
            method,
            range: None,
            if_match: None,
        }
    }
}

/// Answer that is no redirect, and what the redirects on the way said.
#[derive(Debug)]
pub(crate) struct Followed {
    pub(crate) response: Response,
    /// Where the last redirect led; `None` if there was none.
    pub(crate) target: Option<Url>,
    /// The validator that the Hub names for the file it redirects to.
    pub(crate) linked_etag: Option<String>,
    /// The size that the Hub names for that file.
    pub(crate) linked_size: Option<u64>,
}

impl Client {
    /// Sends a request once and waits for the head of the answer.
    pub(crate) async fn send(&self, ask: &Ask, url: &Url) -> Result<Response, FetchError> {
        add(&self.counters.requests, 1);
        let mut request = self
            .http
            .request(ask.method.clone(), url.clone())
            // Ranges and sizes count the bytes of the file; a compressed answer would have others.
            .header(ACCEPT_ENCODING, "identity")
            .headers(self.headers_for(url));
        if let Some((from, to)) = ask.range {
            // Ranges end behind their last byte here, and at their last byte in HTTP.
            let to = to.map(|to| (to.saturating_sub(1)).to_string());
            request = request.header(RANGE, format!("bytes={from}-{}", to.unwrap_or_default()));
        }
        if let Some(etag) = &ask.if_match {
            request = request.header(IF_MATCH, etag);
        }
        match tokio::time::timeout(self.timeouts.idle, request.send()).await {
            Ok(Ok(response)) => Ok(response),
            // Connecting is the only step that reqwest itself was given a timeout for.
            Ok(Err(error)) if error.is_timeout() => {
                Err(Self::timed_out(url, self.timeouts.connect))
            }
            // The text of reqwest's error would show the URL with its secrets.
            Ok(Err(error)) => Err(connection(url, error.without_url())),
            Err(_) => Err(Self::timed_out(url, self.timeouts.idle)),
        }
    }

    /// Sends a request and follows redirects; an error status is returned as an answer.
    pub(crate) async fn follow(&self, ask: &Ask, url: &Url) -> Result<Followed, FetchError> {
        let (mut at, mut target) = (url.clone(), None);
        let (mut linked_etag, mut linked_size) = (None, None);
        for _ in 0..=MAX_REDIRECTS {
            let response = self.send(ask, &at).await?;
            // The first answer that says it counts: it is the Hub's, and those behind it are of its
            // storage.
            linked_etag = linked_etag.or_else(|| text(response.headers(), "x-linked-etag"));
            linked_size = linked_size.or_else(|| {
                text(response.headers(), "x-linked-size").and_then(|size| size.parse().ok())
            });
            if !is_redirect(response.status()) {
                return Ok(Followed {
                    response,
                    target,
                    linked_etag,
                    linked_size,
                });
            }
            // `send` chooses the secret headers by the URL of each hop, so none goes to another
            // server.
            at = next_hop(&at, response.headers())?;
            target = Some(at.clone());
        }
        Err(wrong(url, format!("more than {MAX_REDIRECTS} redirects")))
    }

    /// Returns a small text with the headers of its answer, trying again as the policy allows.
    pub(crate) async fn text(&self, url: &Url) -> Result<(String, HeaderMap), FetchError> {
        self.repeat(|| self.text_once(url)).await
    }

    /// Calls `once` until it succeeds, or until the policy gives up.
    pub(crate) async fn repeat<T, F: Future<Output = Result<T, FetchError>>>(
        &self,
        mut once: impl FnMut() -> F,
    ) -> Result<T, FetchError> {
        let mut attempts = Attempts::new(&self.backoff);
        loop {
            match once().await {
                Ok(value) => return Ok(value),
                Err(error) => attempts.again(error).await?,
            }
            add(&self.counters.retries, 1);
        }
    }

    /// Returns a small text with the headers of its answer, trying once.
    async fn text_once(&self, url: &Url) -> Result<(String, HeaderMap), FetchError> {
        let _permit = self.permit().await?;
        let response = self.follow(&Ask::get(), url).await?.response;
        if response.status() != StatusCode::OK {
            return Err(self.refusal(url, &response));
        }
        let headers = response.headers().clone();
        // `idle` bounds a silence. This bounds the whole body, which may come in several pieces.
        match tokio::time::timeout(self.timeouts.idle.saturating_mul(4), response.text()).await {
            Ok(Ok(text)) => Ok((text, headers)),
            Ok(Err(error)) => Err(connection(url, error.without_url())),
            Err(_) => Err(Self::timed_out(url, self.timeouts.idle)),
        }
    }

    /// Waits for a permit; permits bound how many requests are under way.
    pub(crate) async fn permit(&self) -> Result<tokio::sync::SemaphorePermit<'_>, FetchError> {
        // The semaphore is never closed.
        self.permits
            .acquire()
            .await
            .map_err(|_| FetchError::Runtime { source: None })
    }

    /// Returns the error that an unsuccessful answer stands for.
    pub(crate) fn refusal(&self, url: &Url, response: &Response) -> FetchError {
        let shown = redacted(url);
        let status = response.status().as_u16();
        let headers = response.headers();
        match status {
            404 | 410 => FetchError::NotFound { url: shown },
            401 | 403 => FetchError::Unauthorized {
                url: shown,
                status,
                advice: self.advice(url, headers),
            },
            _ => FetchError::Status {
                url: shown,
                status,
                attempts: 1,
                // No other status is tried again, whatever the server wishes.
                retry_after: is_transient_status(status)
                    .then(|| text(headers, RETRY_AFTER.as_str()))
                    .flatten()
                    .and_then(|value| retry_after(&value, SystemTime::now())),
            },
        }
    }

    /// Returns what a user can do where access is refused.
    fn advice(&self, url: &Url, headers: &HeaderMap) -> &'static str {
        let code = text(headers, "x-error-code");
        match (
            same_origin(url, &self.endpoint),
            // The Hub says by this header that terms must be accepted first. To a stranger it
            // denies that a private dataset exists, which is why the texts below name both
            // possibilities.
            code.as_deref(),
            &self.token,
        ) {
            (true, Some("GatedRepo"), None) => {
                "the dataset is gated: accept its terms on its page, and give a token (HF_TOKEN)"
            }
            (true, Some("GatedRepo"), Some(_)) => {
                "the dataset is gated: accept its terms on its page with the account of the token (HF_TOKEN)"
            }
            (true, _, None) => {
                "it does not exist, or is private: check the name, or give a token that may read it (HF_TOKEN)"
            }
            (true, _, Some(_)) => {
                "it does not exist, or the token (HF_TOKEN) may not read it: check both"
            }
            (false, _, _) => "give credentials for this server, or a freshly signed URL",
        }
    }

    /// Returns the headers that only this URL's server may see: the Hub's token for the origin of
    /// the endpoint, and those set for its host.
    fn headers_for(&self, url: &Url) -> HeaderMap {
        let mut headers = HeaderMap::new();
        if let Some(token) = &self.token
            && same_origin(url, &self.endpoint)
        {
            headers.insert(AUTHORIZATION, token.clone());
        }
        let host = url.host_str().unwrap_or_default();
        for (only, name, value) in &self.headers {
            if only.eq_ignore_ascii_case(host) {
                headers.insert(name, value.clone());
            }
        }
        headers
    }

    /// Returns the error for a server that was silent for too long.
    fn timed_out(url: &Url, waited: Duration) -> FetchError {
        FetchError::Timeout {
            url: redacted(url),
            waited,
            attempts: 1,
        }
    }
}

/// Returns the error for a connection that failed.
pub(crate) fn connection(url: &Url, source: impl Into<Cause>) -> FetchError {
    FetchError::Connection {
        url: redacted(url),
        attempts: 1,
        source: source.into(),
    }
}

/// Returns the error for an answer that is not what was asked for.
pub(crate) fn wrong(url: &Url, reason: impl Into<String>) -> FetchError {
    FetchError::WrongAnswer {
        url: redacted(url),
        reason: reason.into(),
        attempts: 1,
    }
}

/// Returns a header as text, without blanks around it.
pub(crate) fn text(headers: &HeaderMap, name: &str) -> Option<String> {
    headers
        .get(name)
        .and_then(|value| value.to_str().ok())
        .map(|value| value.trim().to_owned())
}

/// Returns whether a status tells the client to ask elsewhere.
fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

/// Returns where a redirect leads.
fn next_hop(from: &Url, headers: &HeaderMap) -> Result<Url, FetchError> {
    let location =
        text(headers, LOCATION.as_str()).ok_or_else(|| wrong(from, "a redirect to nowhere"))?;
    let next = from
        .join(&location)
        .map_err(|error| wrong(from, format!("a redirect to no URL: {error}")))?;
    // Without encryption anyone on the way could read the signature in the new URL, or send other
    // bytes.
    let downgrade = from.scheme() == "https" && next.scheme() != "https";
    if downgrade || !matches!(next.scheme(), "http" | "https") {
        return Err(wrong(
            from,
            format!("a redirect to `{}:`, which is not safe", next.scheme()),
        ));
    }
    Ok(next)
}

/// Returns whether two URLs have the same scheme, host and port.
fn same_origin(a: &Url, b: &Url) -> bool {
    a.origin() == b.origin()
}
