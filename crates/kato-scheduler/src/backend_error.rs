//! The error of a backend: a kind that a run understands, and the backend's own error.

use std::error::Error;
use std::fmt;

use kato_advice::ErrorClass;

/// The kinds of a [`BackendError`], by what a caller can do about them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BackendErrorKind {
    /// The nodes do not answer at all: try again once they do.
    Unreachable,
    /// The nodes did not carry out what was asked: mend the cause, and resume.
    Refused,
    /// The settings ask for something that the backend cannot do: change them.
    Unsupported,
    /// What the backend keeps of the run cannot be read or written.
    State,
    /// What is asked for does not fit what the nodes or the run have already: resume the run that
    /// it fits, or begin another.
    Conflict,
    /// The nodes know something else than they were taught: train into new ones.
    Miscounted,
    /// Waiting was given up because the run was [interrupted](crate::Backend::interrupt): resume.
    Interrupted,
    /// Anything else.
    Other,
}

impl BackendErrorKind {
    /// Returns what a caller of any library can do about it.
    #[must_use]
    pub const fn class(self) -> ErrorClass {
        match self {
            Self::Unreachable => ErrorClass::TryAgain,
            // What counts of two is to be decided: the nodes, or what the run taught them.
            Self::Conflict | Self::Miscounted => ErrorClass::Conflict,
            Self::Interrupted => ErrorClass::Interrupted,
            Self::Unsupported => ErrorClass::Usage,
            Self::Refused | Self::State | Self::Other => ErrorClass::Other,
        }
    }
}

/// The error of a [`Backend`](crate::Backend) or of one of its [`Teacher`](crate::Teacher)s.
///
/// It reads as the backend's error does, causes included, and says what kind of error that is.
///
/// ```
/// use kato_scheduler::{BackendError, BackendErrorKind, TrainError};
///
/// let full = BackendError::new(BackendErrorKind::Refused, "the shelf is full: build another");
/// let error = TrainError::from(full);
/// assert_eq!(error.to_string(), "the shelf is full: build another");
/// assert!(matches!(error, TrainError::Backend(full) if full.kind() == BackendErrorKind::Refused));
/// ```
#[derive(Debug)]
pub struct BackendError {
    kind: BackendErrorKind,
    class: ErrorClass,
    error: Box<dyn Error + Send + Sync>,
}

impl BackendError {
    /// Creates an error of a kind from the backend's own, which says what happened and what to do
    /// next.
    pub fn new(kind: BackendErrorKind, error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self {
            kind,
            class: kind.class(),
            error: error.into(),
        }
    }

    /// Sets what a caller of any library can do about it, where the backend's error says more than its
    /// kind does.
    #[must_use]
    pub const fn with_class(mut self, class: ErrorClass) -> Self {
        self.class = class;
        self
    }

    /// Returns what a caller of any library can do about it.
    #[must_use]
    pub const fn class(&self) -> ErrorClass {
        self.class
    }

    /// Returns what kind of error it is.
    #[must_use]
    pub const fn kind(&self) -> BackendErrorKind {
        self.kind
    }

    /// Returns the backend's own error, which can be downcast to its type.
    #[must_use]
    pub fn get_ref(&self) -> &(dyn Error + Send + Sync + 'static) {
        &*self.error
    }
}

impl fmt::Display for BackendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.error, f)
    }
}

impl Error for BackendError {
    // The backend's error stands in the text already: its causes come next, and not it again.
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.error.source()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TrainError;
    use crate::failure::reason;

    #[derive(Debug, thiserror::Error)]
    #[error("failed to ask the shelf: mend it")]
    struct Broken(#[source] std::io::Error);

    #[test]
    fn it_reads_as_the_backends_own_error_and_can_be_downcast() {
        let broken = Broken(std::io::Error::other("a board is missing"));
        let error = TrainError::from(BackendError::new(BackendErrorKind::State, broken));
        let text = "failed to ask the shelf: mend it: a board is missing";
        assert_eq!(reason(&error), text);
        let TrainError::Backend(error) = &error else {
            panic!("{error:?}");
        };
        assert_eq!(error.kind(), BackendErrorKind::State);
        assert!(error.get_ref().downcast_ref::<Broken>().is_some());
    }
}
