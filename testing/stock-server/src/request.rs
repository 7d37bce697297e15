//! Requests, read from a connection as a whole before any part of them is carried out.

use std::io::{self, BufRead, Read, Write};

/// Longest body that is read. No test sends as much.
const MAX_BODY: u64 = 256 << 20;

/// Request that has arrived whole.
#[derive(Debug, Default)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// Segments of the path, decoded.
    pub(crate) path: Vec<String>,
    /// The path and query as they came.
    pub(crate) target: String,
    pub(crate) query: Vec<(String, String)>,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// Its number among all requests of the directory.
    pub(crate) number: u64,
    /// The process that it came to.
    pub(crate) process: usize,
}

impl Request {
    /// Reads the next request of a connection; returns `None` if that ends before a whole one.
    pub(crate) fn read(from: &mut impl BufRead, to: &mut impl Write) -> io::Result<Option<Self>> {
        let Some(line) = read_line(from)? else {
            return Ok(None);
        };
        let mut words = line.split_whitespace();
        let (Some(method), Some(target)) = (words.next(), words.next()) else {
            return Err(malformed("no request line"));
        };
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let segments = path.trim_matches('/').split('/');
        let pairs = query.split('&').filter(|pair| !pair.is_empty());
        let mut request = Self {
            method: method.to_owned(),
            path: segments.map(|segment| decoded(segment, false)).collect(),
            target: target.to_owned(),
            query: pairs
                .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
                .map(|(key, value)| (decoded(key, true), decoded(value, true)))
                .collect(),
            ..Self::default()
        };
        loop {
            let Some(line) = read_line(from)? else {
                return Ok(None);
            };
            if line.is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':') {
                let header = (name.to_ascii_lowercase(), value.trim().to_owned());
                request.headers.push(header);
            }
        }
        // Clients of large bodies wait for this before they send them.
        if request.says("expect", "100-continue") {
            to.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        Ok(request.read_body(from)?.then_some(request))
    }

    /// Reads the body, and returns whether it arrived whole.
    fn read_body(&mut self, from: &mut impl BufRead) -> io::Result<bool> {
        if self.says("transfer-encoding", "chunked") {
            loop {
                let Some(line) = read_line(from)? else {
                    return Ok(false);
                };
                let size = line.split(';').next().unwrap_or_default().trim();
                let size = u64::from_str_radix(size, 16).map_err(|_| malformed("no chunk size"))?;
                if !take(from, size, &mut self.body)? || read_line(from)?.is_none() {
                    return Ok(false);
                }
                // The chunk of none ends the body. Trailers are not expected.
                if size == 0 {
                    return Ok(true);
                }
            }
        }
        let length = self.header("content-length").unwrap_or("0").parse();
        let length = length.map_err(|_| malformed("no length"))?;
        take(from, length, &mut self.body)
    }

    /// Returns a header by its name in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(header, _)| header == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Returns whether a header has this value, in any case.
    pub(crate) fn says(&self, header: &str, value: &str) -> bool {
        let found = self.header(header);
        found.is_some_and(|found| found.eq_ignore_ascii_case(value))
    }

    /// Returns a parameter of the query.
    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        let found = self.query.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Returns the node that a request outside of sessions means.
    pub(crate) fn node_id(&self) -> String {
        let test = self.header("x-test-id").map(|id| match id {
            id if id.starts_with("test_") => id.to_owned(),
            id => format!("test_{id}"),
        });
        // In KATO's order: query, `x-test-id`, `x-node-id`, default.
        let named = self.parameter("node_id").map(str::to_owned).or(test);
        let named = named.or_else(|| self.header("x-node-id").map(str::to_owned));
        named.unwrap_or_else(|| "default_node".to_owned())
    }
}

/// Reads a line without its end; returns `None` at the end of the connection.
fn read_line(from: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    from.take(MAX_BODY).read_until(b'\n', &mut line)?;
    // A client that was killed has sent a part of a line. What it wanted is not known.
    if line.last() != Some(&b'\n') {
        return Ok(None);
    }
    let line = String::from_utf8(line).map_err(|_| malformed("no text"))?;
    Ok(Some(line.trim_end_matches(['\r', '\n']).to_owned()))
}

/// Reads this many bytes, and returns whether they arrived.
fn take(from: &mut impl BufRead, length: u64, to: &mut Vec<u8>) -> io::Result<bool> {
    if length > MAX_BODY {
        return Err(malformed("too long"));
    }
    Ok(from.take(length).read_to_end(to)? as u64 == length)
}

/// Returns the error for a request that is none.
fn malformed(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// Decodes percent signs, and in a query also plus signs.
fn decoded(text: &str, is_query: bool) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut idx = 0;
    while idx < bytes.len() {
        let hex = text.get(idx + 1..idx + 3);
        let hex = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match (bytes[idx], hex) {
            (b'%', Some(byte)) => {
                decoded.push(byte);
                idx += 2;
            }
            (b'+', _) if is_query => decoded.push(b' '),
            (byte, _) => decoded.push(byte),
        }
        idx += 1;
    }
    String::from_utf8_lossy(&decoded).into_owned()
}
