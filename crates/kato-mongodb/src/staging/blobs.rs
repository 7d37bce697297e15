//! The blobs that batches are staged as.

use kato_store::StoreError;
use serde::{Deserialize, Serialize};

use super::pattern_delta::PatternDelta;

/// Patterns and bytes of one blob, at most; a larger pattern has one alone.
const BLOB_PATTERNS: usize = 4096;
const BLOB_BYTES: u64 = 4 << 20;

/// A cutter of patterns into blobs.
#[derive(Default)]
pub(crate) struct Blobs {
    part: Vec<PatternDelta>,
    bytes: u64,
}

impl Blobs {
    /// Adds a pattern; returns a blob when one is full.
    pub(crate) fn push(&mut self, delta: PatternDelta) -> Result<Option<Vec<u8>>, StoreError> {
        let bytes = delta.document_bytes();
        let is_full = self.part.len() == BLOB_PATTERNS || self.bytes + bytes > BLOB_BYTES;
        let full = if is_full { self.finish()? } else { None };
        self.bytes += bytes;
        self.part.push(delta);
        Ok(full)
    }

    /// Returns the last blob, if anything is left for one.
    pub(crate) fn finish(&mut self) -> Result<Option<Vec<u8>>, StoreError> {
        let part = std::mem::take(&mut self.part);
        self.bytes = 0;
        if part.is_empty() {
            return Ok(None);
        }
        encode(&part).map(Some)
    }
}

/// Encodes anything as a blob.
pub(crate) fn encode<T: Serialize>(content: &T) -> Result<Vec<u8>, StoreError> {
    let failed = |source| StoreError::Io {
        action: "encode",
        path: "a batch".into(),
        source,
    };
    let plain =
        postcard::to_stdvec(content).map_err(|error| failed(std::io::Error::other(error)))?;
    // Names do not compress and texts do: the fastest level wins half.
    zstd::bulk::compress(&plain, 1).map_err(failed)
}

/// Decodes what [`encode`] made a blob of; `None` when it is no such blob.
pub(crate) fn decode<T: for<'de> Deserialize<'de>>(blob: &[u8]) -> Option<T> {
    let plain = zstd::stream::decode_all(blob).ok()?;
    postcard::from_bytes(&plain).ok()
}
