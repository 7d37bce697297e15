//! The error of a run on a server, and what it means to the trainer.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};

use kato_advice::{Advice, ErrorClass};
use kato_client::{ClientError, KatoClient};
use kato_model::PatternName;
use kato_scheduler::backend::RetiredPattern;
use kato_scheduler::{BackendError, BackendErrorKind, TrainError};

/// The reason why a run on a server cannot be begun, opened or gone on with.
///
/// A run in progress ends with a [`TrainError`], made of this by `From`: that of
/// [`Train`](Self::Train), or a [`TrainError::Backend`] whose error downcasts to this type.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// The server does not answer at all.
    #[error("failed to reach {place}; start again, or resume, once it answers")]
    Unreachable {
        /// The server, without credentials.
        place: String,
        /// The error of the connection.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The nodes of the server cannot be taught.
    #[error("failed to teach node {node}: resume the run once the cause is mended")]
    Teach {
        /// The node, or the run where all of its nodes are meant.
        node: String,
        /// The error of the server or the connection, or what is wrong.
        source: Box<dyn Error + Send + Sync>,
    },
    /// A node knows more than it was taught.
    #[error(
        "node {node} knows more than it was taught: {}; another trainer has taught the same nodes, or a request that was given up acted \
         late: train into new nodes, under another name", differences.join(", ")
    )]
    Miscounted {
        /// The node.
        node: String,
        /// Some of the differences, in words.
        differences: Vec<String>,
    },
    /// A node does not know any more what it was taught.
    #[error(
        "node {node} has lost what it was taught: {}; its server was cleared or has lost data, as a KATO does whose Redis is restarted or \
         runs out of memory, since it keeps nothing unless it is told to: let Redis write to its disk and give it memory, then train into \
         new nodes", differences.join(", ")
    )]
    Lost {
        /// The node.
        node: String,
        /// Some of what is missing, in words.
        differences: Vec<String>,
    },
    /// The server died in the middle of a learn call, and holds a part of it only.
    #[error(
        "node {node} holds a part only of {} that its server died in the middle of, and no request mends that: pattern {}",
        match patterns.len() { 1 => "a learn call".to_owned(), n => format!("{n} learn calls") },
        patterns.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    )]
    Torn {
        /// The node.
        node: String,
        /// Their patterns.
        patterns: Vec<PatternName>,
    },
    /// A node does not learn a pattern any more, because somebody has retired it there.
    #[error(
        "{0}: have it un-retired on the server and resume, or begin a new run without these documents"
    )]
    Retired(RetiredPattern),
    /// A new run found a node that was taught before.
    #[error(
        "node {node} knows patterns that this run has not taught: resume the run that taught them, where its state is"
    )]
    TaughtBefore {
        /// The node.
        node: String,
    },
    /// Fewer documents are to be learned than the run has sent together.
    #[error(
        "the run has sent {expected} documents behind the first {position} together, and {found} of them are to be learned now: resume \
         without a limit on documents, or with one of at least {}", position + *expected as u64
    )]
    Cut {
        /// Documents in front of them.
        position: u64,
        /// Documents that were sent together.
        expected: usize,
        /// Documents that there are now.
        found: usize,
    },
    /// The state of the run cannot be read or kept.
    #[error("failed to {action} the run's state {}", path.display())]
    State {
        /// The verb of what was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error, or what is wrong with the content.
        source: io::Error,
    },
    /// Somebody else has the state, and trains the run, in another process or in this one.
    #[error(
        "{} is the state of a run that is being trained already, by another process or by this one: wait for that, or give this run another name",
        path.display()
    )]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// The state is that of another run.
    #[error(
        "{} is the state of run {found} and not of {expected}: use that name, or name the state file of {expected}",
        path.display()
    )]
    OtherRun {
        /// The file.
        path: PathBuf,
        /// Name of the run in it.
        found: String,
        /// Name of the run that was asked for.
        expected: String,
    },
    /// The learner records where patterns were first seen, which no server keeps.
    #[error("a KATO server keeps no provenance")]
    Provenance,
    /// The threads that move requests could not be started.
    #[error(
        "failed to start the threads that talk to the server: end other programs, then start again or resume"
    )]
    Spawn(#[source] io::Error),
    /// The run was stopped while it waited for the server.
    #[error(
        "run {run} was stopped while its server was waited for; everything committed is safe: resume, which finds out what arrived of the rest"
    )]
    Interrupted {
        /// The run.
        run: String,
    },
    /// Another error of training, of the position or of the store beside the state, for example.
    #[error(transparent)]
    Train(#[from] TrainError),
}

impl RemoteError {
    /// Returns what to do about it, in names of this library, where the text does not say that.
    #[must_use]
    pub fn advice(&self) -> Option<Advice> {
        Some(Advice::new(match self {
            Self::Lost { .. } => &[
                "name them by `SessionOptions::new`",
                "have new nodes taught what this run has learned with `with_reteaching`",
            ],
            Self::Torn { .. } => &[
                "go on without with `TornLearns::Keep`",
                "have new nodes taught what this run has learned with `with_reteaching`",
            ],
            Self::TaughtBefore { .. } => &[
                "give this run another name, `SessionOptions::new`",
                "have it taught on with `with_taught_nodes`",
            ],
            Self::Provenance => &["leave out `Recording::provenance`", "train into a store"],
            Self::Train(error) => return error.advice(),
            Self::Unreachable { .. }
            | Self::Teach { .. }
            | Self::Miscounted { .. }
            | Self::Retired(_)
            | Self::Cut { .. }
            | Self::State { .. }
            | Self::Locked { .. }
            | Self::OtherRun { .. }
            | Self::Spawn(_)
            | Self::Interrupted { .. } => return None,
        }))
    }

    /// Returns what a caller can do about it.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::Train(error) => error.class(),
            // What the server or the connection says of it.
            Self::Teach { source, .. } | Self::Unreachable { source, .. } => source
                .downcast_ref()
                .map_or_else(|| self.kind().class(), ClientError::class),
            Self::State { source, .. } if source.kind() == io::ErrorKind::AlreadyExists => {
                ErrorClass::Conflict
            }
            Self::State { source, .. } | Self::Spawn(source) => ErrorClass::of_io(source.kind()),
            error => error.kind().class(),
        }
    }

    /// Returns what the error means to a run, whatever its backend.
    const fn kind(&self) -> BackendErrorKind {
        match self {
            Self::Unreachable { .. } => BackendErrorKind::Unreachable,
            Self::Teach { .. } => BackendErrorKind::Refused,
            Self::Miscounted { .. } | Self::Lost { .. } | Self::Torn { .. } => {
                BackendErrorKind::Miscounted
            }
            Self::TaughtBefore { .. }
            | Self::Retired(_)
            | Self::Cut { .. }
            | Self::Locked { .. }
            | Self::OtherRun { .. } => BackendErrorKind::Conflict,
            Self::State { .. } => BackendErrorKind::State,
            Self::Provenance => BackendErrorKind::Unsupported,
            Self::Interrupted { .. } => BackendErrorKind::Interrupted,
            Self::Spawn(_) | Self::Train(_) => BackendErrorKind::Other,
        }
    }
}

impl From<RemoteError> for TrainError {
    fn from(error: RemoteError) -> Self {
        match error {
            RemoteError::Train(error) => error,
            error => {
                let (kind, class) = (error.kind(), error.class());
                BackendError::new(kind, error).with_class(class).into()
            }
        }
    }
}

/// Returns a function that makes an error of the system's about a file of the run.
pub(crate) fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> RemoteError {
    move |source| RemoteError::State {
        action,
        path: path.to_owned(),
        source,
    }
}

/// Creates the error that something is not done with a file of the run, and why.
pub(crate) fn refused(
    action: &'static str,
    path: &Path,
    reason: impl Into<Box<dyn Error + Send + Sync>>,
) -> RemoteError {
    failed(action, path)(io::Error::other(reason))
}

/// Creates the error that a new run is not begun where another is.
pub(crate) fn taken(path: &Path, reason: impl Into<Box<dyn Error + Send + Sync>>) -> RemoteError {
    failed("begin", path)(io::Error::new(io::ErrorKind::AlreadyExists, reason))
}

/// Creates the error that the position of the run, as it was kept, is not one of ours.
pub(crate) fn unreadable_position(source: serde_json::Error) -> RemoteError {
    RemoteError::Train(TrainError::Checkpoint { source })
}

/// Returns a function that makes the error of a server that does not answer before anything was
/// taught.
pub(crate) fn unreachable(client: &KatoClient) -> impl Fn(ClientError) -> RemoteError {
    let place = client.base_url().to_owned();
    move |source| RemoteError::Unreachable {
        place: place.clone(),
        source: source.into(),
    }
}

/// Creates the error that the node of a client cannot be taught.
pub(crate) fn teach(
    client: &KatoClient,
    source: impl Into<Box<dyn Error + Send + Sync>>,
) -> RemoteError {
    RemoteError::Teach {
        node: client.node_id().to_owned(),
        source: source.into(),
    }
}

/// Creates the error that the node of a client has lost something.
pub(crate) fn lost(client: &KatoClient, differences: Vec<String>) -> RemoteError {
    RemoteError::Lost {
        node: client.node_id().to_owned(),
        differences,
    }
}

/// Creates the error that a node knows more than it was taught.
pub(crate) fn miscounted(node: &str, differences: Vec<String>) -> RemoteError {
    RemoteError::Miscounted {
        node: node.to_owned(),
        differences,
    }
}

/// Creates the error that the node of a client knows something that the run has not taught.
pub(crate) fn taught_before(client: &KatoClient) -> RemoteError {
    RemoteError::TaughtBefore {
        node: client.node_id().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_trainer_learns_the_kind_and_the_user_reads_the_same_sentences() {
        let silent = RemoteError::Teach {
            node: "run_node1".to_owned(),
            source: "it says nothing".into(),
        };
        let error = TrainError::from(silent);
        let text = "failed to teach node run_node1: resume the run once the cause is mended";
        assert_eq!(error.to_string(), text);
        let cause = error.source().map(ToString::to_string);
        assert_eq!(cause.as_deref(), Some("it says nothing"));
        let TrainError::Backend(error) = &error else {
            panic!("{error:?}");
        };
        assert_eq!(error.kind(), BackendErrorKind::Refused);
        let own = error.get_ref().downcast_ref::<RemoteError>();
        assert!(matches!(own, Some(RemoteError::Teach { node, .. }) if node == "run_node1"));
    }

    #[test]
    fn a_state_that_is_there_already_is_a_conflict() {
        let failed = |kind: io::ErrorKind| failed("begin", Path::new("run"))(kind.into());
        assert_eq!(
            failed(io::ErrorKind::AlreadyExists).class(),
            ErrorClass::Conflict
        );
        assert_eq!(failed(io::ErrorKind::Other).class(), ErrorClass::Other);
    }

    #[test]
    fn errors_of_training_stay_what_they_are() {
        let error = serde_json::from_str::<u64>("no number").unwrap_err();
        let error = TrainError::from(unreadable_position(error));
        assert!(matches!(error, TrainError::Checkpoint { .. }), "{error:?}");
    }
}
