//! Kinds of errors: what has happened, told apart without reading a text.

use std::error::Error;
use std::io;

use crate::ErrorClass;

/// What has happened, the same few kinds for every library. A kind has a [class](Self::class), which says
/// what a caller can do about it.
///
/// ```
/// use std::io;
///
/// use kato_advice::{ErrorClass, ErrorKind};
///
/// let kind = ErrorKind::of_io(io::ErrorKind::FileTooLarge);
/// assert_eq!(kind, ErrorKind::FileSizeLimit);
/// assert_eq!(kind.class(), ErrorClass::NoRoom);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// What was asked for is not there: a knowledge base, a file, a run.
    NotFound,
    /// Something is there already that is not overwritten.
    Exists,
    /// Another writer is at work.
    Locked,
    /// It is open for reading only, or lies on a file system that is.
    ReadOnly,
    /// The operating system or a server does not allow it.
    Denied,
    /// What was read is not what was written.
    Corrupt,
    /// A record, a file or an answer is whole and does not have the form that is read.
    Malformed,
    /// There is nothing in it: no document in a corpus, no record in a shard.
    Empty,
    /// It is not possible with this build, or with what it is asked of.
    Unsupported,
    /// The disk, or the quota of its user, is full.
    Full,
    /// A limit on the size of files, as of `ulimit -f`, was reached; there may be room.
    FileSizeLimit,
    /// It takes more memory than there is, or than is allowed.
    OutOfMemory,
    /// A run was begun on another corpus, or at another position of it.
    OtherCorpus,
    /// A run, or a knowledge base, was begun with other settings, or another tokenizer.
    OtherSettings,
    /// It was written by a version that this one does not read.
    OtherVersion,
    /// Two things disagree otherwise, and it is to be decided which counts.
    Conflict,
    /// Somebody asked to end it.
    Interrupted,
    /// An argument or a setting is impossible.
    InvalidArgument,
    /// A server, a network or a machine did not answer in time.
    Unavailable,
    /// Anything else: the text says what.
    Other,
}

impl ErrorKind {
    /// Every kind.
    pub const ALL: [Self; 20] = [
        Self::NotFound,
        Self::Exists,
        Self::Locked,
        Self::ReadOnly,
        Self::Denied,
        Self::Corrupt,
        Self::Malformed,
        Self::Empty,
        Self::Unsupported,
        Self::Full,
        Self::FileSizeLimit,
        Self::OutOfMemory,
        Self::OtherCorpus,
        Self::OtherSettings,
        Self::OtherVersion,
        Self::Conflict,
        Self::Interrupted,
        Self::InvalidArgument,
        Self::Unavailable,
        Self::Other,
    ];

    /// Returns what a caller can do about it.
    #[must_use]
    pub const fn class(self) -> ErrorClass {
        match self {
            Self::InvalidArgument => ErrorClass::Usage,
            Self::Unavailable => ErrorClass::TryAgain,
            Self::Full | Self::FileSizeLimit | Self::OutOfMemory => ErrorClass::NoRoom,
            Self::Exists
            | Self::Locked
            | Self::OtherCorpus
            | Self::OtherSettings
            | Self::OtherVersion
            | Self::Conflict => ErrorClass::Conflict,
            Self::Interrupted => ErrorClass::Interrupted,
            Self::NotFound
            | Self::ReadOnly
            | Self::Denied
            | Self::Corrupt
            | Self::Malformed
            | Self::Empty
            | Self::Unsupported
            | Self::Other => ErrorClass::Other,
        }
    }

    /// Returns the kind of an error of which only the class is known.
    #[must_use]
    pub const fn of_class(class: ErrorClass) -> Self {
        match class {
            ErrorClass::Usage => Self::InvalidArgument,
            ErrorClass::TryAgain => Self::Unavailable,
            ErrorClass::NoRoom => Self::Full,
            ErrorClass::Conflict => Self::Conflict,
            ErrorClass::Interrupted => Self::Interrupted,
            ErrorClass::Other => Self::Other,
        }
    }

    /// Returns the kind of an error of the operating system.
    #[must_use]
    pub const fn of_io(kind: io::ErrorKind) -> Self {
        use io::ErrorKind;
        match kind {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Self::Full,
            ErrorKind::FileTooLarge => Self::FileSizeLimit,
            ErrorKind::OutOfMemory => Self::OutOfMemory,
            ErrorKind::ConnectionRefused
            | ErrorKind::ConnectionReset
            | ErrorKind::ConnectionAborted
            | ErrorKind::HostUnreachable
            | ErrorKind::NetworkUnreachable
            | ErrorKind::NetworkDown
            | ErrorKind::TimedOut
            | ErrorKind::WouldBlock
            | ErrorKind::ResourceBusy => Self::Unavailable,
            ErrorKind::AddrInUse => Self::Conflict,
            ErrorKind::AlreadyExists => Self::Exists,
            ErrorKind::NotFound => Self::NotFound,
            ErrorKind::PermissionDenied => Self::Denied,
            ErrorKind::ReadOnlyFilesystem => Self::ReadOnly,
            _ => Self::Other,
        }
    }

    /// Returns the kind of the first error of the operating system among an error and its causes that has
    /// one.
    #[must_use]
    pub fn of_causes(error: &(dyn Error + 'static)) -> Self {
        let causes = std::iter::successors(Some(error), |&cause| cause.source());
        let of_system = causes.filter_map(|cause| cause.downcast_ref::<io::Error>());
        of_system.fold(Self::Other, |kind, error| {
            kind.or(Self::of_io(error.kind()))
        })
    }

    /// Returns this kind, or another where this one says nothing.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        match self {
            Self::Other => other,
            known => known,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_alone_leads_to_a_kind_of_that_class() {
        for class in ErrorClass::ALL {
            assert_eq!(ErrorKind::of_class(class).class(), class);
        }
    }

    #[test]
    fn errors_of_the_system_have_the_class_of_their_kind() {
        for kind in [
            io::ErrorKind::QuotaExceeded,
            io::ErrorKind::FileTooLarge,
            io::ErrorKind::TimedOut,
            io::ErrorKind::AlreadyExists,
            io::ErrorKind::NotFound,
            io::ErrorKind::Interrupted,
        ] {
            assert_eq!(
                ErrorKind::of_io(kind).class(),
                ErrorClass::of_io(kind),
                "{kind:?}"
            );
        }
    }
}
