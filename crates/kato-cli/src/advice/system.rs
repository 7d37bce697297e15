//! What to do where the operating system refuses to write.

use std::error::Error as StdError;
use std::io::{self, ErrorKind};

/// Words of errors that say it already.
const SAID: [&str; 5] = [
    "choose a",
    "free some space",
    "ulimit -f",
    "name a file in it",
    "another place",
];

/// Returns what to do about an error of the operating system, unless the text of its chain says that.
pub(super) fn way_out(error: &(dyn StdError + 'static), text: &str) -> Option<&'static str> {
    if SAID.iter().any(|said| text.contains(said)) {
        return None;
    }
    let causes = std::iter::successors(Some(error), |&cause| cause.source());
    let mut errors = causes.filter_map(|cause| cause.downcast_ref::<io::Error>());
    errors.find_map(|error| way_out_of(error.kind()))
}

/// Returns what to do about a kind of error.
const fn way_out_of(kind: ErrorKind) -> Option<&'static str> {
    match kind {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Some("free some space, and try again"),
        ErrorKind::FileTooLarge => Some("raise the limit (`ulimit -f`), and try again"),
        ErrorKind::ReadOnlyFilesystem => Some("choose a place that can be written"),
        ErrorKind::IsADirectory => Some("name a file in it"),
        _ => None,
    }
}

/// Returns a text for a command that has nothing to resume: it is given again.
pub(super) fn without_resume(text: &str) -> String {
    text.replace(" and resume", " and try again")
}

#[cfg(test)]
mod tests {
    use anyhow::Error;

    use super::*;
    use crate::advice::told;

    #[test]
    fn what_the_system_refuses_has_a_way_out_once() {
        let refused =
            |kind: ErrorKind| Error::from(io::Error::from(kind)).context("create /mnt/index");
        for (kind, expected) in [
            (ErrorKind::StorageFull, "; free some space, and try again"),
            (
                ErrorKind::FileTooLarge,
                "; raise the limit (`ulimit -f`), and try again",
            ),
            (
                ErrorKind::ReadOnlyFilesystem,
                "; choose a place that can be written",
            ),
            (ErrorKind::IsADirectory, "; name a file in it"),
        ] {
            let once = told(&refused(kind));
            assert!(once.ends_with(expected), "{once}");
            let before = refused(kind).context("--out cannot be written: choose another place");
            let before = told(&before);
            assert!(!before.contains(expected), "{before}");
        }
        assert!(!told(&refused(ErrorKind::NotFound)).contains(';'));
        assert_eq!(
            without_resume("free some space and resume: full"),
            "free some space and try again: full"
        );
    }
}
