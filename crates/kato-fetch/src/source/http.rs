//! Source for files on web servers and on the Hub. The head of every answer is checked before its
//! body is used.

mod headers;

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::StreamExt as _;
use reqwest::header::{ETAG, HeaderMap};
use reqwest::{Response, StatusCode};
use url::Url;

use self::headers::{
    ContentRange, claims_ranges, content_length, unquoted, unsatisfied_size, validator,
};
use super::encoding::is_chunked;
use super::{Body, Encoding, Facts, compare, decoded, is_strong, labels};
use crate::FetchError;
use crate::client::{Ask, Client, Followed, Target, encoded, is_whole, text, wrong};
use crate::location::redacted;
use crate::remote_file::end_of_path;

/// File on a web server or on the Hub.
#[derive(Debug)]
pub(crate) struct HttpSource {
    client: Arc<Client>,
    url: Url,
    shown: String,
    /// Whether the Hub itself has the file: then its own answer has the validator, and the storage
    /// that it redirects to has another one.
    on_hub: bool,
    remembered: Mutex<Option<Arc<Remembered>>>,
}

/// Destination of the last redirects. Asking there spares them, until the signature in its URL
/// expires.
#[derive(Debug)]
struct Remembered {
    target: Target,
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
            remembered: Mutex::new(None),
        }
    }

    /// Returns the address without secrets.
    pub(crate) fn shown(&self) -> &str {
        &self.shown
    }

    /// Asks for the properties of the file, once, by a request for its first byte. What the server
    /// would say to a HEAD is not believed: only what it does counts.
    ///
    /// It is a wrong answer where ranges should work and do not; if that is no accident,
    /// [`probe_whole`](Self::probe_whole) knows.
    pub(crate) async fn probe(&self) -> Result<Facts, FetchError> {
        let ask = Ask {
            range: Some((0, Some(1))),
            ..Ask::default()
        };
        let answer = self.client.follow(&ask, &self.origin()).await?;
        let facts = if self.on_hub && answer.linked_size.is_some() && answer.linked_etag.is_some() {
            // The Hub itself has said all there is to know; how its storage answers does not
            // matter.
            Facts {
                has_ranges: Some(true),
                ..self.facts(&answer)
            }
        } else {
            self.by_first_byte(answer).await?
        };
        self.client.believe(&self.shown, facts.size)?;
        Ok(facts)
    }

    /// Asks for the properties of the file, once, by a request for all of it, whose answer is not
    /// read: ranges are none, whatever the server says of them.
    pub(crate) async fn probe_whole(&self) -> Result<Facts, FetchError> {
        let answer = self.client.follow(&Ask::default(), &self.origin()).await?;
        if !is_all(&answer.response) {
            return Err(self.client.refusal(&self.url, &answer.response));
        }
        let facts = self.by_whole_answer(&answer)?;
        self.client.believe(&self.shown, facts.size)?;
        Ok(facts)
    }

    /// Returns the properties by the answer to a request for the first byte.
    async fn by_first_byte(&self, answer: Followed) -> Result<Facts, FetchError> {
        let status = answer.response.status();
        let headers = answer.response.headers();
        match status.as_u16() {
            // Not there, not allowed, or not now, for a whole file as for a part of it.
            401 | 404 | 410 | 408 | 425 | 429 | 502..=599 => {
                Err(self.client.refusal(&self.url, &answer.response))
            }
            // The server has no ranges, and has not said otherwise. Its answer is dropped unread.
            _ if is_whole(status) && !claims_ranges(headers) => self.by_whole_answer(&answer),
            206 if self.encoding(headers)?.is_none() => self.by_part(answer).await,
            // Some refuse ranges by a status that means something else.
            _ => Err(self.wrong(format!("status {status} in place of a range"))),
        }
    }

    /// Returns the properties by an answer that is said to be the first byte, if it is.
    async fn by_part(&self, answer: Followed) -> Result<Facts, FetchError> {
        let mut facts = self.facts(&answer);
        let range = ContentRange::of(answer.response.headers());
        let range = range
            .filter(|range| (range.start, range.end) == (0, 1))
            .ok_or_else(|| self.wrong("206 without the range asked for"))?;
        let mut body = self.body(answer.response, None);
        let mut received = 0;
        // One that is longer than its head says is dropped.
        while received <= 1
            && let Some(piece) = body.next().await
        {
            received += piece?.len();
        }
        if received != 1 {
            return Err(self.wrong("a range of another length than it says"));
        }
        facts.size = range.total;
        // Without the file's size, no range could be checked against it.
        facts.has_ranges = Some(range.total.is_some());
        Ok(facts)
    }

    /// Returns the properties by the answer with the whole file.
    fn by_whole_answer(&self, answer: &Followed) -> Result<Facts, FetchError> {
        let headers = answer.response.headers();
        let mut facts = self.facts(answer);
        // What is announced is the length of the encoded bytes.
        facts.size = match self.encoding(headers)? {
            Some(_) => None,
            None => facts.size.or_else(|| content_length(headers)),
        };
        // An empty file has no part that could be refused.
        facts.has_ranges = Some(facts.size == Some(0));
        Ok(facts)
    }

    /// Returns the encoding that was not asked for, if it can be read.
    fn encoding(&self, headers: &HeaderMap) -> Result<Option<Encoding>, FetchError> {
        let name = labels::served_name(headers, None).unwrap_or_else(|| end_of_path(&self.url));
        Encoding::of(headers, &name).map_err(|coding| encoded(&self.url, &coding))
    }

    /// Returns the file's own URL, to which no redirect has led.
    fn origin(&self) -> Target {
        Target::asked_for(self.url.clone())
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
        let target = answer.target.as_ref().map(|target| &target.url);
        Facts {
            size,
            validator,
            has_ranges: None,
            content_type: labels::content_type(headers),
            served_name: labels::served_name(headers, target),
        }
    }

    /// Requests bytes `from..to`, once, and checks that they are what is answered. Returns also
    /// where they end, as a server may give fewer.
    pub(crate) async fn range(
        &self,
        known: &Facts,
        from: u64,
        to: u64,
    ) -> Result<(Body, u64), FetchError> {
        let ask = Ask {
            range: Some((from, Some(to))),
            if_match: self.precondition(known),
        };
        let response = self.ask(&ask, known).await?;
        let headers = response.headers();
        match response.status() {
            StatusCode::PARTIAL_CONTENT => {}
            status if is_whole(status) => {
                // All of the file was asked for, in the form of a range.
                let is_all = from == 0 && known.size == Some(to);
                if is_all && content_length(headers) == Some(to) {
                    let encoding = self.encoding(headers)?;
                    if encoding.is_none() {
                        return Ok((self.body(response, None), to));
                    }
                }
                // Its body begins at the first byte of the file, not at `from`.
                return Err(self.wrong("the whole file in place of a range"));
            }
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
        if self.encoding(headers)?.is_some() {
            return Err(self.wrong("a range of an encoded form that was not asked for"));
        }
        let given = ContentRange::of(headers)
            .ok_or_else(|| self.wrong("206 without a valid Content-Range"))?;
        // HTTP allows a server to answer with another range (RFC 9110, 15.3.7), whose bytes must
        // not be taken for those asked for. One that is only shorter is a beginning.
        if given.start != from || given.end > to {
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
        if let Some(length) = content_length(headers)
            && length != given.end - from
        {
            return Err(self.wrong(format!(
                "{length} bytes announced for a range of {}",
                given.end - from
            )));
        }
        Ok((self.body(response, None), given.end))
    }

    /// Requests the whole file, once.
    pub(crate) async fn whole(&self, known: &Facts) -> Result<(Body, Option<u64>), FetchError> {
        let ask = Ask {
            if_match: self.precondition(known),
            ..Ask::default()
        };
        let response = self.ask(&ask, known).await?;
        if !is_all(&response) {
            return Err(self.client.refusal(&self.url, &response));
        }
        let headers = response.headers();
        let encoding = self.encoding(headers)?;
        let length = content_length(headers);
        let has_end = encoding.is_some_and(Encoding::has_end);
        // Then the end of the connection is the end of the body, whatever has ended it.
        if length.is_none() && !is_chunked(headers) && !has_end {
            return Err(FetchError::Unsupported {
                url: self.shown.clone(),
                reason:
                    "the server announces no length, so that a body cut short would look complete"
                        .to_owned(),
            });
        }
        // An encoded body has another length than the file.
        let length = length.filter(|_| encoding.is_none());
        let is = Facts {
            size: length,
            ..Facts::default()
        };
        compare(&self.shown, known, &is)?;
        Ok((self.body(response, encoding), length))
    }

    /// Sends a request to where redirects led last time, or to the file's own URL, and checks the
    /// validator.
    async fn ask(&self, ask: &Ask, known: &Facts) -> Result<Response, FetchError> {
        // A copy, as the lock must not be held while the server is waited for. Several threads may
        // follow the redirects at a time; the last of them is remembered.
        let remembered = self.remembered().clone();
        if let Some(remembered) = remembered {
            let response = self.client.send(ask, &remembered.target).await?;
            if !is_expired(response.status()) && !response.status().is_redirection() {
                self.check(&response, known, remembered.etag.as_deref())?;
                return Ok(response);
            }
            // Expired, or perhaps really gone: the file's own URL knows.
            *self.remembered() = None;
        }
        let answer = self.client.follow(ask, &self.origin()).await?;
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
            if let Some(target) = answer.target.clone() {
                let etag = text(answer.response.headers(), ETAG.as_str());
                *self.remembered() = Some(Arc::new(Remembered { target, etag }));
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
    fn remembered(&self) -> std::sync::MutexGuard<'_, Option<Arc<Remembered>>> {
        self.remembered
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the decoded body of an answer, which fails when it is silent for too long.
    fn body(&self, response: Response, encoding: Option<Encoding>) -> Body {
        let body = self.client.body(response, &self.url);
        match encoding {
            Some(encoding) => decoded(encoding, body, self.shown.clone()),
            None => body,
        }
    }

    /// Returns the error for an answer that is not what was asked for.
    fn wrong(&self, reason: impl Into<String>) -> FetchError {
        wrong(&self.url, reason)
    }
}

/// Returns whether an answer has all of the file: also one that calls itself a part.
fn is_all(response: &Response) -> bool {
    let is_all_parts = || {
        let range = ContentRange::of(response.headers());
        range.is_some_and(|range| range.start == 0 && range.total == Some(range.end))
    };
    is_whole(response.status())
        || (response.status() == StatusCode::PARTIAL_CONTENT && is_all_parts())
}

/// Returns whether a status is one by which servers say that a signature is too old.
fn is_expired(status: StatusCode) -> bool {
    matches!(status.as_u16(), 400 | 401 | 403 | 404 | 410)
}
