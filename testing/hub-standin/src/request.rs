//! What was asked.

use std::io::{self, BufRead};

/// A request that was seen, for assertions.
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
    /// Which connection it came by, numbered from 0.
    pub connection: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) query: String,
    pub(crate) headers: Vec<(String, String)>,
}

impl Request {
    /// The next request of a connection; none when it ends.
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

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(header, _)| header == name);
        found.map(|(_, value)| value.as_str())
    }

    /// A parameter of the query, decoded.
    pub(crate) fn parameter(&self, name: &str) -> Option<String> {
        let mut pairs = url::form_urlencoded::parse(self.query.as_bytes());
        pairs
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.into_owned())
    }

    /// First byte and byte after the last one of a single range, for a file of `size` bytes.
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

    pub(crate) fn seen(&self, connection: u64) -> Seen {
        Seen {
            method: self.method.clone(),
            path: self.path.clone(),
            query: self.query.clone(),
            range: self.header("range").map(str::to_owned),
            has_authorization: self.header("authorization").is_some(),
            connection,
        }
    }
}

fn decoded(path: &str) -> String {
    // A plus is a plus in a path.
    let path = path.replace('+', "%2B");
    let mut pairs = url::form_urlencoded::parse(path.as_bytes());
    // A path holds neither `=` nor `&` that would be taken for a pair's, unless a test names its files so.
    pairs
        .next()
        .map_or_else(String::new, |(path, value)| match value.as_ref() {
            "" => path.into_owned(),
            value => format!("{path}={value}"),
        })
}
