//! Where a knowledge base lies, as a caller names it: a path, or an address with a scheme.

use std::path::{Path, PathBuf};

#[cfg(feature = "mongodb")]
use kato_mongodb::{MongoStore, MongoStoreBuilder};

use crate::Error;

/// A place that can be opened.
#[derive(Debug)]
pub(crate) enum Address {
    Directory(PathBuf),
    #[cfg(feature = "mongodb")]
    Mongodb(MongoStoreBuilder),
}

impl Address {
    /// Reads a path, or an address.
    pub(crate) fn of(place: &Path) -> Result<Self, Error> {
        let Some((scheme, rest)) = place.to_str().and_then(|text| text.split_once("://")) else {
            return Ok(Self::Directory(place.to_owned()));
        };
        // An address may hold a password, so errors name its scheme alone.
        let refused = |reason| Error::Address {
            scheme: scheme.to_owned(),
            reason,
        };
        match scheme {
            "file" => Ok(Self::Directory(rest.into())),
            #[cfg(feature = "mongodb")]
            "mongodb" | "mongodb+srv" => {
                let named = "it names no run: add `#` and the name of the run";
                let (uri, run) = rest.rsplit_once('#').ok_or_else(|| refused(named))?;
                let run = run.parse().map_err(|_| refused(named))?;
                let uri = format!("{scheme}://{uri}");
                Ok(Self::Mongodb(MongoStore::builder(uri, run)))
            }
            #[cfg(not(feature = "mongodb"))]
            "mongodb" | "mongodb+srv" => Err(refused("build with the feature `mongodb`")),
            "http" | "https" => Err(refused(
                "what a server knows is asked for at the server, with the feature `client`",
            )),
            // A directory may have any name.
            _ if place.exists() => Ok(Self::Directory(place.to_owned())),
            _ => Err(refused("give a directory, `file://` or `mongodb://`")),
        }
    }

    /// Returns the directory of a place that has one; `reason` says why no other will do.
    #[cfg_attr(
        not(feature = "mongodb"),
        expect(
            clippy::unnecessary_wraps,
            unused_variables,
            reason = "every place is one"
        )
    )]
    pub(crate) fn into_directory(self, reason: &'static str) -> Result<PathBuf, Error> {
        match self {
            Self::Directory(dir) => Ok(dir),
            #[cfg(feature = "mongodb")]
            Self::Mongodb(_) => Err(Error::Address {
                scheme: "mongodb".to_owned(),
                reason,
            }),
        }
    }
}
