//! Sources behind a network: fetching in builds with the feature `remote`; in others the same
//! names, with an error that says what to build.

#[cfg(feature = "remote")]
mod fetching;
#[cfg(not(feature = "remote"))]
mod missing;

#[cfg(feature = "remote")]
pub(crate) use fetching::{FetchFigures, Fetcher, Listing, Location, fetcher, with_fetcher};
#[cfg(not(feature = "remote"))]
pub(crate) use missing::{FetchFigures, Fetcher, Listing, Location, fetcher, with_fetcher};
