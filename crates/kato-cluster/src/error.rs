//! Errors, by what the caller can do about them.

use std::io;
use std::path::PathBuf;

use kato_advice::{ErrorClass, ErrorKind};
use kato_loader::LoadError;
use kato_scheduler::TrainError;
use kato_store::StoreError;

/// An error of a plan or of one of its commands.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClusterError {
    /// The object store did not do what it was asked to, after it was asked again where that may help.
    #[error("failed to {action} {key} in the object store")]
    ObjectStore {
        /// The operation that was tried, such as "read".
        action: &'static str,
        /// The object.
        key: String,
        /// The store's error.
        source: object_store::Error,
    },
    /// The address names no store that this build knows.
    #[error("{address} names no object store that this build can open: {reason}")]
    Address {
        /// The address.
        address: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The store overwrites what must be created once, so results could be counted twice.
    #[error(
        "the object store does not refuse to create an object twice: use one with conditional writes (If-None-Match), as S3, Google Cloud Storage, Azure and file systems have"
    )]
    NoConditionalWrites,
    /// There is no plan at the address.
    #[error("there is no plan here: make one with `plan` first, or check the address")]
    NotPlanned,
    /// Another plan is at the address.
    #[error("another plan is here already: choose an empty prefix of the store for a new one")]
    OtherPlan,
    /// The corpus was added with other settings, or the plan was extended otherwise meanwhile.
    #[error(
        "the plan has another extension already, of the same corpus with other settings or made at this moment: `status` lists the generations"
    )]
    OtherExtension,
    /// There is no such generation.
    #[error(
        "{name} names no generation: give its number, a tag, or eight or more of the first digits of its digest, as `status` lists them"
    )]
    UnknownGeneration {
        /// What was asked for.
        name: String,
    },
    /// The generation was not published.
    #[error("generation {generation} is not published: `publish` it first")]
    NotPublished {
        /// Its number.
        generation: u32,
    },
    /// The name cannot be a tag.
    #[error(
        "{name:?} cannot be a tag: letters, digits, `-`, `_` and, but for the first, `.`, which are no number, no digest and neither `last` nor `newest`"
    )]
    TagName {
        /// The name.
        name: String,
    },
    /// The tag names another generation.
    #[error("{name} is generation {generation} already, and stays it: choose another name")]
    TagTaken {
        /// The tag.
        name: String,
        /// Number of the generation that it names.
        generation: u32,
    },
    /// What the plan asks for cannot be planned.
    #[error("this cannot be planned: {reason}")]
    Unplannable {
        /// Why.
        reason: &'static str,
    },
    /// The learner has other settings than the plan.
    #[error("the plan has other settings:\n  {}", differences.join("\n  "))]
    OtherSettings {
        /// The differences, in words.
        differences: Vec<String>,
    },
    /// The plan has no such task, level or range.
    #[error("the plan has no {what} {number}: they are numbered from 0, and there are {count}")]
    Unknown {
        /// What was asked for.
        what: &'static str,
        /// Its number.
        number: u64,
        /// How many there are.
        count: u64,
    },
    /// Tasks, merges or ranges are not done that have to be.
    #[error("{}", missing(what, numbers, failures, *failed))]
    Unfinished {
        /// What is not done: "tasks", "merges" or "ranges".
        what: &'static str,
        /// The first of them, in words.
        numbers: Vec<String>,
        /// Tasks of them that have failed: the first of those.
        failures: Vec<crate::status::TaskFailure>,
        /// The number of tasks of them that have failed.
        failed: u64,
    },
    /// An object is not what its marker says, or cannot be read.
    #[error("{key} is damaged: {reason}; nothing of it was used: restore it from a copy")]
    Damaged {
        /// The object.
        key: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Two attempts at one piece of work came to different results.
    #[error(
        "{key} was done before, and with another result: the corpus has changed since it was planned, or a machine is broken; plan again on a corpus that stays"
    )]
    Disagrees {
        /// The marker.
        key: String,
    },
    /// The work was asked to stop before its end, or its runtime was shut down.
    #[error("it was stopped before its end, and nothing of it counts: run it again")]
    Stopped,
    /// The directory for the knowledge base holds another one.
    #[error("{} holds another knowledge base: choose another directory", path.display())]
    OtherKnowledge {
        /// The directory.
        path: PathBuf,
    },
    /// The corpus cannot be opened.
    #[error("failed to open the corpus")]
    Load(#[from] LoadError),
    /// A task cannot be learned.
    #[error("failed to learn a task")]
    Train(#[from] TrainError),
    /// A file of what was learned cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The operating system refused an operation on a file.
    #[error("failed to {action} {}", path.display())]
    Io {
        /// The operation that was tried.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl ClusterError {
    /// Returns what a caller can do about it.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        self.kind().class()
    }

    /// Returns what has happened, without its text.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::ObjectStore { source, .. } => of_object_store(source),
            // Another machine may be at it.
            Self::Unfinished { failed: 0, .. } => ErrorKind::Unavailable,
            Self::OtherPlan | Self::OtherExtension | Self::Disagrees { .. } => ErrorKind::Conflict,
            Self::TagTaken { .. } | Self::OtherKnowledge { .. } => ErrorKind::Exists,
            Self::OtherSettings { .. } => ErrorKind::OtherSettings,
            Self::Stopped => ErrorKind::Interrupted,
            Self::Load(error) => error.kind(),
            Self::Train(error) => error.kind(),
            Self::Store(error) => error.kind(),
            Self::Io { source, .. } => ErrorKind::of_io(source.kind()),
            Self::Address { .. }
            | Self::UnknownGeneration { .. }
            | Self::TagName { .. }
            | Self::Unplannable { .. }
            | Self::Unknown { .. } => ErrorKind::InvalidArgument,
            Self::NotPlanned | Self::NotPublished { .. } => ErrorKind::NotFound,
            Self::Damaged { .. } => ErrorKind::Corrupt,
            Self::NoConditionalWrites => ErrorKind::Unsupported,
            Self::Unfinished { .. } => ErrorKind::Other,
        }
    }

    /// Returns a function that makes an I/O error.
    pub(crate) fn io(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io {
            action,
            path,
            source,
        }
    }
}

/// Returns what has happened in an object store.
fn of_object_store(error: &object_store::Error) -> ErrorKind {
    use object_store::Error;
    match error {
        Error::NotFound { .. } => ErrorKind::NotFound,
        Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => ErrorKind::Denied,
        Error::Generic { store, .. } if *store == "LocalFileSystem" => ErrorKind::of_causes(error),
        // It was asked again before, so it may answer later.
        Error::Generic { .. } => ErrorKind::Unavailable,
        _ => ErrorKind::Other,
    }
}

/// Returns what is not done, and why as far as that is known.
fn missing(
    what: &str,
    numbers: &[String],
    failures: &[crate::status::TaskFailure],
    failed: u64,
) -> String {
    let mut text = format!("{what} are not done: {}", numbers.join(", "));
    for failure in failures {
        text += &format!("\n  {failure}");
    }
    let more = failed.saturating_sub(failures.len() as u64);
    if more > 0 {
        text += &format!("\n  and {more} more have failed");
    }
    text + match failures.iter().any(|failure| failure.given_up) {
        true => {
            "\nnothing is left out: mend what the errors name, plan again under an empty prefix if the corpus has to change for it, and run the tasks"
        }
        false => "\nrun them, then try again; nothing is left out",
    }
}
