//! Bytes that are served, and how.

use std::fmt::Write as _;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

/// Bytes with the names that their content gives them.
#[derive(Debug, Clone)]
pub(crate) struct Blob {
    pub(crate) bytes: Arc<[u8]>,
    pub(crate) sha256: String,
    /// Stands for Git's name of an object.
    pub(crate) oid: String,
}

impl Blob {
    pub(crate) fn new(bytes: impl Into<Vec<u8>>) -> Self {
        let bytes: Arc<[u8]> = bytes.into().into();
        let sha256 = sha256(&bytes);
        let mut oid: String = sha256.chars().rev().collect();
        oid.truncate(40);
        Self { bytes, sha256, oid }
    }
}

/// A file of a plain web server, with that server's habits.
#[derive(Debug, Clone)]
pub struct PlainFile {
    pub(crate) bytes: Arc<[u8]>,
    pub(crate) etag: Option<String>,
    pub(crate) modified: bool,
    pub(crate) ranges: bool,
    pub(crate) head: bool,
    pub(crate) chunked: bool,
    pub(crate) close_delimited: bool,
}

impl PlainFile {
    /// A file with ETag, length and ranges.
    #[must_use]
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        let bytes: Arc<[u8]> = bytes.into().into();
        let etag = Some(format!("\"{}\"", &sha256(&bytes)[..16]));
        Self {
            bytes,
            etag,
            modified: true,
            ranges: true,
            head: true,
            chunked: false,
            close_delimited: false,
        }
    }

    /// Ranges are not honoured.
    #[must_use]
    pub fn without_ranges(mut self) -> Self {
        self.ranges = false;
        self
    }

    /// No ETag, only a date.
    #[must_use]
    pub fn without_etag(mut self) -> Self {
        self.etag = None;
        self
    }

    /// Neither ETag nor date.
    #[must_use]
    pub fn without_validator(mut self) -> Self {
        self.modified = false;
        self.without_etag()
    }

    /// HEAD is answered with 405.
    #[must_use]
    pub fn without_head(mut self) -> Self {
        self.head = false;
        self
    }

    /// No length: the body comes in chunks.
    #[must_use]
    pub fn chunked(mut self) -> Self {
        self.chunked = true;
        self
    }

    /// No length and no chunks: the body ends with the connection.
    #[must_use]
    pub fn close_delimited(mut self) -> Self {
        self.close_delimited = true;
        self
    }
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().fold(String::new(), |mut text, byte| {
        // Writing to a text cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
