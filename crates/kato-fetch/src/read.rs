//! Reads of ranges of one file, through the cache or over the network, with retries.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt as _;
use tokio::task::{JoinSet, spawn_blocking};

use crate::cache::{Cache, SEGMENT};
use crate::client::Client;
use crate::figures::add;
use crate::retry::Attempts;
use crate::source::{Facts, Source, is_strong};
use crate::{FetchError, plan};

/// Parts of one read that are under way at a time.
const PARTS_AT_A_TIME: usize = 64;
/// Bytes that are reserved before any of them has arrived.
const RESERVED_BYTES: usize = 1 << 20;

/// Open file.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) client: Arc<Client>,
    pub(crate) cache: Option<Arc<Cache>>,
    pub(crate) source: Source,
    pub(crate) name: String,
    pub(crate) facts: Facts,
    /// Bytes that a stream may hold.
    pub(crate) read_ahead: usize,
}

impl Opened {
    /// Reads each of `ranges`, which lie in the file, from the cache or over the network, several
    /// at a time.
    pub(crate) async fn read(
        self: Arc<Self>,
        ranges: Vec<Range<u64>>,
    ) -> Result<Vec<Bytes>, FetchError> {
        let plan = match self.cached() {
            // The reader's check has made sure that the size is known.
            Some(_) => plan::segments(&ranges, SEGMENT, self.facts.size.unwrap_or_default()),
            None => plan::requests(&ranges),
        };
        let mut parts = JoinSet::new();
        let mut read = Vec::new();
        for (number, part) in plan.iter().cloned().enumerate() {
            // No more than can be under way: what a server announces decides how many there are.
            if parts.len() >= PARTS_AT_A_TIME
                && let Some(part) = parts.join_next().await
            {
                keep(part, &mut read)?;
            }
            let opened = Arc::clone(&self);
            // Numbered, because they finish in any order.
            parts.spawn(async move { opened.part(part).await.map(|bytes| (number, bytes)) });
        }
        while let Some(part) = parts.join_next().await {
            // An error ends the read: dropping the set aborts the other parts.
            keep(part, &mut read)?;
        }
        // Not by a place for each of them from the beginning: only what has arrived takes memory.
        read.sort_unstable_by_key(|(number, _)| *number);
        let read: Vec<_> = plan
            .into_iter()
            .zip(read)
            .map(|(range, (_, bytes))| (range, bytes))
            .collect();
        Ok(ranges
            .iter()
            .map(|range| plan::gather(&read, range))
            .collect())
    }

    /// Reads one request's bytes, or one segment's.
    async fn part(self: Arc<Self>, range: Range<u64>) -> Result<Bytes, FetchError> {
        if self.cached().is_some() {
            self.segment(range).await
        } else {
            self.fetch(range).await
        }
    }

    /// Reads a segment from the cache, or over the network into the cache.
    pub(crate) async fn segment(self: Arc<Self>, range: Range<u64>) -> Result<Bytes, FetchError> {
        let Some((cache, validator)) = self.cached() else {
            return self.fetch(range).await;
        };
        let key = Cache::key(&self.name, validator, range.start);
        let expected = length(&range);
        let (from, named) = (Arc::clone(cache), key.clone());
        let counters = &self.client.counters;
        // Reading a file would hold up one of the few threads that all transfers share.
        if let Ok(Some(bytes)) = spawn_blocking(move || from.read(&named, expected)).await {
            add(&counters.cache_hits, 1);
            add(&counters.cache_bytes, expected as u64);
            return Ok(bytes);
        }
        add(&counters.cache_misses, 1);
        let bytes = self.fetch(range).await?;
        let (to, kept) = (Arc::clone(cache), bytes.clone());
        // A segment that cannot be kept was read all the same.
        let _ = spawn_blocking(move || to.write(&key, &kept)).await;
        Ok(bytes)
    }

    /// Returns the cache and the validator, if the file can be cached.
    pub(crate) fn cached(&self) -> Option<(&Arc<Cache>, &str)> {
        let validator = self.facts.validator.as_deref()?;
        let cache = self.cache.as_ref()?;
        // Under a weak validator, a segment might be of another content.
        (self.facts.has_ranges == Some(true) && is_strong(validator)).then_some((cache, validator))
    }

    /// Reads `range`, which lies in the file, over the network.
    pub(crate) async fn fetch(&self, range: Range<u64>) -> Result<Bytes, FetchError> {
        // Kept over all attempts: each asks only for what is missing.
        let mut received = Vec::with_capacity(length(&range).min(RESERVED_BYTES));
        let mut attempts = Attempts::new(&self.client.backoff);
        while let Err(error) = self.attempt(&range, &mut received, &mut attempts).await {
            attempts.again(error).await?;
            add(&self.client.counters.retries, 1);
        }
        Ok(received.into())
    }

    /// Requests once what is missing in `received`.
    async fn attempt(
        &self,
        range: &Range<u64>,
        received: &mut Vec<u8>,
        attempts: &mut Attempts<'_>,
    ) -> Result<(), FetchError> {
        let expected = length(range);
        // The fault may have come behind the last byte, and an empty range cannot be asked for.
        if received.len() == expected {
            return Ok(());
        }
        let _permit = self.client.permit().await?;
        while received.len() < expected {
            let from = range.start + received.len() as u64;
            let (mut body, end) = self.source.range(&self.facts, from, range.end).await?;
            let given = length(&(range.start..end));
            while let Some(piece) = body.next().await {
                let piece = piece
                    .map_err(|error| self.cut(error, expected as u64, received.len() as u64))?;
                if piece.len() > given.saturating_sub(received.len()) {
                    // An answer that is too long is not the range asked for, so that none of its
                    // bytes can be trusted.
                    received.clear();
                    return Err(self.too_long(expected as u64));
                }
                add(&self.client.counters.bytes_received, piece.len() as u64);
                attempts.progressed(piece.len());
                received.extend_from_slice(&piece);
            }
            if received.len() < given {
                return Err(self.truncated(expected as u64, received.len() as u64));
            }
            // The server may have given less than was asked for, and said so: on with the rest.
            attempts.answered();
        }
        Ok(())
    }

    /// Returns the error for a body that broke before its end: a failed connection is one cut
    /// short, and a silence one that stalled.
    pub(crate) fn cut(&self, error: FetchError, expected: u64, received: u64) -> FetchError {
        match error {
            FetchError::Connection { source, .. } => FetchError::Truncated {
                url: self.source.shown().to_owned(),
                expected,
                received,
                attempts: 1,
                source: Some(source),
            },
            FetchError::Timeout { waited, .. } => FetchError::Stalled {
                url: self.source.shown().to_owned(),
                expected,
                received,
                waited,
                attempts: 1,
            },
            error => error,
        }
    }

    /// Returns the error for a body that ended too early.
    pub(crate) fn truncated(&self, expected: u64, received: u64) -> FetchError {
        FetchError::Truncated {
            url: self.source.shown().to_owned(),
            expected,
            received,
            attempts: 1,
            source: None,
        }
    }

    /// Returns the error for a body that did not end where it should.
    pub(crate) fn too_long(&self, expected: u64) -> FetchError {
        FetchError::WrongAnswer {
            url: self.source.shown().to_owned(),
            reason: format!("a body of more than the {expected} bytes asked for"),
            attempts: 1,
        }
    }
}

/// Returns the number of bytes of a range.
pub(crate) fn length(range: &Range<u64>) -> usize {
    usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(usize::MAX)
}

/// Adds a part to those that were read.
fn keep(
    part: Result<Result<(usize, Bytes), FetchError>, tokio::task::JoinError>,
    read: &mut Vec<(usize, Bytes)>,
) -> Result<(), FetchError> {
    read.push(part.map_err(|_| FetchError::Runtime { source: None })??);
    Ok(())
}
