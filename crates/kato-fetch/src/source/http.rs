//! A file on a web server, or on the Hub: every answer's head is checked before its body is believed.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::{StreamExt as _, TryStreamExt as _};
use reqwest::header::{
    ACCEPT_RANGES, CONTENT_LENGTH, CONTENT_RANGE, ETAG, HeaderMap, LAST_MODIFIED, TRANSFER_ENCODING,
};
use reqwest::{Response, StatusCode};
use url::Url;

use super::{Body, Facts, compare, is_strong, within};
use crate::FetchError;
use crate::client::{Ask, Client, Followed, connection, text, wrong};
use crate::location::redacted;

#[derive(Debug)]
pub(crate) struct HttpSource {
    client: Arc<Client>,
    url: Url,
    shown: String,
    /// On the Hub the first answer tells the file's validator, and what it redirects to has one of its own.
    on_hub: bool,
    target: Mutex<Option<Target>>,
}

/// Where redirects led last time, which spares them, until its signature expires.
#[derive(Debug, Clone)]
struct Target {
    url: Url,
    /// Of the content there.
    etag: Option<String>,
}

impl HttpSource {
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

    pub(crate) fn shown(&self) -> &str {
        &self.shown
    }

    pub(crate) async fn probe(&self) -> Result<Facts, FetchError> {
        let head = self.client.follow(&Ask::head(), &self.url).await?;
        let status = head.response.status();
        if self.on_hub && head.linked_size.is_some() && head.linked_etag.is_some() {
            // Said by the Hub itself; what the server behind it thinks of HEAD does not matter.
            let facts = self.facts(&head);
            return Ok(Facts {
                has_ranges: Some(true),
                ..facts
            });
        }
        // Signed URLs allow one method only, and some servers do not know HEAD.
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
            if facts.size.is_some() && facts.has_ranges.is_some() {
                return Ok(facts);
            }
        }
        self.probe_by_range().await
    }

    /// Asks for one byte, to see what the server makes of it.
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
                facts.has_ranges = Some(range.total.is_some());
            }
            StatusCode::OK => {
                facts.size = number(headers, &CONTENT_LENGTH);
                facts.has_ranges = Some(false);
            }
            StatusCode::RANGE_NOT_SATISFIABLE if unsatisfied_size(headers) == Some(0) => {
                facts.size = Some(0);
                facts.has_ranges = Some(true);
            }
            _ => return Err(self.client.refusal(&self.url, &answer.response)),
        }
        Ok(facts)
    }

    /// What an answer's head tells of the file, except for its size.
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
        }
    }

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
            StatusCode::OK => return Err(self.wrong("the whole file in place of a range")),
            StatusCode::RANGE_NOT_SATISFIABLE => {
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

    /// Asks where redirects led last time, or from the start; the validator is checked.
    async fn ask(&self, ask: &Ask, known: &Facts) -> Result<Response, FetchError> {
        let remembered = self.target().clone();
        if let Some(target) = remembered {
            let response = self.client.send(ask, &target.url).await?;
            if !is_expired(response.status()) && !response.status().is_redirection() {
                self.check(&response, known, target.etag.as_deref())?;
                return Ok(response);
            }
            *self.target() = None;
        }
        let answer = self.client.follow(ask, &self.url).await?;
        let status = answer.response.status();
        if status.is_success() {
            if self.on_hub {
                let is = Facts {
                    size: answer.linked_size,
                    validator: self.facts(&answer).validator,
                    has_ranges: None,
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

    fn check(
        &self,
        response: &Response,
        known: &Facts,
        etag: Option<&str>,
    ) -> Result<(), FetchError> {
        let status = response.status();
        if status == StatusCode::PRECONDITION_FAILED {
            return Err(FetchError::Changed {
                url: self.shown.clone(),
                what: "validator",
                was: known.validator.clone().unwrap_or_default(),
                is: "another".to_owned(),
            });
        }
        if !status.is_success() {
            return Ok(());
        }
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

    /// `If-Match`, where it means something to the server that has the file.
    fn precondition(&self, known: &Facts) -> Option<String> {
        known
            .validator
            .clone()
            .filter(|validator| !self.on_hub && is_strong(validator))
    }

    fn target(&self) -> std::sync::MutexGuard<'_, Option<Target>> {
        self.target.lock().unwrap_or_else(PoisonError::into_inner)
    }

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

    fn wrong(&self, reason: impl Into<String>) -> FetchError {
        wrong(&self.url, reason)
    }
}

/// How servers say that a signature is too old.
fn is_expired(status: StatusCode) -> bool {
    matches!(status.as_u16(), 400 | 401 | 403 | 404 | 410)
}

/// The strongest thing by which a server tells one content from another.
fn validator(headers: &HeaderMap) -> Option<String> {
    text(headers, ETAG.as_str())
        .or_else(|| text(headers, LAST_MODIFIED.as_str()).map(|date| format!("modified:{date}")))
}

fn unquoted(etag: &str) -> String {
    etag.trim_start_matches("W/").trim_matches('"').to_owned()
}

fn number(headers: &HeaderMap, name: &reqwest::header::HeaderName) -> Option<u64> {
    text(headers, name.as_str()).and_then(|value| value.parse().ok())
}

/// `Content-Range: bytes 5-9/100`, as the range `5..10` of 100.
#[derive(Debug, PartialEq, Eq)]
struct ContentRange {
    start: u64,
    end: u64,
    total: Option<u64>,
}

impl ContentRange {
    fn of(headers: &HeaderMap) -> Option<Self> {
        Self::parse(&text(headers, CONTENT_RANGE.as_str())?)
    }

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

/// The size in `Content-Range: bytes */100`, which comes with 416.
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
