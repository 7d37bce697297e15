//! Requests, and the record of them that tests look at.

use std::io::{self, BufRead};

/// Request that was received, for assertions.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Seen {
    /// `GET` or `HEAD`.
    pub method: String,
    /// Path, percent-decoded, without the query.
    pub path: String,
    /// The query as it was sent.
    pub query: String,
    /// The header `Range`.
    pub range: Option<String>,
    /// Whether there was an `Authorization`.
    pub has_authorization: bool,
    /// The header `Cookie`.
    pub cookie: Option<String>,
    /// The header `If-Match`.
    pub if_match: Option<String>,
    /// Number of the connection that it came by, from 0.
    pub connection: u64,
}

/// Request as it was parsed.
#[derive(Debug, Default)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) query: String,
    pub(crate) headers: Vec<(String, String)>,
}

impl Request {
    /// Reads the next request of a connection; returns `None` when that ends.
    pub(crate) fn read(from: &mut impl BufRead) -> io::Result<Option<Self>> {
        let mut line = String::new();
        if from.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let mut words = line.split_whitespace();
        let (Some(method), Some(target)) = (words.next(), words.next()) else {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "no request line",
            ));
        };
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let mut request = Self {
            method: method.to_owned(),
            path: decoded(path),
            query: query.to_owned(),
            headers: Vec::new(),
        };
        loop {
            let mut line = String::new();
            if from.read_line(&mut line)? == 0 {
                return Ok(None);
            }
            let line = line.trim_end();
            if line.is_empty() {
                return Ok(Some(request));
            }
            if let Some((name, value)) = line.split_once(':') {
                request
                    .headers
                    .push((name.to_ascii_lowercase(), value.trim().to_owned()));
            }
        }
    }

    /// Returns a header by its name in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(header, _)| header == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Returns a parameter of the query, decoded.
    pub(crate) fn parameter(&self, name: &str) -> Option<String> {
        let mut pairs = url::form_urlencoded::parse(self.query.as_bytes());
        pairs
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.into_owned())
    }

    /// Returns the first byte and the byte after the last one of a single range, for a file of
    /// `size` bytes; an error if the file has no such byte.
    pub(crate) fn range(&self, size: usize) -> Option<Result<(usize, usize), ()>> {
        let (first, last) = self
            .header("range")?
            .strip_prefix("bytes=")?
            .split_once('-')?;
        let first: usize = first.parse().ok()?;
        let end = match last {
            "" => size,
            last => last.parse::<usize>().ok()?.saturating_add(1).min(size),
        };
        Some(if first < end {
            Ok((first, end))
        } else {
            Err(())
        })
    }

    /// Returns the record of this request.
    pub(crate) fn seen(&self, connection: u64) -> Seen {
        Seen {
            method: self.method.clone(),
            path: self.path.clone(),
            query: self.query.clone(),
            range: self.header("range").map(str::to_owned),
            has_authorization: self.header("authorization").is_some(),
            cookie: self.header("cookie").map(str::to_owned),
            if_match: self.header("if-match").map(str::to_owned),
            connection,
        }
    }
}

/// Decodes the percent signs of a path.
fn decoded(path: &str) -> String {
    // The parser of forms reads a plus as a blank; in a path it is a plus.
    let path = path.replace('+', "%2B");
    let mut pairs = url::form_urlencoded::parse(path.as_bytes());
    // The parser splits at `=` and `&`. One `=` is put back; a path with more is not to be expected
    // in a test.
    pairs
        .next()
        .map_or_else(String::new, |(path, value)| match value.as_ref() {
            "" => path.into_owned(),
            value => format!("{path}={value}"),
        })
}
