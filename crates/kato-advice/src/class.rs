//! Classes of errors: what a caller can do about one without reading it.

use std::error::Error;
use std::io;

use crate::ErrorKind;

/// What a caller can do about an error: the same few answers for every library, and for the exit
/// code of a program.
///
/// ```
/// use std::io::ErrorKind;
///
/// use kato_advice::ErrorClass;
///
/// assert_eq!(ErrorClass::of_io(ErrorKind::StorageFull), ErrorClass::NoRoom);
/// assert_eq!(ErrorClass::NoRoom.exit_code(), 5);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorClass {
    /// Mend what the text names; nothing else can be said of it.
    Other,
    /// Change the settings: they are impossible, or not for what they are used with.
    Usage,
    /// Do the same again later: a server, a network or a machine did not answer in time.
    TryAgain,
    /// Make room, on the disk or in the memory that may be used, and do the same again.
    NoRoom,
    /// Decide which of two things counts: there is another writer, another corpus, other settings,
    /// another format, or something else where this was to be.
    Conflict,
    /// Go on where it was interrupted, as somebody asked for.
    Interrupted,
}

impl ErrorClass {
    /// Every class, in the order of their exit codes.
    pub const ALL: [Self; 6] = [
        Self::Other,
        Self::Usage,
        Self::TryAgain,
        Self::NoRoom,
        Self::Conflict,
        Self::Interrupted,
    ];

    /// Returns the class of an error of the operating system.
    #[must_use]
    pub const fn of_io(kind: io::ErrorKind) -> Self {
        ErrorKind::of_io(kind).class()
    }

    /// Returns the class of the first error of the operating system among an error and its causes that has
    /// a [kind](ErrorKind::of_causes).
    ///
    /// ```
    /// use std::io;
    ///
    /// use kato_advice::ErrorClass;
    ///
    /// let full = io::Error::from(io::ErrorKind::StorageFull);
    /// assert_eq!(ErrorClass::of_causes(&full), ErrorClass::NoRoom);
    /// ```
    #[must_use]
    pub fn of_causes(error: &(dyn Error + 'static)) -> Self {
        ErrorKind::of_causes(error).class()
    }

    /// Returns this class, or another where this one says nothing.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        match self {
            Self::Other => other,
            known => known,
        }
    }

    /// Returns the exit code of a program that ends with such an error.
    ///
    /// 0 is for what was done, and 3 for what was done in part; 130 is what shells report after
    /// Ctrl-C.
    #[must_use]
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Other => 1,
            Self::Usage => 2,
            Self::TryAgain => 4,
            Self::NoRoom => 5,
            Self::Conflict => 6,
            Self::Interrupted => 130,
        }
    }
}

impl ErrorClass {
    /// Returns the class of a program that ended with an exit code; `None` where it ended with none of
    /// these.
    #[must_use]
    pub fn of_exit_code(code: i32) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|class| i32::from(class.exit_code()) == code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_are_unlike_each_other_and_those_of_done_and_failed_samples() {
        let mut codes: Vec<u8> = ErrorClass::ALL.map(ErrorClass::exit_code).to_vec();
        codes.extend([0, 3]);
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), ErrorClass::ALL.len() + 2);
    }

    #[test]
    fn errors_of_the_system_have_the_class_of_their_cause() {
        use io::ErrorKind;
        for (kind, class) in [
            (ErrorKind::QuotaExceeded, ErrorClass::NoRoom),
            (ErrorKind::FileTooLarge, ErrorClass::NoRoom),
            (ErrorKind::ConnectionRefused, ErrorClass::TryAgain),
            (ErrorKind::TimedOut, ErrorClass::TryAgain),
            (ErrorKind::AddrInUse, ErrorClass::Conflict),
            (ErrorKind::NotFound, ErrorClass::Other),
            (ErrorKind::PermissionDenied, ErrorClass::Other),
            // Programs repeat it themselves: it is nobody's wish to stop.
            (ErrorKind::Interrupted, ErrorClass::Other),
        ] {
            assert_eq!(ErrorClass::of_io(kind), class, "{kind:?}");
        }
    }

    #[test]
    fn the_first_class_that_says_something_counts() {
        use ErrorClass::{Conflict, NoRoom, Other};
        assert_eq!(Other.or(NoRoom), NoRoom);
        assert_eq!(Conflict.or(NoRoom), Conflict);
        assert_eq!(Other.or(Other), Other);
    }
}
