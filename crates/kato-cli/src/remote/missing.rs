//! What stands in for fetching where it was left out: no location is reached, and saying so is all there is to do.

use std::convert::Infallible;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

use anyhow::{Result, bail};
use kato_loader::StreamingDatasetLoaderBuilder;

/// What a user is told.
const MISSING: &str = "this build of kato reads local files alone: build it with `--features remote` to read from the Hub, web \
                       servers and object stores";

/// A place behind a network: none that this build knows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Location(Infallible);

impl Location {
    pub(crate) fn is_location(name: &str) -> bool {
        name.contains("://")
    }

    pub(crate) fn redacted(&self) -> String {
        match self.0 {}
    }
}

impl fmt::Display for Location {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {}
    }
}

impl FromStr for Location {
    type Err = anyhow::Error;

    fn from_str(_: &str) -> Result<Self> {
        bail!(MISSING)
    }
}

/// What would fetch: there is none.
#[derive(Debug, Clone)]
pub(crate) struct Fetcher(Infallible);

impl Fetcher {
    pub(crate) fn figures(&self) -> FetchFigures {
        match self.0 {}
    }

    pub(crate) fn list(&self, _: &Location) -> Result<Listing> {
        match self.0 {}
    }
}

/// What a location would consist of.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    pub(crate) revision: Option<String>,
    pub(crate) config: Option<String>,
    pub(crate) split: Option<String>,
    pub(crate) notes: Vec<String>,
}

/// What fetching would have taken.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FetchFigures {
    pub(crate) requests: u64,
    pub(crate) retries: u64,
    pub(crate) bytes_received: u64,
    pub(crate) cache_bytes: u64,
}

/// Refuses to fetch.
pub(crate) fn fetcher(_: Option<(&Path, u64)>) -> Result<Fetcher> {
    bail!(MISSING)
}

/// Would give a loader what fetches its files.
pub(crate) fn with_fetcher(
    _: StreamingDatasetLoaderBuilder,
    fetcher: &Fetcher,
) -> StreamingDatasetLoaderBuilder {
    match fetcher.0 {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_is_refused_with_what_to_do() {
        let error = "hf://me/corpus".parse::<Location>().unwrap_err();
        assert!(error.to_string().contains("--features remote"), "{error}");
        assert!(Location::is_location("https://example.org/a.txt"));
        assert!(!Location::is_location("corpus/*.txt"));
    }
}
