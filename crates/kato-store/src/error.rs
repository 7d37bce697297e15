//! Errors of stores, by what the caller can do about them.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};

use kato_advice::{Advice, ErrorClass, ErrorKind};
use kato_model::PatternName;

use crate::Place;

/// The kinds of failures that the backend of a store may have, by what the caller can do about
/// them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StoreErrorKind {
    /// It did not do in time what it was asked to, and may do it later.
    Transient,
    /// It refused; trying again does not help.
    Refused,
    /// The settings of the store do not lead to a backend, such as an address that cannot be read.
    Misconfigured,
    /// Another writer has taken over the knowledge base, and this one may write no more.
    Fenced,
    /// Another program wrote into the knowledge base while a commit was in progress.
    Tampered,
    /// What is to be kept is larger than the store can hold.
    TooLarge,
}

impl StoreErrorKind {
    /// Returns what a caller of any library can do about it.
    #[must_use]
    pub const fn class(self) -> ErrorClass {
        match self {
            Self::Transient => ErrorClass::TryAgain,
            Self::Fenced | Self::Tampered => ErrorClass::Conflict,
            Self::Misconfigured => ErrorClass::Usage,
            Self::Refused | Self::TooLarge => ErrorClass::Other,
        }
    }

    /// Returns what happened at a place, and what to do next.
    fn sentence(self, place: &Place) -> String {
        match self {
            Self::Transient => format!(
                "{place} did not answer in time: what is committed is safe; see that it runs, then resume"
            ),
            Self::Refused => format!(
                "{place} refused what it was asked to do: mend the cause, trying again does not help"
            ),
            Self::Misconfigured => {
                format!("{place} cannot be used as it is given: mend the settings of the store")
            }
            Self::Fenced => format!(
                "another writer took over {place}: let only one of them train, then open it again"
            ),
            Self::Tampered => format!(
                "{place} was changed from outside: stop other writers, then restore it from a copy or train again"
            ),
            Self::TooLarge => {
                format!(
                    "something is larger than {place} can hold: learn shorter patterns, or less with each"
                )
            }
        }
    }
}

/// What is left of what is damaged, as far as that was looked at: by it an error tells the ways out, and
/// none that does not work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Rescue {
    /// It was not looked at: a read has found damage.
    Unknown,
    /// The commit before holds something, and no damage of it was found.
    Commit,
    /// There is no such commit, and some of the parts may be whole.
    Parts,
    /// Nothing can be saved: no manifest is whole, or no segment, or it is no knowledge base that has
    /// these.
    Nothing,
}

/// An error of a store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A knowledge base is already there, and creating one must not overwrite it.
    #[error("a knowledge base already exists at {place}: resume it, or choose another {}", place.choose("directory", "name for the run"))]
    Exists {
        /// The directory or address.
        place: Place,
    },
    /// There is no knowledge base to open.
    #[error("there is no knowledge base at {place}: check the {}, or train one into it", place.choose("directory", "address and the name of the run"))]
    Missing {
        /// The directory or address.
        place: Place,
    },
    /// The place holds something that is not a knowledge base's.
    #[error("{place} {}", place.choose("is not empty and holds no knowledge base: choose an empty or a new directory", "holds patterns that belong to no run, such as a KATO's: choose another name for the run"))]
    NotAKnowledgeBase {
        /// The directory or address.
        place: Place,
    },
    /// Another writer has the knowledge base open.
    #[error(
        "the knowledge base at {place} is in use by another writer: wait for it to end, or stop it"
    )]
    Locked {
        /// The directory or address.
        place: Place,
    },
    /// The knowledge base was opened for reading.
    #[error("the knowledge base at {place} is open for reading only: open it for writing to train")]
    ReadOnly {
        /// The directory or address.
        place: Place,
    },
    /// It was written by a version of the format that this version does not read.
    #[error(
        "{place} has format version {found}, and this version reads {supported}: use the matching release"
    )]
    Version {
        /// The file or address.
        place: Place,
        /// The version that was found.
        found: u64,
        /// The version that can be read.
        supported: u64,
    },
    /// A file, or a part of what a server holds, is not what was written to it. Nothing read from
    /// the damaged part was used.
    #[error("{place} is damaged: {reason}; {}restore it from a copy, or train again {}", by_salvage(place, *rescue), place.choose("into another directory", "under another name"))]
    Corrupt {
        /// The file or address.
        place: Place,
        /// The inconsistency that was found.
        reason: String,
        /// What is left.
        rescue: Rescue,
    },
    /// The store has no place for tombstones.
    #[error(
        "this store cannot retire patterns: keep the knowledge base in a directory, or forget the patterns"
    )]
    NoTombstones,
    /// A pattern that was to be added is retired or purged.
    #[error(
        "node {node} has retired pattern {pattern}: take it back with `kato retire --undo`, or leave the pattern out"
    )]
    Retired {
        /// The node.
        node: String,
        /// The pattern.
        pattern: PatternName,
    },
    /// Lessons that are to be taken back were not learned, or it cannot be told what is left without them.
    #[error(
        "node {node} cannot take back pattern {pattern}: {reason}; take back only what was learned, or train without it"
    )]
    NotLearned {
        /// The node.
        node: String,
        /// The pattern.
        pattern: PatternName,
        /// Why not.
        reason: &'static str,
    },
    /// The disk or the quota is full, or a limit on the size of files was reached. What was committed
    /// before is safe.
    #[error("{} while writing {}: everything committed is safe; {}", limit_of(source), path.display(), way_out_of(source))]
    Full {
        /// The file being written.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The operating system refused an operation on a file.
    #[error("failed to {action} {}", path.display())]
    Io {
        /// The operation that was tried, such as "open".
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The store has no such node.
    #[error("there is no node {node:?} here; the nodes are {}", known.join(", "))]
    UnknownNode {
        /// The name asked for.
        node: String,
        /// The names of the store's nodes.
        known: Vec<String>,
    },
    /// A batch, or lists of names, were made for another number of nodes.
    #[error("what is made for {found} nodes does not fit a store of {expected} nodes")]
    NodeCount {
        /// Number of nodes of what was passed.
        found: usize,
        /// Number of nodes of the store.
        expected: usize,
    },
    /// An emotive or affinity is infinite or not a number, which no file keeps.
    #[error("an emotive of pattern {name} is not a finite number: attach finite values")]
    NotFinite {
        /// The pattern.
        name: PatternName,
    },
    /// A record's name is not the SHA-1 of its content, or two stores disagree about a name.
    #[error("pattern {name} does not hold the content that its name says")]
    NameMismatch {
        /// The name.
        name: PatternName,
    },
    /// A staged batch was passed to a store that did not stage it.
    #[error("the staged batch belongs to another store")]
    ForeignBatch,
    /// What a store relies on failed, such as its server.
    ///
    /// It names the kind of the failure, which a caller acts on, and what to do next. The store's
    /// own error is the source, and can be downcast to its type.
    #[error("{}", kind.sentence(place))]
    Backend {
        /// The kind of the failure.
        kind: StoreErrorKind,
        /// The knowledge base, or what holds it.
        place: Place,
        /// The store's own error, which says what was tried and what happened.
        source: Box<dyn Error + Send + Sync>,
    },
}

/// Returns the way out by salvage, where there may be something to save.
const fn by_salvage(place: &Place, rescue: Rescue) -> &'static str {
    match (place, rescue) {
        (Place::Address(_), _) | (_, Rescue::Nothing) => "",
        _ => "save what is whole of the knowledge base, if anything is, with `kato salvage`, ",
    }
}

/// Returns what a write has met.
fn limit_of(full: &io::Error) -> &'static str {
    match ErrorKind::of_io(full.kind()) {
        ErrorKind::FileSizeLimit => "the limit on the size of files was reached",
        _ => "no space left",
    }
}

/// Returns what to do about it.
fn way_out_of(full: &io::Error) -> &'static str {
    match ErrorKind::of_io(full.kind()) {
        ErrorKind::FileSizeLimit => "raise the limit (`ulimit -f`)",
        _ => "free some space",
    }
}

impl StoreError {
    /// Creates an I/O error with what was tried; a full disk becomes an error of its own.
    pub(crate) fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
        let path = path.to_owned();
        // All three may end while the program runs, so that the operation can be repeated.
        // `FileTooLarge` is what a limit on the size of files (`ulimit -f`) causes.
        match source.kind() {
            StorageFull | QuotaExceeded | FileTooLarge => Self::Full { path, source },
            _ => Self::Io {
                action,
                path,
                source,
            },
        }
    }

    /// Creates the error for a damaged file of a knowledge base.
    pub(crate) fn corrupt(path: &Path, reason: impl Into<String>) -> Self {
        Self::corrupt_with(path, reason, Rescue::Unknown)
    }

    /// Creates the error for a damaged slice, of which nobody can save a part.
    pub(crate) fn corrupt_slice(path: &Path, reason: impl Into<String>) -> Self {
        Self::corrupt_with(path, reason, Rescue::Nothing)
    }

    /// Creates the error for a damaged file, with what is left beside it.
    pub(crate) fn corrupt_with(path: &Path, reason: impl Into<String>, rescue: Rescue) -> Self {
        Self::Corrupt {
            place: Place::from_path(path),
            reason: reason.into(),
            rescue,
        }
    }

    /// Creates an error of what a store relies on, by its kind, from the store's own error.
    ///
    /// ```
    /// use kato_store::{Place, StoreError, StoreErrorKind};
    ///
    /// let place = Place::from_address("shelf://attic/3");
    /// let error = StoreError::from_backend(StoreErrorKind::Transient, place, "nobody is in");
    /// assert!(error.is_transient());
    /// ```
    pub fn from_backend(
        kind: StoreErrorKind,
        place: Place,
        error: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        Self::Backend {
            kind,
            place,
            source: error.into(),
        }
    }

    /// Returns what to do about it, in names of this library, beyond what the text says.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # use kato_model::{LearnBatch, PatternName, batch::BatchSymbol};
    /// # use kato_store::PatternStore;
    /// use kato_store::EmbeddedStore;
    /// use serde_json::json;
    ///
    /// let store = EmbeddedStore::create(&dir, &["node0"], json!(null))?;
    /// # for commit in ["a", "b"] {
    /// #     let mut batch = LearnBatch::new(1);
    /// #     let symbol = batch.literal(commit);
    /// #     batch.learn(0, PatternName::of_events(&[[commit]]), [BatchSymbol::Literal(symbol)]);
    /// #     store.commit(vec![store.stage(batch.seal())?], json!(commit))?;
    /// # }
    /// // Two commits later:
    /// drop(store);
    /// for manifest in ["MANIFEST", "MANIFEST.twin"] {
    ///     std::fs::write(dir.path().join(manifest), "{")?;
    /// }
    /// let error = EmbeddedStore::open(&dir).unwrap_err();
    /// let advice = error.advice().expect("there is a commit before");
    /// assert!(advice.to_string().contains("`DamagePolicy::GoBack`"));
    ///
    /// // Without a whole manifest nothing can be saved.
    /// std::fs::write(dir.path().join("MANIFEST.previous"), "{")?;
    /// let error = EmbeddedStore::open(&dir).unwrap_err();
    /// assert!(error.advice().is_none() && !error.to_string().contains("salvage"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn advice(&self) -> Option<Advice> {
        match self {
            Self::Corrupt {
                place: Place::Path(_),
                rescue,
                ..
            } => match rescue {
                Rescue::Unknown => Some(Advice::new(&[
                    "go back to the commit before it with `DamagePolicy::GoBack`, if that is whole and holds something",
                ])),
                Rescue::Commit => Some(Advice::new(&[
                    "go back to the commit before it with `DamagePolicy::GoBack`",
                ])),
                Rescue::Parts | Rescue::Nothing => None,
            },
            _ => None,
        }
    }

    /// Returns what a caller can do about it.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        self.kind().class()
    }

    /// Returns what has happened, without its text.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Exists { .. } | Self::NotAKnowledgeBase { .. } => ErrorKind::Exists,
            Self::Locked { .. } => ErrorKind::Locked,
            Self::Version { .. } => ErrorKind::OtherVersion,
            Self::Full { source, .. } | Self::Io { source, .. } => ErrorKind::of_io(source.kind()),
            Self::Backend { kind, .. } => ErrorKind::of_class(kind.class()),
            Self::UnknownNode { .. } | Self::NoTombstones => ErrorKind::InvalidArgument,
            Self::Retired { .. } | Self::NotLearned { .. } => ErrorKind::Conflict,
            Self::Missing { .. } => ErrorKind::NotFound,
            Self::ReadOnly { .. } => ErrorKind::ReadOnly,
            Self::Corrupt { .. } | Self::NameMismatch { .. } => ErrorKind::Corrupt,
            Self::NodeCount { .. } | Self::NotFinite { .. } | Self::ForeignBatch => {
                ErrorKind::Other
            }
        }
    }

    /// Returns whether waiting and repeating the operation can help: a backend did not answer.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(
            self,
            Self::Backend {
                kind: StoreErrorKind::Transient,
                ..
            }
        )
    }

    /// Returns whether another writer has taken over the knowledge base.
    #[must_use]
    pub fn is_fenced(&self) -> bool {
        matches!(
            self,
            Self::Backend {
                kind: StoreErrorKind::Fenced,
                ..
            }
        )
    }

    /// Returns whether freeing disk space, or raising the limit on the size of files, and repeating
    /// the operation can help.
    #[must_use]
    pub fn is_full(&self) -> bool {
        matches!(self, Self::Full { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An error that no crate but a plug-in's own knows.
    #[derive(Debug, thiserror::Error)]
    #[error("shelf {number} is full")]
    struct ShelfError {
        number: u32,
    }

    #[test]
    fn advice_fits_directories_and_addresses() {
        let told = |place: Place| {
            [
                StoreError::Exists {
                    place: place.clone(),
                },
                StoreError::Missing {
                    place: place.clone(),
                },
                StoreError::NotAKnowledgeBase { place },
            ]
            .map(|error| error.to_string())
        };
        assert_eq!(
            told(Place::from_path("kb")),
            [
                "a knowledge base already exists at kb: resume it, or choose another directory",
                "there is no knowledge base at kb: check the directory, or train one into it",
                "kb is not empty and holds no knowledge base: choose an empty or a new directory",
            ]
        );
        let address = "shelf://attic/3";
        for text in told(Place::from_address(address)) {
            assert!(
                text.contains(address) && text.contains("name") && !text.contains("directory"),
                "{text}"
            );
        }
    }

    #[test]
    fn a_backend_maps_its_own_errors_to_kinds_and_gets_them_back() {
        let kinds = [
            (StoreErrorKind::Transient, "then resume"),
            (StoreErrorKind::Refused, "mend the cause"),
            (StoreErrorKind::Misconfigured, "mend the settings"),
            (StoreErrorKind::Fenced, "let only one of them train"),
            (StoreErrorKind::Tampered, "stop other writers"),
            (StoreErrorKind::TooLarge, "learn shorter patterns"),
        ];
        for (kind, advice) in kinds {
            let place = Place::from_address("shelf://attic/3");
            let error = StoreError::from_backend(kind, place, ShelfError { number: 3 });
            let text = error.to_string();
            assert!(
                text.contains(advice) && text.contains("shelf://attic/3"),
                "{text}"
            );
            assert_eq!(error.is_transient(), kind == StoreErrorKind::Transient);
            assert_eq!(error.is_fenced(), kind == StoreErrorKind::Fenced);
            assert_eq!(error.class(), kind.class());
            let source = error.source().unwrap();
            assert_eq!(source.to_string(), "shelf 3 is full");
            assert_eq!(source.downcast_ref::<ShelfError>().unwrap().number, 3);
        }
    }
}
