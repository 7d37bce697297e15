//! What to do where the operating system refuses to write.

use std::io::{self, ErrorKind};

use anyhow::Error;
use kato_store::StoreError;

use super::is_taken;
use crate::output::is_unwritten;

/// Words of errors that say it already.
const SAID: [&str; 5] = [
    "choose a",
    "free some space",
    "ulimit -f",
    "name a file in it",
    "another place",
];

/// Returns what to do about an error of the operating system, unless the text of its chain says that.
pub(super) fn way_out(error: &Error, text: &str) -> Option<&'static str> {
    let mut stores = error.chain().filter_map(|cause| cause.downcast_ref());
    if stores.any(|error| matches!(error, StoreError::Full { .. })) {
        return is_taken("--resume").then_some("--resume goes on from there");
    }
    if SAID.iter().any(|said| text.contains(said)) {
        return None;
    }
    let mut errors = error.chain().filter_map(|cause| cause.downcast_ref());
    errors.find_map(|error: &io::Error| match way_out_of(error.kind()) {
        // What the command was to do may be done.
        Some(_) if is_unwritten(error) => Some("send it to where there is room"),
        way_out => way_out,
    })
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

#[cfg(test)]
mod tests {
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
        let full = StoreError::Full {
            path: "kb/1.seg".into(),
            source: ErrorKind::StorageFull.into(),
        };
        assert_eq!(
            told(&full.into()),
            "no space left while writing kb/1.seg: everything committed is safe; free some space: no storage space; --resume goes on from there"
        );
    }
}
