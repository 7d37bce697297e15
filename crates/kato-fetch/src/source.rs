//! Sources of a file's bytes: what can be asked of any server.

mod encoding;
mod http;
mod labels;
mod pace;
mod store;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};

pub(crate) use encoding::{Encoding, decoded};
pub(crate) use http::HttpSource;
pub(crate) use store::{StoreSource, Stores, facts};

use crate::FetchError;
use crate::options::{Timeouts, TransferLimits};
use pace::Pace;

/// Properties of a file, as far as they are known.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Facts {
    pub(crate) size: Option<u64>,
    pub(crate) validator: Option<String>,
    pub(crate) has_ranges: Option<bool>,
    /// Media type that the server says, in lower case and without parameters.
    pub(crate) content_type: Option<String>,
    /// Name that the server gives the file.
    pub(crate) served_name: Option<String>,
}

/// The body of an answer whose head was checked: it begins at the byte asked for.
pub(crate) type Body = BoxStream<'static, Result<Bytes, FetchError>>;

/// Web server or object store that has a file.
#[derive(Debug)]
pub(crate) enum Source {
    Http(HttpSource),
    Store(StoreSource),
}

impl Source {
    /// Asks for the facts, once.
    pub(crate) async fn probe(&self) -> Result<Facts, FetchError> {
        match self {
            Self::Http(source) => source.probe().await,
            Self::Store(source) => source.probe().await,
        }
    }

    /// Asks for the facts of a file that cannot be read by ranges, though it should, once.
    pub(crate) async fn probe_whole(&self) -> Result<Facts, FetchError> {
        match self {
            Self::Http(source) => source.probe_whole().await,
            Self::Store(source) => source.probe().await,
        }
    }

    /// Requests bytes `from..to` of a file that can be read by ranges, once. Returns also the end of
    /// the bytes that come, as a server may give fewer.
    pub(crate) async fn range(
        &self,
        facts: &Facts,
        from: u64,
        to: u64,
    ) -> Result<(Body, u64), FetchError> {
        match self {
            Self::Http(source) => source.range(facts, from, to).await,
            Self::Store(source) => source.range(facts, from, to).await,
        }
    }

    /// Requests the whole file, once; returns also how long it will be, if the server says so.
    pub(crate) async fn whole(&self, facts: &Facts) -> Result<(Body, Option<u64>), FetchError> {
        match self {
            Self::Http(source) => source.whole(facts).await,
            Self::Store(source) => source.whole(facts).await,
        }
    }

    /// Returns the address without secrets.
    pub(crate) fn shown(&self) -> &str {
        match self {
            Self::Http(source) => source.shown(),
            Self::Store(source) => source.shown(),
        }
    }
}

/// Returns the same body, which fails when its next piece takes longer than is allowed, or when its
/// pieces come too slowly.
pub(crate) fn within(
    timeouts: Timeouts,
    limits: TransferLimits,
    shown: String,
    body: Body,
) -> Body {
    let pace = Pace::new(timeouts, limits);
    let pieces = stream::try_unfold((body, shown, pace), move |mut state| async move {
        let (body, shown, pace) = &mut state;
        // The time runs only while a piece is waited for: a slow reader does not make a server
        // slow.
        let since = tokio::time::Instant::now();
        let next = tokio::time::timeout(timeouts.idle, body.next()).await;
        let piece = match next {
            Ok(None) => return Ok(None),
            Ok(Some(piece)) => piece?,
            Err(_) => {
                return Err(FetchError::Timeout {
                    url: shown.clone(),
                    waited: timeouts.idle,
                    attempts: 1,
                });
            }
        };
        pace.check(shown, piece.len(), since.elapsed())?;
        Ok(Some((piece, state)))
    });
    pieces.boxed()
}

/// Returns whether equal validators prove equal bytes.
pub(crate) fn is_strong(validator: &str) -> bool {
    // Weak ETags allow for contents that are merely equivalent (RFC 9110, 8.8.1), and dates for two
    // changes within a second.
    !validator.starts_with("W/") && !validator.starts_with("modified:")
}

/// Fails if a server says something else than what is known. What only one side knows is not
/// compared.
pub(crate) fn compare(shown: &str, known: &Facts, is: &Facts) -> Result<(), FetchError> {
    let changed = |what, was: String, is: String| {
        Err(FetchError::Changed {
            url: shown.to_owned(),
            what,
            was,
            is,
        })
    };
    if let (Some(was), Some(is)) = (&known.validator, &is.validator)
        && was != is
    {
        return changed("validator", was.clone(), is.clone());
    }
    if let (Some(was), Some(is)) = (known.size, is.size)
        && was != is
    {
        return changed("size", was.to_string(), is.to_string());
    }
    Ok(())
}
