//! Task that reads a file ahead.

use std::sync::Arc;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};

use super::pipe::Pipe;
use crate::cache::SEGMENT;
use crate::figures::add;
use crate::read::Opened;
use crate::retry::{Attempts, unless_cancelled};
use crate::{CancellationToken, FetchError};

/// Segments that are read at a time in a cached file.
const SEGMENTS_AHEAD: usize = 2;

/// Guard that ends the pipe even if the task is dropped, so that no thread waits for ever.
struct Ending(Arc<Pipe>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.end(Err(FetchError::Runtime { source: None }));
    }
}

/// Reads a file from `from` on, by the best way that its server offers, and ends the pipe.
pub(super) async fn run(
    opened: Arc<Opened>,
    pipe: Arc<Pipe>,
    cancel: CancellationToken,
    from: u64,
) {
    let ending = Ending(pipe);
    let pipe = &ending.0;
    let work = async {
        match opened.facts.size {
            Some(size) if opened.facts.has_ranges == Some(true) => {
                if opened.cached().is_some() {
                    by_segment(&opened, pipe, from, size).await
                } else {
                    by_range(&opened, pipe, from, size).await
                }
            }
            _ => from_the_start(&opened, pipe, from).await,
        }
    };
    let result = unless_cancelled(&cancel, work).await;
    pipe.end(result);
}

/// Reads through the cache.
async fn by_segment(
    opened: &Arc<Opened>,
    pipe: &Pipe,
    from: u64,
    size: u64,
) -> Result<(), FetchError> {
    // There is no segment behind the end, and an empty file has no last byte.
    if from >= size {
        return Ok(());
    }
    let segments = from / SEGMENT..=(size - 1) / SEGMENT;
    let mut read = stream::iter(segments)
        .map(|index| {
            let start = index * SEGMENT;
            let segment = Arc::clone(opened).segment(start..size.min(start + SEGMENT));
            async move { segment.await.map(|bytes| (start, bytes)) }
        })
        .buffered(SEGMENTS_AHEAD);
    while let Some((start, bytes)) = read.try_next().await? {
        // Only the first segment begins before `from`.
        let skip = usize::try_from(from.saturating_sub(start)).unwrap_or(usize::MAX);
        pipe.put(bytes.slice(skip.min(bytes.len())..)).await;
    }
    Ok(())
}

/// Reads one long answer, and another one from the byte where it broke.
async fn by_range(opened: &Opened, pipe: &Pipe, from: u64, size: u64) -> Result<(), FetchError> {
    let mut at = from;
    let mut attempts = Attempts::new(&opened.client.backoff);
    while at < size {
        match one_range(opened, pipe, &mut at, size, &mut attempts).await {
            Ok(()) => attempts.answered(),
            Err(error) => {
                attempts.again(error).await?;
                add(&opened.client.counters.retries, 1);
            }
        }
    }
    Ok(())
}

/// Requests the bytes from `at` on, once, and moves `at` behind those handed over.
async fn one_range(
    opened: &Opened,
    pipe: &Pipe,
    at: &mut u64,
    size: u64,
    attempts: &mut Attempts<'_>,
) -> Result<(), FetchError> {
    let start = *at;
    let (mut body, end) = {
        // Held only for the head of the answer: a stream that waits for its reader must not keep
        // other readers from the network.
        let _permit = opened.client.permit().await?;
        opened.source.range(&opened.facts, start, size).await?
    };
    while let Some(piece) = body.next().await {
        let piece = piece.map_err(|error| opened.cut(error, size - start, *at - start))?;
        let length = piece.len() as u64;
        if length > end - *at {
            return Err(opened.too_long(end - start));
        }
        add(&opened.client.counters.bytes_received, length);
        attempts.progressed(piece.len());
        pipe.put(piece).await;
        *at += length;
    }
    // An answer may end before the file does, where it says so: the next one goes on there.
    if *at < end {
        return Err(opened.truncated(size - start, *at - start));
    }
    Ok(())
}

/// Reads from the first byte, each time: the server cannot do better.
async fn from_the_start(opened: &Opened, pipe: &Pipe, from: u64) -> Result<(), FetchError> {
    let mut at = from;
    let mut attempts = Attempts::new(&opened.client.backoff);
    while let Err(error) = one_whole(opened, pipe, from, &mut at, &mut attempts).await {
        // The bytes handed over cannot be taken back, and those of the next answer may be of
        // another file. Before the first of them, trying again is safe.
        if at > from && opened.facts.validator.is_none() && error.is_transient() {
            return Err(FetchError::NotResumable {
                url: opened.source.shown().to_owned(),
                position: at,
                reason: "the server gives neither ranges nor a validator",
                source: Box::new(error),
            });
        }
        attempts.again(error).await?;
        add(&opened.client.counters.retries, 1);
    }
    Ok(())
}

/// Requests the whole file, once, and hands over what lies behind `at`.
async fn one_whole(
    opened: &Opened,
    pipe: &Pipe,
    from: u64,
    at: &mut u64,
    attempts: &mut Attempts<'_>,
) -> Result<(), FetchError> {
    let (mut body, announced) = {
        let _permit = opened.client.permit().await?;
        opened.source.whole(&opened.facts).await?
    };
    let expected = opened.facts.size.or(announced);
    let mut seen = 0_u64;
    while let Some(piece) = body.next().await {
        let mut piece = piece.map_err(|error| opened.cut(error, expected.unwrap_or(seen), seen))?;
        add(&opened.client.counters.bytes_received, piece.len() as u64);
        let end = seen + piece.len() as u64;
        if expected.is_some_and(|expected| end > expected) {
            return Err(opened.too_long(expected.unwrap_or_default()));
        }
        // Bytes before `at` were not asked for, or were handed over before the last fault.
        if end > *at {
            let known = usize::try_from(at.saturating_sub(seen)).unwrap_or(usize::MAX);
            let new = piece.split_off(known.min(piece.len()));
            attempts.progressed(new.len());
            pipe.put(new).await;
            *at = end;
        }
        seen = end;
    }
    match expected {
        Some(expected) if seen < expected => Err(opened.truncated(expected, seen)),
        // Of unknown size, and yet shorter than what an earlier answer had.
        None if *at > from && seen < *at => Err(FetchError::Changed {
            url: opened.source.shown().to_owned(),
            what: "size",
            was: format!("{at} or more"),
            is: seen.to_string(),
        }),
        _ => Ok(()),
    }
}
