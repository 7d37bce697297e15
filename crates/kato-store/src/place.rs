//! The places where knowledge bases lie, as errors name them.

use std::fmt;
use std::path::{Path, PathBuf};

/// The place of a knowledge base, or of a part of one: on a disk, or with a server.
///
/// ```
/// use kato_store::Place;
///
/// let place = Place::from_address("mongodb://localhost:27017/wikitext_kato_rs");
/// assert_eq!(place.to_string(), "mongodb://localhost:27017/wikitext_kato_rs");
/// assert_eq!(place.path(), None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Place {
    /// A file or a directory.
    Path(PathBuf),
    /// An address at which a server holds it. It is shown to anybody: whoever makes it leaves
    /// credentials out.
    Address(String),
}

impl Place {
    /// Creates the place of a file or a directory.
    pub fn from_path(path: impl Into<PathBuf>) -> Self {
        Self::Path(path.into())
    }

    /// Creates the place of what a server holds, from an address without credentials.
    pub fn from_address(address: impl Into<String>) -> Self {
        Self::Address(address.into())
    }

    /// Returns the file or directory; `None` with a server.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Path(path) => Some(path),
            Self::Address(_) => None,
        }
    }

    /// Returns the advice that fits the place: that for a path, or that for an address.
    pub(crate) const fn choose<'a>(&self, for_path: &'a str, for_address: &'a str) -> &'a str {
        match self {
            Self::Path(_) => for_path,
            Self::Address(_) => for_address,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => fmt::Display::fmt(&path.display(), f),
            Self::Address(address) => f.write_str(address),
        }
    }
}
