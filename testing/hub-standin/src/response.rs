//! Answers, and how they are written or spoilt.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use crate::fault::Fault;
use crate::request::Request;

/// Date of the last change of every file.
const MODIFIED: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
/// Bytes that are sent between two pauses.
const SLOW_PIECE: usize = 16 << 10;

/// Answer before it is written.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Body,
}

/// Part of some bytes, and how its end is marked.
#[derive(Debug, Clone)]
pub(crate) struct Body {
    bytes: Arc<[u8]>,
    from: usize,
    to: usize,
    framing: Framing,
}

/// Way in which the end of a body is marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Framing {
    Length,
    Chunks,
    Close,
}

/// Ways of a server with a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Habits<'a> {
    pub(crate) etag: Option<&'a str>,
    pub(crate) modified: bool,
    pub(crate) ranges: bool,
    pub(crate) chunked: bool,
    pub(crate) close_delimited: bool,
}

impl<'a> Habits<'a> {
    /// Creates those of a good server.
    pub(crate) const fn good(etag: &'a str) -> Self {
        Self {
            etag: Some(etag),
            modified: true,
            ranges: true,
            chunked: false,
            close_delimited: false,
        }
    }
}

impl Response {
    /// Creates an answer with a text as its body.
    pub(crate) fn text(status: u16, text: impl Into<String>) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: Body::whole(text.into().into_bytes().into()),
        }
    }

    /// Adds a header.
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// Creates the answer for a file, or for the range of it that was asked for.
    pub(crate) fn file(
        request: &Request,
        bytes: &Arc<[u8]>,
        habits: Habits<'_>,
        fault: Option<&Fault>,
    ) -> Self {
        let etag = match fault {
            Some(Fault::OtherEtag) => Some("\"another\""),
            _ => habits.etag,
        };
        // A precondition comes before a range, as HTTP wants it (RFC 9110, 13.2.2).
        if let (Some(wanted), Some(etag)) = (request.header("if-match"), etag)
            && wanted != etag
        {
            return Self::text(412, "the file is another one");
        }
        let size = bytes.len();
        let ranges = habits.ranges && fault != Some(&Fault::WholeFile);
        let mut response = match request.range(size).filter(|_| ranges) {
            Some(Err(())) => {
                return Self::text(416, "").with("Content-Range", format!("bytes */{size}"));
            }
            Some(Ok((from, to))) => {
                let shift = usize::from(fault == Some(&Fault::WrongRange));
                let (from, to) = (from + shift, (to + shift).min(size));
                let mut body = Body::whole(Arc::clone(bytes));
                // A range at the end has nothing left when it is shifted.
                (body.from, body.to) = (from.min(to), to);
                let range = format!("bytes {from}-{}/{size}", to.saturating_sub(1));
                Self {
                    status: 206,
                    headers: vec![("Content-Range", range)],
                    body,
                }
            }
            None => Self {
                status: 200,
                headers: Vec::new(),
                body: Body::whole(Arc::clone(bytes)),
            },
        };
        if habits.chunked || matches!(fault, Some(Fault::ShortChunks(_))) {
            response.body.framing = Framing::Chunks;
        } else if habits.close_delimited {
            response.body.framing = Framing::Close;
        }
        if let Some(etag) = etag {
            response = response.with("ETag", etag);
        }
        if habits.modified {
            response = response.with("Last-Modified", MODIFIED);
        }
        if habits.ranges {
            response = response.with("Accept-Ranges", "bytes");
        }
        response
    }

    /// Writes the answer, and returns whether the connection may be used again.
    pub(crate) fn write(
        self,
        request: &Request,
        fault: Option<&Fault>,
        to: &mut impl Write,
    ) -> io::Result<Next> {
        let bytes = &self.body.bytes[self.body.from..self.body.to];
        let mut head = format!("HTTP/1.1 {} {}\r\n", self.status, reason(self.status));
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        match self.body.framing {
            Framing::Length => head.push_str(&format!("Content-Length: {}\r\n", bytes.len())),
            Framing::Chunks => head.push_str("Transfer-Encoding: chunked\r\n"),
            Framing::Close => head.push_str("Connection: close\r\n"),
        }
        head.push_str("\r\n");
        to.write_all(head.as_bytes())?;
        // A HEAD has the head of the GET, its length included, and no body.
        if request.method == "HEAD" {
            return Ok(Next::Request);
        }
        let limit = match fault {
            Some(Fault::ResetAfterHead) => Some(0),
            Some(Fault::Truncate(n) | Fault::StallAfter(n)) => Some(*n),
            _ => None,
        };
        // The head has announced the whole body already, so that the client sees a body cut short.
        if let Some(limit) = limit.filter(|limit| *limit < bytes.len()) {
            self.body.write(&bytes[..limit], to)?;
            to.flush()?;
            return Ok(match fault {
                Some(Fault::StallAfter(_)) => Next::Stall,
                _ => Next::Close,
            });
        }
        let bytes = match fault {
            Some(Fault::ShortChunks(n)) => &bytes[..(*n).min(bytes.len())],
            _ => bytes,
        };
        match fault {
            Some(Fault::Slow(pause)) => self.body.write_slowly(bytes, *pause, to)?,
            _ => self.body.write(bytes, to)?,
        }
        if self.body.framing == Framing::Chunks {
            to.write_all(b"0\r\n\r\n")?;
        }
        to.flush()?;
        Ok(match self.body.framing {
            Framing::Close => Next::Close,
            Framing::Length | Framing::Chunks => Next::Request,
        })
    }
}

/// State of a connection after an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    Request,
    Close,
    Stall,
}

impl Body {
    /// Creates a body of all of the bytes.
    fn whole(bytes: Arc<[u8]>) -> Self {
        let to = bytes.len();
        Self {
            bytes,
            from: 0,
            to,
            framing: Framing::Length,
        }
    }

    /// Writes bytes, as one chunk if the body has chunks.
    fn write(&self, bytes: &[u8], to: &mut impl Write) -> io::Result<()> {
        // An empty chunk would end the body.
        if self.framing == Framing::Chunks && !bytes.is_empty() {
            write!(to, "{:x}\r\n", bytes.len())?;
            to.write_all(bytes)?;
            return to.write_all(b"\r\n");
        }
        to.write_all(bytes)
    }

    /// Writes bytes in pieces, with a pause after each.
    fn write_slowly(&self, bytes: &[u8], pause: Duration, to: &mut impl Write) -> io::Result<()> {
        for piece in bytes.chunks(SLOW_PIECE) {
            self.write(piece, to)?;
            to.flush()?;
            std::thread::sleep(pause);
        }
        Ok(())
    }
}

/// Returns the reason phrase of a status, which no client depends on.
const fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        206 => "Partial Content",
        300..=399 => "Redirect",
        _ => "Error",
    }
}
