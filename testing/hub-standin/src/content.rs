//! Content that is served, and the ways of the servers that serve it.

use std::fmt::Write as _;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

/// Bytes with the names that their content gives them.
#[derive(Debug, Clone)]
pub(crate) struct Blob {
    pub(crate) bytes: Arc<[u8]>,
    pub(crate) sha256: String,
    /// Stand-in for Git's name of the object.
    pub(crate) oid: String,
}

impl Blob {
    /// Creates a blob, hashing its bytes.
    pub(crate) fn new(bytes: impl Into<Vec<u8>>) -> Self {
        let bytes: Arc<[u8]> = bytes.into().into();
        let sha256 = sha256(&bytes);
        // Git would hash a header as well; here any function of the content will do that is not the
        // SHA-256.
        let mut oid: String = sha256.chars().rev().collect();
        oid.truncate(40);
        Self { bytes, sha256, oid }
    }
}

/// File of a plain web server, with that server's ways.
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
    /// Creates a file with ETag, length and ranges.
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

    /// Lets requests for ranges be answered with the whole file.
    #[must_use]
    pub fn without_ranges(mut self) -> Self {
        self.ranges = false;
        self
    }

    /// Leaves out the ETag, so that only a date is left.
    #[must_use]
    pub fn without_etag(mut self) -> Self {
        self.etag = None;
        self
    }

    /// Leaves out the ETag and the date.
    #[must_use]
    pub fn without_validator(mut self) -> Self {
        self.modified = false;
        self.without_etag()
    }

    /// Lets HEAD be answered with 405.
    #[must_use]
    pub fn without_head(mut self) -> Self {
        self.head = false;
        self
    }

    /// Leaves out the length: the body comes in chunks.
    #[must_use]
    pub fn chunked(mut self) -> Self {
        self.chunked = true;
        self
    }

    /// Leaves out the length and the chunks: the body ends with the connection.
    #[must_use]
    pub fn close_delimited(mut self) -> Self {
        self.close_delimited = true;
        self
    }
}

/// Returns the SHA-256 of some bytes in hexadecimal.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().fold(String::new(), |mut text, byte| {
        // Writing to a text cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
