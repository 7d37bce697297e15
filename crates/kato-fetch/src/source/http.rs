//! Source for files on web servers and on the Hub. The head of every answer is checked before its
//! body is used.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::{StreamExt as _, TryStreamExt as _};
use reqwest::header::{
    ACCEPT_RANGES, CONTENT_LENGTH, CONTENT_RANGE, ETAG, HeaderMap, LAST_MODIFIED, TRANSFER_ENCODING,
};
use reqwest::{Response, StatusCode};
use url::Url;

use super::{Body, Facts, compare, is_strong, labels, within};
use crate::FetchError;
use crate::client::{Ask, Client, Followed, connection, text, wrong};
use crate::location::redacted;

/// File on a web server or on the Hub.
#[derive(Debug)]
pub(crate) struct HttpSource {
    client: Arc<Client>,
    url: Url,
    shown: String,
    /// Whether the Hub itself has the file: then its own answer has the validator, and the storage
    /// that it redirects to has another one.
    on_hub: bool,
    target: Mutex<Option<Target>>,
}

/// Destination of the last redirects. Asking there spares them, until the signature in its URL
/// expires.
#[derive(Debug, Clone)]
struct Target {
    url: Url,
    /// ETag of the content there.
    etag: Option<String>,
}

impl HttpSource {
    /// Creates the source for a URL, which may hold secrets.
    pub(crate) fn new(client: Arc<Client>, url: Url, on_hub: bool) -> Self {
        let shown = redacted(&url);
        Self {
            client,
            url,
            shown,
            on_hub,
            target: Mutex::new(None),
        }
    }

    /// Returns the address without secrets.
    pub(crate) fn shown(&self) -> &str {
        &self.shown
    }

    /// Asks for the properties of the file, once.
    pub(crate) async fn probe(&self) -> Result<Facts, FetchError> {
        let head = self.client.follow(&Ask::head(), &self.url).await?;
        let status = head.response.status();
        if self.on_hub && head.linked_size.is_some() && head.linked_etag.is_some() {
            // The Hub itself has said all there is to know; how its storage answers a HEAD does not
            // matter.
            let facts = self.facts(&head);
            return Ok(Facts {
                has_ranges: Some(true),
                ..facts
            });
        }
        // A URL is often signed for GET alone, and some servers do not know HEAD: a refusal means
        // little.
        let refused = matches!(status.as_u16(), 400 | 403 | 405 | 501) && !self.on_hub;
        if !status.is_success() && !refused {
            return Err(self.client.refusal(&self.url, &head.response));
        }
        if !refused {
            let mut facts = self.facts(&head);
            facts.size = facts
                .size
                .or_else(|| number(head.response.headers(), &CONTENT_LENGTH));
            if self.on_hub {
                facts.has_ranges = Some(true);
            }
            // Many servers have ranges without saying so, which only a request for one shows.
            if facts.size.is_some() && facts.has_ranges.is_some() {
                return Ok(facts);
            }
        }
        self.probe_by_range().await
    }

    /// Asks for the properties of the file by a request for its first byte.
    async fn probe_by_range(&self) -> Result<Facts, FetchError> {
        let ask = Ask {
            range: Some((0, Some(1))),
            ..Ask::get()
        };
        let answer = self.client.follow(&ask, &self.url).await?;
        let headers = answer.response.headers();
        let mut facts = self.facts(&answer);
        match answer.response.status() {
            StatusCode::PARTIAL_CONTENT => {
                let range = ContentRange::of(headers)
                    .ok_or_else(|| self.wrong("206 without a valid Content-Range"))?;
                facts.size = range.total;
                // Without the file's size, no range could be checked against it.
                facts.has_ranges = Some(range.total.is_some());
            }
            // The server ignores ranges. Its answer is dropped unread.
            StatusCode::OK => {
                facts.size = number(headers, &CONTENT_LENGTH);
                facts.has_ranges = Some(false);
            }
            // An empty file has no first byte.
            StatusCode::RANGE_NOT_SATISFIABLE if unsatisfied_size(headers) == Some(0) => {
                facts.size = Some(0);
                facts.has_ranges = Some(true);
            }
            _ => return Err(self.client.refusal(&self.url, &answer.response)),
        }
        Ok(facts)
    }

    /// Returns what the head of an answer says of the file. Off the Hub the size is left out,
    /// because a partial answer has it elsewhere than a full one.
    fn facts(&self, answer: &Followed) -> Facts {
        let headers = answer.response.headers();
        let (size, validator) = if self.on_hub {
            let etag = answer
                .linked_etag
                .clone()
                .or_else(|| text(headers, ETAG.as_str()));
            (answer.linked_size, etag.map(|etag| unquoted(&etag)))
        } else {
            (None, validator(headers))
        };
        let has_ranges = match text(headers, ACCEPT_RANGES.as_str()).as_deref() {
            Some("bytes") => Some(true),
            Some("none") => Some(false),
            _ => None,
        };
        Facts {
            size,
            validator,
            has_ranges,
            content_type: labels::content_type(headers),
            served_name: labels::served_name(headers, answer.target.as_ref()),
        }
    }

    /// Requests bytes `from..to`, once, and checks that they are what is answered.
    pub(crate) async fn range(
        &self,
        known: &Facts,
        from: u64,
        to: u64,
    ) -> Result<Body, FetchError> {
        let ask = Ask {
            range: Some((from, Some(to))),
            if_match: self.precondition(known),
            ..Ask::get()
        };
        let response = self.ask(&ask, known).await?;
        let headers = response.headers();
        match response.status() {
            StatusCode::PARTIAL_CONTENT => {}
            // Its body begins at the first byte of the file, not at `from`.
            StatusCode::OK => return Err(self.wrong("the whole file in place of a range")),
            StatusCode::RANGE_NOT_SATISFIABLE => {
                // The range was within the file as it was opened, so the file may have become
                // shorter.
                let is = Facts {
                    size: unsatisfied_size(headers),
                    ..Facts::default()
                };
                compare(&self.shown, known, &is)?;
                return Err(self.client.refusal(&self.url, &response));
            }
            _ => return Err(self.client.refusal(&self.url, &response)),
        }
        let given = ContentRange::of(headers)
            .ok_or_else(|| self.wrong("206 without a valid Content-Range"))?;
        // HTTP allows a server to answer with another range (RFC 9110, 15.3.7), whose bytes must
        // not be taken for those asked for.
        if (given.start, given.end) != (from, to) {
            return Err(self.wrong(format!(
                "bytes {}..{} in place of {from}..{to}",
                given.start, given.end
            )));
        }
        let is = Facts {
            size: given.total,
            ..Facts::default()
        };
        compare(&self.shown, known, &is)?;
        if let Some(length) = number(headers, &CONTENT_LENGTH)
            && length != to - from
        {
            return Err(self.wrong(format!(
                "{length} bytes announced for a range of {}",
                to - from
            )));
        }
        Ok(self.body(response))
    }

    /// Requests the whole file, once.
    pub(crate) async fn whole(&self, known: &Facts) -> Result<(Body, Option<u64>), FetchError> {
        let ask = Ask {
            if_match: self.precondition(known),
            ..Ask::get()
        };
        let response = self.ask(&ask, known).await?;
        if response.status() != StatusCode::OK {
            return Err(self.client.refusal(&self.url, &response));
        }
        let length = number(response.headers(), &CONTENT_LENGTH);
        // Then the end of the connection is the end of the body, whatever has ended it.
        if length.is_none() && !response.headers().contains_key(TRANSFER_ENCODING) {
            return Err(FetchError::Unsupported {
                url: self.shown.clone(),
                reason: "the server announces no length, so that a body cut short would look complete",
            });
        }
        let is = Facts {
            size: length,
            ..Facts::default()
        };
        compare(&self.shown, known, &is)?;
        Ok((self.body(response), length))
    }

    /// Sends a request to where redirects led last time, or to the file's own URL, and checks the
    /// validator.
    async fn ask(&self, ask: &Ask, known: &Facts) -> Result<Response, FetchError> {
        // A copy, as the lock must not be held while the server is waited for. Several threads may
        // follow the redirects at a time; the last of them is remembered.
        let remembered = self.target().clone();
        if let Some(target) = remembered {
            let response = self.client.send(ask, &target.url).await?;
            if !is_expired(response.status()) && !response.status().is_redirection() {
                self.check(&response, known, target.etag.as_deref())?;
                return Ok(response);
            }
            // Expired, or perhaps really gone: the file's own URL knows.
            *self.target() = None;
        }
        let answer = self.client.follow(ask, &self.url).await?;
        let status = answer.response.status();
        if status.is_success() {
            // Whatever its storage sends, the Hub has just said which content the URL stands for.
            if self.on_hub {
                let is = Facts {
                    size: answer.linked_size,
                    validator: self.facts(&answer).validator,
                    ..Facts::default()
                };
                compare(&self.shown, known, &is)?;
            }
            if let Some(url) = answer.target.clone() {
                let etag = text(answer.response.headers(), ETAG.as_str());
                *self.target() = Some(Target { url, etag });
            }
        }
        self.check(&answer.response, known, None)?;
        Ok(answer.response)
    }

    /// Fails if the file is no longer the one that is known.
    fn check(
        &self,
        response: &Response,
        known: &Facts,
        etag: Option<&str>,
    ) -> Result<(), FetchError> {
        let status = response.status();
        // The server has compared `If-Match` itself.
        if status == StatusCode::PRECONDITION_FAILED {
            return Err(FetchError::Changed {
                url: self.shown.clone(),
                what: "validator",
                was: known.validator.clone().unwrap_or_default(),
                is: "another".to_owned(),
            });
        }
        // The headers of an error describe the error; `refusal` reads them.
        if !status.is_success() {
            return Ok(());
        }
        // The storage's ETag is compared only with its own earlier one, as the Hub's is of another
        // kind.
        let (was, is) = if self.on_hub {
            (
                etag.map(str::to_owned),
                text(response.headers(), ETAG.as_str()),
            )
        } else {
            (known.validator.clone(), validator(response.headers()))
        };
        let facts = |validator| Facts {
            validator,
            ..Facts::default()
        };
        compare(&self.shown, &facts(was), &facts(is))
    }

    /// Returns the value of `If-Match`, where it means something to the server that has the file.
    fn precondition(&self, known: &Facts) -> Option<String> {
        known
            .validator
            .clone()
            .filter(|validator| !self.on_hub && is_strong(validator))
    }

    /// Locks what is remembered. It is replaced as a whole, so that a panic leaves no half of it.
    fn target(&self) -> std::sync::MutexGuard<'_, Option<Target>> {
        self.target.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the body of an answer, which fails when it is silent for too long.
    fn body(&self, response: Response) -> Body {
        let url = self.url.clone();
        let pieces = response
            .bytes_stream()
            .map_err(move |error| connection(&url, error.without_url()));
        within(
            self.client.timeouts.idle,
            self.shown.clone(),
            pieces.boxed(),
        )
    }

    /// Returns the error for an answer that is not what was asked for.
    fn wrong(&self, reason: impl Into<String>) -> FetchError {
        wrong(&self.url, reason)
    }
}

/// Returns whether a status is one by which servers say that a signature is too old.
fn is_expired(status: StatusCode) -> bool {
    matches!(status.as_u16(), 400 | 401 | 403 | 404 | 410)
}

/// Returns the strongest validator that a server names.
fn validator(headers: &HeaderMap) -> Option<String> {
    text(headers, ETAG.as_str())
        .or_else(|| text(headers, LAST_MODIFIED.as_str()).map(|date| format!("modified:{date}")))
}

/// Returns an ETag as the Hub's lists of files have it.
fn unquoted(etag: &str) -> String {
    etag.trim_start_matches("W/").trim_matches('"').to_owned()
}

/// Returns a header as a number.
fn number(headers: &HeaderMap, name: &reqwest::header::HeaderName) -> Option<u64> {
    text(headers, name.as_str()).and_then(|value| value.parse().ok())
}

/// Value of `Content-Range`: `bytes 5-9/100` is the range `5..10` of 100.
#[derive(Debug, PartialEq, Eq)]
struct ContentRange {
    start: u64,
    end: u64,
    total: Option<u64>,
}

impl ContentRange {
    /// Returns the range in the headers of an answer, if it has a valid one.
    fn of(headers: &HeaderMap) -> Option<Self> {
        Self::parse(&text(headers, CONTENT_RANGE.as_str())?)
    }

    /// Parses a value, which must be a range that is not empty and lies within its total.
    fn parse(value: &str) -> Option<Self> {
        let (range, total) = value.strip_prefix("bytes ")?.split_once('/')?;
        let (first, last) = range.split_once('-')?;
        let (start, last): (u64, u64) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        let total = match total.trim() {
            "*" => None,
            total => Some(total.parse().ok()?),
        };
        let end = last.checked_add(1)?;
        (start < end && total.is_none_or(|total| end <= total)).then_some(Self {
            start,
            end,
            total,
        })
    }
}

/// Returns the size in `Content-Range: bytes */100`, which comes with status 416.
fn unsatisfied_size(headers: &HeaderMap) -> Option<u64> {
    text(headers, CONTENT_RANGE.as_str())?
        .strip_prefix("bytes */")?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_ranges_are_read_strictly() {
        let check = |value: &str, expected: Option<(u64, u64, Option<u64>)>| {
            let expected = expected.map(|(start, end, total)| ContentRange { start, end, total });
            assert_eq!(ContentRange::parse(value), expected, "{value}");
        };
        check("bytes 5-9/100", Some((5, 10, Some(100))));
        check("bytes 0-0/*", Some((0, 1, None)));
        for bad in [
            "bytes 9-5/100",
            "bytes 5-100/100",
            "bytes 5-9",
            "5-9/100",
            "bytes a-9/100",
            "bytes 0-18446744073709551615/*",
            "bytes */9",
        ] {
            check(bad, None);
        }
    }
}
