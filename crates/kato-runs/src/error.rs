//! The errors of operations on runs, by what the caller can do about them.

use std::error::Error as _;
use std::io;
use std::path::{Path, PathBuf};

use kato_advice::{ErrorClass, ErrorKind};
use kato_occurrences::OccurrencesError;
use kato_scheduler::TrainError;
use kato_store::{ExchangeError, StoreError};

use crate::Run;

/// The reason why an operation on runs was not done, or not to its end. What a training has committed and
/// a deletion has removed stays so, and where only the manifest could not be written, all else is done.
/// Otherwise, unless the message says more, everything is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunsError {
    /// No run has this name or id.
    #[error("there is no run {wanted:?}; {}", in_words(known))]
    Unknown {
        /// The name or id that was asked for.
        wanted: String,
        /// Names of the runs there are.
        known: Vec<String>,
    },
    /// Several runs are meant.
    #[error("{wanted:?} may be {}: say more of the id, or name its directory", matches.join(", "))]
    Ambiguous {
        /// The name or id that was asked for.
        wanted: String,
        /// The runs, each by name and id.
        matches: Vec<String>,
    },
    /// Another run has the name already.
    #[error("there is a run {name} already: choose another name, or delete that run")]
    NameTaken {
        /// The name.
        name: String,
    },
    /// Something is where a new run or an export would be.
    #[error("{} exists already and is not overwritten: choose another name", path.display())]
    Exists {
        /// The file or directory.
        path: PathBuf,
    },
    /// Somebody trains or changes the run.
    #[error("{} is in use{}: wait for that to end, or stop it", path.display(), by(*process))]
    InUse {
        /// The run's place, or that of a run or an export that is being made.
        path: PathBuf,
        /// The process that said it trains the run, if any did.
        process: Option<u32>,
    },
    /// This kind of run cannot be treated so.
    #[error("run {run} cannot be {action}: {reason}")]
    Unsupported {
        /// The run, as an error shows it.
        run: String,
        /// The operation that was asked for, as "renamed".
        action: &'static str,
        /// The reason, and the alternative.
        reason: &'static str,
    },
    /// There is no directory of runs.
    #[error("{} is no directory of runs: {reason}", path.display())]
    NoPlace {
        /// The directory.
        path: PathBuf,
        /// The reason.
        reason: &'static str,
    },
    /// The directory holds no exported run.
    #[error("{} holds no exported run: give a directory that an export wrote", path.display())]
    NoExport {
        /// The directory.
        path: PathBuf,
    },
    /// A file is not what was written, or not one of ours.
    #[error("{} is damaged or no file of ours: {reason}; restore it from a copy", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The inconsistency that was found.
        reason: String,
    },
    /// A file was written by another version.
    #[error("{} has format version {found}, and this version reads {supported}: use the matching release", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// The file's version.
        found: u64,
        /// The version that can be read.
        supported: u64,
    },
    /// The store does not fit what is to be imported.
    #[error("the exported run does not fit this store: {reason}")]
    Unsuitable {
        /// The reason.
        reason: String,
    },
    /// The operating system refused an operation.
    #[error("failed to {action} {}", path.display())]
    Io {
        /// The operation that was tried, such as "open".
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The knowledge base cannot be read or written.
    #[error("failed to use the knowledge base {}", path.display())]
    Store {
        /// The place of the knowledge base.
        path: PathBuf,
        /// The store's error.
        source: StoreError,
    },
    /// A run cannot be begun or opened.
    #[error(transparent)]
    Open(StoreError),
    /// A run was not trained to its end. What was committed is safe.
    #[error(transparent)]
    Train(#[from] TrainError),
    /// Files cannot be taken out of what a knowledge base has learned.
    #[error("nothing was forgotten: {reason}")]
    NotForgettable {
        /// Why not.
        reason: String,
    },
    /// The occurrences that have to go with files that are taken out cannot be moved, or somebody
    /// writes them.
    #[error("nothing was forgotten: the occurrences have to go with it")]
    Occurrences {
        /// Why they cannot.
        #[from]
        source: OccurrencesError,
    },
    /// Files were not taken out of what a knowledge base has learned, and its occurrences, which were moved aside
    /// for it, could not be moved back.
    #[error("the occurrences are in {} now, as they could not be moved back ({problem}): move them to {}", path.display(), to.display())]
    OccurrencesAside {
        /// Where they are.
        path: PathBuf,
        /// Where they belong.
        to: PathBuf,
        /// Why they could not be moved.
        problem: String,
        /// Why the files were not taken out.
        source: Box<Self>,
    },
    /// Files were taken out of what a knowledge base has learned, and its occurrences, which hold their text, are
    /// there yet.
    #[error("the files are forgotten, but occurrences that hold their text are left: remove {}", path.display())]
    OccurrencesLeft {
        /// Their directory.
        path: PathBuf,
        /// Why they could not be removed.
        source: OccurrencesError,
    },
    /// Patterns cannot be exported or imported.
    #[error("failed to transfer the patterns of {}", path.display())]
    Exchange {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: ExchangeError,
    },
}

impl RunsError {
    /// Returns what a caller can do about it.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        self.kind().class()
    }

    /// Returns what has happened, without its text.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::NameTaken { .. } | Self::Exists { .. } => ErrorKind::Exists,
            Self::InUse { .. } => ErrorKind::Locked,
            Self::Version { .. } => ErrorKind::OtherVersion,
            Self::Unsuitable { .. } => ErrorKind::OtherSettings,
            Self::Io { source, .. } => ErrorKind::of_io(source.kind()),
            Self::Store { source, .. } | Self::Open(source) => source.kind(),
            Self::Train(error) => error.kind(),
            Self::NotForgettable { .. } => ErrorKind::Conflict,
            Self::Occurrences { source } | Self::OccurrencesLeft { source, .. } => source.kind(),
            Self::Exchange { source, .. } => source.kind(),
            Self::OccurrencesAside { source, .. } => source.kind(),
            Self::Unknown { .. } | Self::NoPlace { .. } | Self::NoExport { .. } => {
                ErrorKind::NotFound
            }
            Self::Damaged { .. } => ErrorKind::Corrupt,
            Self::Ambiguous { .. } => ErrorKind::InvalidArgument,
            Self::Unsupported { .. } => ErrorKind::Unsupported,
        }
    }

    /// Returns a function that makes an error of the system's.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io {
            action,
            path: path.to_owned(),
            source,
        }
    }

    /// Returns a function that makes an error of a store's.
    pub(crate) fn store(path: &Path) -> impl FnOnce(StoreError) -> Self {
        move |source| Self::Store {
            path: path.to_owned(),
            source,
        }
    }

    /// Creates the error of a run that is not among those that there are.
    pub(crate) fn unknown(wanted: &str, runs: &[Run]) -> Self {
        let known = runs.iter().map(|run| run.manifest.name.to_string());
        Self::Unknown {
            wanted: wanted.to_owned(),
            known: known.collect(),
        }
    }

    /// Creates an error about a file that cannot be used.
    pub(crate) fn damaged(path: &Path, reason: impl Into<String>) -> Self {
        Self::Damaged {
            path: path.to_owned(),
            reason: reason.into(),
        }
    }
}

impl RunsError {
    /// Returns the message followed by those of its causes.
    pub(crate) fn with_causes(&self) -> String {
        let mut text = self.to_string();
        let mut cause = self.source();
        while let Some(error) = cause {
            text = format!("{text}: {error}");
            cause = error.source();
        }
        text
    }
}

/// Lists the runs there are, for a message.
fn in_words(known: &[String]) -> String {
    if known.is_empty() {
        "there are no runs here".to_owned()
    } else {
        format!("the runs are {}", known.join(", "))
    }
}

/// Names the process of a manifest, for a message.
fn by(process: Option<u32>) -> String {
    process.map_or_else(String::new, |process| {
        format!(" (its manifest names process {process})")
    })
}
