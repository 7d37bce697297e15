//! The stand-in for fetching in builds without it: no location is ever reached, and saying so is
//! all that there is to do.

use std::convert::Infallible;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

use anyhow::{Result, bail};
use kato_loader::StreamingDatasetLoaderBuilder;

/// Text of the error, with what to build instead.
const MISSING: &str = "this build of kato reads local files alone: build it with `--features remote` to read from the Hub, web \
                       servers and object stores";

/// A location behind a network, of which this build has none.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Location(Infallible);

impl Location {
    /// Returns whether a name is that of a location, which a local build only has to recognise.
    pub(crate) fn is_location(name: &str) -> bool {
        name.contains("://")
    }

    /// Returns the location without secrets.
    pub(crate) fn redacted(&self) -> String {
        // No value of the type exists, so this cannot be reached, and the compiler knows it.
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

/// A fetcher, of which this build has none.
#[derive(Debug, Clone)]
pub(crate) struct Fetcher(Infallible);

impl Fetcher {
    /// Returns what fetching has taken.
    pub(crate) fn figures(&self) -> FetchFigures {
        match self.0 {}
    }

    /// Returns what a location consists of.
    pub(crate) fn list(&self, _: &Location) -> Result<Listing> {
        match self.0 {}
    }
}

/// The parts of a location; empty here.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    pub(crate) revision: Option<String>,
    pub(crate) config: Option<String>,
    pub(crate) split: Option<String>,
    pub(crate) notes: Vec<String>,
}

/// The cost of fetching; never made here.
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

/// Gives a loader the fetcher for its remote files; never called, as there is no fetcher.
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
