//! The errors that this store has of its own: what a [`StoreError`] of it has for its source.

use std::error::Error as StdError;

use kato_model::PatternName;
use kato_store::{Place, StoreError, StoreErrorKind};

/// An error of a MongoDB store.
///
/// Methods return a [`StoreError`], whose variant [`Backend`](StoreError::Backend) says what to do
/// next and has this error as its source.
///
/// ```
/// use std::time::Duration;
///
/// use kato_mongodb::{Error, MongoStore};
/// use kato_store::StoreError;
///
/// let nobody = MongoStore::builder("mongodb://127.0.0.1:9", "wikitext".parse()?)
///     .with_patience(Duration::from_millis(100));
/// let Err(StoreError::Backend { source, .. }) = nobody.open() else {
///     unreachable!("nobody listens there");
/// };
/// assert!(matches!(source.downcast_ref::<Error>(), Some(Error::Unanswered { .. })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The server did not answer for as long as the store is patient.
    #[error("no answer when asked to {action}")]
    Unanswered {
        /// The operation that was tried, such as "commit".
        action: &'static str,
        /// The last failure, without credentials.
        source: Box<dyn StdError + Send + Sync>,
    },
    /// A commit is decided and not applied, and no writer is at work.
    #[error("no writer finishes the last commit: open the run for writing once")]
    Unfinished,
    /// The server refused; trying again does not help.
    #[error("failed to {action}")]
    Refused {
        /// The operation that was tried, such as "commit".
        action: &'static str,
        /// The answer of the server, without credentials.
        source: Box<dyn StdError + Send + Sync>,
    },
    /// The server's address cannot be read. It is not repeated here, because it may hold a
    /// password.
    #[error(
        "give mongodb://[user:password@]host[:port][/?options]; escape other characters of the password as %XX"
    )]
    Address,
    /// An index that does something else has the name of one of KATO's.
    #[error("failed to create an index: another index is named {name}: drop it")]
    OtherIndex {
        /// The name of the index.
        name: String,
    },
    /// Another writer holds the lease of the run.
    #[error("the lease of the run was taken over")]
    LeaseLost,
    /// Another program wrote into a document that a commit was about to change.
    #[error("the counts of {key:.60?} are neither those before nor those after")]
    Meddled {
        /// The key of the document: the name of a pattern or a symbol.
        key: String,
    },
    /// A pattern is larger than a document may be.
    #[error("pattern {name} takes {bytes} bytes, and a pattern may take {limit}")]
    TooLarge {
        /// The pattern.
        name: PatternName,
        /// Bytes that it takes, at most.
        bytes: u64,
        /// Bytes that a pattern may take.
        limit: u64,
    },
    /// A document would become larger than a document may be, with what it holds already. Nothing of the
    /// commit was applied, and the last one still holds.
    #[error(
        "{document} would take about {bytes} bytes, and a document may take {limit}; nothing was learned: keep less in it, or learn into a directory"
    )]
    Overgrown {
        /// What the document is of: a pattern, a symbol or a vector.
        document: String,
        /// Bytes that it would take, about.
        bytes: u64,
        /// Bytes that a document may take.
        limit: u64,
    },
}

impl Error {
    /// Returns the kind that callers of any store know it by.
    fn kind(&self) -> StoreErrorKind {
        match self {
            Self::Unanswered { .. } | Self::Unfinished => StoreErrorKind::Transient,
            Self::Refused { .. } | Self::OtherIndex { .. } => StoreErrorKind::Refused,
            Self::Address => StoreErrorKind::Misconfigured,
            Self::LeaseLost => StoreErrorKind::Fenced,
            Self::Meddled { .. } => StoreErrorKind::Tampered,
            Self::TooLarge { .. } | Self::Overgrown { .. } => StoreErrorKind::TooLarge,
        }
    }

    /// Returns the error of a store at a place.
    pub(crate) fn at(self, place: Place) -> StoreError {
        StoreError::from_backend(self.kind(), place, self)
    }
}

/// Returns the error of a temporary file.
pub(crate) fn temporary_file(source: std::io::Error) -> StoreError {
    StoreError::Io {
        action: "use a temporary file in",
        path: std::env::temp_dir(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_names_its_place_says_what_to_do_and_comes_back() {
        let place = "mongodb://localhost:27017/run_kato_rs";
        let source = || "ran away".into();
        let name = PatternName::of_events(&[["a"]]);
        let errors = [
            Error::Unanswered {
                action: "commit",
                source: source(),
            },
            Error::Unfinished,
            Error::Refused {
                action: "commit",
                source: source(),
            },
            Error::Address,
            Error::OtherIndex {
                name: "name_1".to_owned(),
            },
            Error::LeaseLost,
            Error::Meddled {
                key: "a".to_owned(),
            },
            Error::TooLarge {
                name,
                bytes: 2,
                limit: 1,
            },
            Error::Overgrown {
                document: "symbol \"a\"".to_owned(),
                bytes: 2,
                limit: 1,
            },
        ];
        for error in errors {
            let kind = error.kind();
            let cause = error.to_string();
            let error = error.at(Place::from_address(place));
            let text = error.to_string();
            assert!(text.contains(place), "{text}");
            assert!(text.contains(": "), "no advice: {text}");
            assert_eq!(error.is_transient(), kind == StoreErrorKind::Transient);
            let source = error.source().unwrap();
            assert_eq!(source.to_string(), cause);
            assert!(source.downcast_ref::<Error>().is_some());
        }
    }
}
