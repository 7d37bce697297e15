//! HTTP client of a fetcher: sends requests, follows redirects without leaking secrets, and turns
//! refusals into errors.

use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::SystemTime;

use futures_util::{StreamExt as _, TryStreamExt as _};
use kato_advice::retry::Backoff;
use reqwest::header::{
    ACCEPT_ENCODING, AUTHORIZATION, COOKIE, HeaderMap, HeaderName, HeaderValue, IF_MATCH, RANGE,
};
use reqwest::{Response, StatusCode};
use tokio::sync::Semaphore;
use url::Url;

use crate::FetchError;
use crate::cookies::Cookies;
use crate::error::{Cause, is_transient_status};
use crate::figures::{Counters, add};
use crate::known_servers::KnownServers;
use crate::location::redacted;
use crate::options::{PrivateRedirects, Timeouts, TransferLimits};
use crate::rate_limit::asked_wait;
use crate::redirect::{Reach, TooNear, literal, next_hop, refused, too_near};
use crate::retry::Attempts;
use crate::source::{Body, Encoding, decoded, within};

/// State that all requests of a fetcher share.
pub(crate) struct Client {
    pub(crate) http: reqwest::Client,
    /// The same, except that they do not connect to addresses that are nearer than these.
    pub(crate) guarded: [(Reach, reqwest::Client); 3],
    pub(crate) private_redirects: PrivateRedirects,
    /// Whether a proxy may stand between this machine and the servers.
    pub(crate) behind_proxy: bool,
    pub(crate) limits: TransferLimits,
    pub(crate) servers: KnownServers,
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

/// GET request. HEAD is never asked: what a server says to it need not hold for a GET.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ask {
    pub(crate) range: Option<(u64, Option<u64>)>,
    pub(crate) if_match: Option<String>,
}

/// Answer that is no redirect, and what the redirects on the way said.
#[derive(Debug)]
pub(crate) struct Followed {
    pub(crate) response: Response,
    /// Where the last redirect led; `None` if there was none.
    pub(crate) target: Option<Target>,
    /// The validator that the Hub names for the file it redirects to.
    pub(crate) linked_etag: Option<String>,
    /// The size that the Hub names for that file.
    pub(crate) linked_size: Option<u64>,
}

/// Where redirects have led.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) url: Url,
    /// How near its address may be.
    pub(crate) least: Reach,
    /// Cookies that it has given on the way.
    pub(crate) cookies: Option<HeaderValue>,
}

impl Target {
    /// Creates the target of a request that no redirect has led to.
    pub(crate) const fn asked_for(url: Url) -> Self {
        Self {
            url,
            least: Reach::Link,
            cookies: None,
        }
    }
}

impl Client {
    /// Sends a request once and waits for the head of the answer.
    pub(crate) async fn send(&self, ask: &Ask, to: &Target) -> Result<Response, FetchError> {
        let url = &to.url;
        // The resolver does not see addresses that are written out.
        if let Some(address) = literal(url).filter(|address| Reach::of(*address) < to.least) {
            return Err(too_near(url, address));
        }
        let guarded = self.guarded.iter().find(|(least, _)| *least == to.least);
        let http = guarded.map_or(&self.http, |(_, http)| http);
        add(&self.counters.requests, 1);
        let mut request = http
            .get(url.clone())
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
        if let Some(cookies) = &to.cookies {
            request = request.header(COOKIE, cookies);
        }
        let time = self.servers.time_to_answer(url, self.timeouts.idle);
        match tokio::time::timeout(time, request.send()).await {
            Ok(Ok(response)) => {
                // Of others it is the body that counts.
                if !response.status().is_success() {
                    self.servers.heard_of(url);
                }
                Ok(response)
            }
            // Connecting is the only step that reqwest itself was given a timeout for.
            Ok(Err(error)) if error.is_timeout() => {
                Err(self.servers.silence(url, self.timeouts.connect))
            }
            Ok(Err(error)) => Err(broken(url, error)),
            Err(_) => Err(self.servers.silence(url, time)),
        }
    }

    /// Sends a request and follows redirects; an error status is returned as an answer.
    pub(crate) async fn follow(&self, ask: &Ask, asked: &Target) -> Result<Followed, FetchError> {
        let mut at = asked.clone();
        let mut visited = vec![asked.clone()];
        let mut cookies = Cookies::default();
        let (mut linked_etag, mut linked_size) = (None, None);
        loop {
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
                    target: (visited.len() > 1).then_some(at),
                    linked_etag,
                    linked_size,
                });
            }
            if visited.len() > self.limits.redirects {
                let reason = format!("more than {} times", self.limits.redirects);
                return Err(refused(&asked.url, reason));
            }
            // `send` chooses the secret headers by the URL of each hop, so none goes to another
            // server.
            let url = next_hop(&asked.url, &at.url, response.headers())?;
            cookies.take(&at.url, response.headers());
            let connected = response.remote_addr().filter(|_| !self.behind_proxy);
            // Once a farther server has had a say, the way must stay as far.
            let least = at.least.max(self.least_beyond(&at.url, connected));
            at = Target {
                least,
                cookies: cookies.header(&url),
                url,
            };
            // With other cookies it is another question.
            let is_asked = |asked: &Target| (&asked.url, &asked.cookies) == (&at.url, &at.cookies);
            if visited.iter().any(is_asked) {
                let reason = format!("in a circle, back to `{}`", redacted(&at.url));
                return Err(refused(&asked.url, reason));
            }
            visited.push(at.clone());
        }
    }

    /// Returns how near the addresses are to which a server may lead.
    pub(crate) fn least_beyond(&self, url: &Url, connected: Option<SocketAddr>) -> Reach {
        match self.private_redirects {
            PrivateRedirects::Always => Reach::Link,
            PrivateRedirects::Never => Reach::Public,
            PrivateRedirects::FromPrivate => Reach::of_server(url, connected),
        }
    }

    /// Returns a text of an API with the headers of its answer, trying again as the policy allows.
    pub(crate) async fn text(&self, from: &Target) -> Result<(String, HeaderMap), FetchError> {
        self.repeat(|| self.text_once(from)).await
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

    /// Returns a text of an API with the headers of its answer, trying once.
    async fn text_once(&self, from: &Target) -> Result<(String, HeaderMap), FetchError> {
        let _permit = self.permit().await?;
        let url = &from.url;
        let response = self.follow(&Ask::default(), from).await?.response;
        if !is_whole(response.status()) {
            return Err(self.refusal(url, &response));
        }
        let headers = response.headers().clone();
        let body = match Encoding::of(&headers, "").map_err(|coding| encoded(url, &coding))? {
            Some(encoding) => decoded(encoding, self.body(response, url), redacted(url)),
            None => self.body(response, url),
        };
        let shown = redacted(url);
        let mut text = Vec::new();
        // `idle` bounds a silence. This bounds the whole body, which may come in several pieces.
        let longest = self.timeouts.idle.saturating_mul(4);
        match tokio::time::timeout(longest, self.collect(body, &shown, &mut text)).await {
            Ok(collected) => collected?,
            Err(_) => {
                return Err(FetchError::Unfinished {
                    url: shown,
                    received: text.len() as u64,
                    waited: longest,
                    attempts: 1,
                });
            }
        }
        Ok((utf8(text, &shown)?, headers))
    }

    /// Appends a body that keeps to the limit of an answer.
    pub(crate) async fn collect(
        &self,
        mut body: Body,
        shown: &str,
        text: &mut Vec<u8>,
    ) -> Result<(), FetchError> {
        while let Some(piece) = body.next().await {
            text.extend_from_slice(&piece?);
            if text.len() as u64 > self.limits.answer_bytes {
                return Err(FetchError::TooMuch {
                    url: shown.to_owned(),
                    what: "answers at great length".to_owned(),
                    limit: self.limits.answer_bytes,
                    setting: "answer_bytes",
                });
            }
        }
        Ok(())
    }

    /// Returns the body of an answer, which fails when it is silent for too long, or too slow.
    pub(crate) fn body(&self, response: Response, url: &Url) -> Body {
        let server = response.url().clone();
        let (at, servers) = (url.clone(), self.servers.clone());
        let pieces = response
            .bytes_stream()
            .map_err(move |error| broken(&at, error));
        let pieces = within(self.timeouts, self.limits, redacted(url), pieces.boxed());
        pieces
            .inspect_ok({
                let (servers, server) = (servers.clone(), server.clone());
                let mut is_heard_of = false;
                move |_| {
                    if !is_heard_of {
                        servers.heard_of(&server);
                        is_heard_of = true;
                    }
                }
            })
            .map_err(move |error| match error {
                FetchError::Timeout { waited, .. } => servers.silence(&server, waited),
                error => error,
            })
            .boxed()
    }

    /// Fails if a file is larger than is believed.
    pub(crate) fn believe(&self, shown: &str, size: Option<u64>) -> Result<(), FetchError> {
        match size {
            Some(size) if size > self.limits.file_bytes => Err(FetchError::TooMuch {
                url: shown.to_owned(),
                what: format!("announces {size} bytes"),
                limit: self.limits.file_bytes,
                setting: "file_bytes",
            }),
            _ => Ok(()),
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
                    .then(|| asked_wait(headers, SystemTime::now()))
                    .flatten(),
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
}

/// Returns the error for a request that reqwest could not carry out, or a body that it could not
/// read to its end.
fn broken(url: &Url, error: reqwest::Error) -> FetchError {
    // The text of reqwest's error would show the URL with its secrets.
    let error = error.without_url();
    let mut next: Option<&(dyn Error + 'static)> = Some(&error);
    let (mut deepest, mut is_nonsense) = (String::new(), false);
    while let Some(cause) = next {
        if let Some(TooNear(address)) = cause.downcast_ref() {
            return too_near(url, *address);
        }
        let is_no_http = cause
            .downcast_ref::<hyper::Error>()
            .is_some_and(hyper::Error::is_parse);
        // Chunks and certificates that are not valid.
        let is_invalid = cause.downcast_ref::<io::Error>().is_some_and(|cause| {
            matches!(
                cause.kind(),
                io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput
            )
        });
        is_nonsense |= is_no_http || is_invalid;
        deepest = cause.to_string();
        next = cause.source();
    }
    match is_nonsense {
        true => wrong(url, format!("not as HTTP wants it ({deepest})")),
        false => connection(url, error),
    }
}

/// Returns the error for an answer in an encoding that was not asked for and is not known.
pub(crate) fn encoded(url: &Url, coding: &str) -> FetchError {
    FetchError::Unsupported {
        url: redacted(url),
        reason: format!(
            "its server encodes it by `{coding}`, which was not asked for and is not supported"
        ),
    }
}

/// Returns whether a status says that all of the content follows.
pub(crate) const fn is_whole(status: StatusCode) -> bool {
    // 203 is a 200 that a proxy has had its hands on (RFC 9110, 15.3.4).
    matches!(status.as_u16(), 200 | 203)
}

/// Returns the error for a connection that failed.
pub(crate) fn connection(url: &Url, source: impl Into<Cause>) -> FetchError {
    FetchError::Connection {
        url: redacted(url),
        attempts: 1,
        source: source.into(),
    }
}

/// Returns the text of an answer.
pub(crate) fn utf8(text: Vec<u8>, shown: &str) -> Result<String, FetchError> {
    String::from_utf8(text).map_err(|_| FetchError::WrongAnswer {
        url: shown.to_owned(),
        reason: "a text that is not UTF-8".to_owned(),
        attempts: 1,
    })
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

/// Returns whether two URLs have the same scheme, host and port.
pub(crate) fn same_origin(a: &Url, b: &Url) -> bool {
    a.origin() == b.origin()
}
