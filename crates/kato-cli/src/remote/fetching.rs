//! Fetching of remote files, with what the environment says of endpoints and tokens.

use std::path::Path;

use anyhow::{Context, Result};
pub(crate) use kato_fetch::{FetchFigures, Fetcher, Listing, Location};
use kato_loader::StreamingDatasetLoaderBuilder;

/// Returns a fetcher of remote files, with a cache of so many bytes in a directory if there is to
/// be one.
pub(crate) fn fetcher(cache: Option<(&Path, u64)>) -> Result<Fetcher> {
    let mut fetcher = Fetcher::builder().with_env();
    if let Some((folder, bytes)) = cache {
        fetcher = fetcher.with_cache(folder, bytes);
    }
    fetcher.build().context("cannot prepare to fetch")
}

/// Gives a loader the fetcher for its remote files.
pub(crate) fn with_fetcher(
    builder: StreamingDatasetLoaderBuilder,
    fetcher: &Fetcher,
) -> StreamingDatasetLoaderBuilder {
    builder.with_fetcher(fetcher.clone())
}
