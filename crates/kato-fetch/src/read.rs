//! One range of one file, whatever happens on the way.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt as _;
use tokio::task::{JoinSet, spawn_blocking};

use crate::FetchError;
use crate::cache::{Cache, SEGMENT};
use crate::client::Client;
use crate::figures::add;
use crate::plan;
use crate::retry::Attempts;
use crate::source::{Facts, Source, is_strong};

/// An opened file.
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
    /// The bytes of each of `ranges`, which lie in the file: from the cache, or over the network, several at a time.
    pub(crate) async fn read(
        self: Arc<Self>,
        ranges: Vec<Range<u64>>,
    ) -> Result<Vec<Bytes>, FetchError> {
        let plan = match self.cached() {
            Some(_) => plan::segments(&ranges, SEGMENT, self.facts.size.unwrap_or_default()),
            None => plan::requests(&ranges),
        };
        let mut parts = JoinSet::new();
        for (number, part) in plan.iter().cloned().enumerate() {
            let opened = Arc::clone(&self);
            parts.spawn(async move { opened.part(part).await.map(|bytes| (number, bytes)) });
        }
        let mut read = vec![Bytes::new(); plan.len()];
        while let Some(part) = parts.join_next().await {
            // Dropping the set ends the others.
            let (number, bytes) = part.map_err(|_| FetchError::Runtime { source: None })??;
            read[number] = bytes;
        }
        let read: Vec<_> = plan.into_iter().zip(read).collect();
        Ok(ranges
            .iter()
            .map(|range| plan::gather(&read, range))
            .collect())
    }

    /// One request's bytes, or one segment's.
    async fn part(self: Arc<Self>, range: Range<u64>) -> Result<Bytes, FetchError> {
        if self.cached().is_some() {
            self.segment(range).await
        } else {
            self.fetch(range).await
        }
    }

    /// A segment, from the cache if it is there, and there afterwards.
    pub(crate) async fn segment(self: Arc<Self>, range: Range<u64>) -> Result<Bytes, FetchError> {
        let Some((cache, validator)) = self.cached() else {
            return self.fetch(range).await;
        };
        let key = Cache::key(&self.name, validator, range.start);
        let expected = length(&range);
        let (from, named) = (Arc::clone(cache), key.clone());
        let counters = &self.client.counters;
        if let Ok(Some(bytes)) = spawn_blocking(move || from.read(&named, expected)).await {
            add(&counters.cache_hits, 1);
            add(&counters.cache_bytes, expected as u64);
            return Ok(bytes);
        }
        add(&counters.cache_misses, 1);
        let bytes = self.fetch(range).await?;
        let (to, kept) = (Arc::clone(cache), bytes.clone());
        // Failing to keep it is no failure to read it.
        let _ = spawn_blocking(move || to.write(&key, &kept)).await;
        Ok(bytes)
    }

    /// The cache, for a file whose content it can tell from any other.
    pub(crate) fn cached(&self) -> Option<(&Arc<Cache>, &str)> {
        let validator = self.facts.validator.as_deref()?;
        let cache = self.cache.as_ref()?;
        (self.facts.has_ranges == Some(true) && is_strong(validator)).then_some((cache, validator))
    }

    /// The bytes of `range`, which lies in the file, over the network.
    pub(crate) async fn fetch(&self, range: Range<u64>) -> Result<Bytes, FetchError> {
        let mut received = Vec::with_capacity(length(&range));
        let mut attempts = Attempts::new(&self.client.retry);
        while let Err(error) = self.attempt(&range, &mut received, &mut attempts).await {
            attempts.again(error).await?;
            add(&self.client.counters.retries, 1);
        }
        Ok(received.into())
    }

    /// Asks for what is missing in `received`.
    async fn attempt(
        &self,
        range: &Range<u64>,
        received: &mut Vec<u8>,
        attempts: &mut Attempts<'_>,
    ) -> Result<(), FetchError> {
        let expected = length(range);
        if received.len() == expected {
            return Ok(());
        }
        let _permit = self.client.permit().await?;
        let from = range.start + received.len() as u64;
        let mut body = self.source.range(&self.facts, from, range.end).await?;
        while let Some(piece) = body.next().await {
            let piece =
                piece.map_err(|error| self.cut(error, expected as u64, received.len() as u64))?;
            if piece.len() > expected - received.len() {
                received.clear();
                return Err(self.too_long(expected as u64));
            }
            add(&self.client.counters.bytes_received, piece.len() as u64);
            attempts.progressed(piece.len());
            received.extend_from_slice(&piece);
        }
        if received.len() < expected {
            return Err(self.truncated(expected as u64, received.len() as u64));
        }
        Ok(())
    }

    /// A body that broke before its end is a body cut short, unless it was only silent.
    pub(crate) fn cut(&self, error: FetchError, expected: u64, received: u64) -> FetchError {
        match error {
            FetchError::Connection { source, .. } => FetchError::Truncated {
                url: self.source.shown().to_owned(),
                expected,
                received,
                attempts: 1,
                source: Some(source),
            },
            error => error,
        }
    }

    pub(crate) fn truncated(&self, expected: u64, received: u64) -> FetchError {
        FetchError::Truncated {
            url: self.source.shown().to_owned(),
            expected,
            received,
            attempts: 1,
            source: None,
        }
    }

    pub(crate) fn too_long(&self, expected: u64) -> FetchError {
        FetchError::WrongAnswer {
            url: self.source.shown().to_owned(),
            reason: format!("a body of more than the {expected} bytes asked for"),
            attempts: 1,
        }
    }
}

pub(crate) fn length(range: &Range<u64>) -> usize {
    usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(usize::MAX)
}
