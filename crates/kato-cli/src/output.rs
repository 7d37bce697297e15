//! Standard output, whose reader may go before all is written.

use std::io::{self, ErrorKind, StdoutLock, Write};

/// The reader of standard output has gone, as `head` does when it has its lines.
///
/// It is the cause within the [`io::Error`] of the write, by which that differs from an error of
/// any other pipe or connection.
#[derive(Debug, thiserror::Error)]
#[error("nobody reads standard output any more")]
struct ReaderGone;

/// Standard output does not take what is written to it, such as a file on a disk that is full.
#[derive(Debug, thiserror::Error)]
#[error("write standard output")]
struct Unwritten(#[source] io::Error);

/// Standard output, locked. Use it for all results, so that a reader that goes is no failure.
#[derive(Debug)]
pub(crate) struct Output(StdoutLock<'static>);

/// Locks standard output.
pub(crate) fn stdout() -> Output {
    Output(io::stdout().lock())
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(marked)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().map_err(marked)
    }
}

/// Marks an error as that of standard output, and that of a closed pipe as a reader's that has gone.
pub(crate) fn marked(error: io::Error) -> io::Error {
    match error.kind() {
        ErrorKind::BrokenPipe => io::Error::new(ErrorKind::BrokenPipe, ReaderGone),
        kind => io::Error::new(kind, Unwritten(error)),
    }
}

/// Returns whether an error is that of standard output without a reader.
pub(crate) fn is_reader_gone(error: &anyhow::Error) -> bool {
    // The whole chain is searched, because libraries wrap the error of the write in their own.
    let mut causes = error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>());
    causes.any(|cause| {
        cause
            .get_ref()
            .is_some_and(|cause| cause.is::<ReaderGone>())
    })
}

/// Returns whether an error is that of standard output that does not take what is written to it.
pub(crate) fn is_unwritten(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|cause| cause.is::<Unwritten>())
}

/// Passes on what became of a write to standard output; that its reader has gone counts as
/// written. For commands that go on, or have an exit code of their own.
pub(crate) fn unless_reader_gone(written: anyhow::Result<()>) -> anyhow::Result<()> {
    match written {
        Err(error) if is_reader_gone(&error) => Ok(()),
        written => written,
    }
}

#[cfg(test)]
mod tests {
    use anyhow::Error;

    use super::*;

    #[test]
    fn a_broken_connection_is_not_taken_for_a_reader_that_has_gone() {
        let broken = || io::Error::from(ErrorKind::BrokenPipe);
        let reader = Error::from(marked(broken())).context("failed to write patterns");
        assert!(is_reader_gone(&reader));
        assert!(unless_reader_gone(Err(reader)).is_ok());
        let server = Error::from(broken()).context("failed to ask the server");
        assert!(!is_reader_gone(&server));
        assert!(unless_reader_gone(Err(server)).is_err());
        let full = Error::from(marked(ErrorKind::StorageFull.into()));
        assert!(!is_reader_gone(&full));
        assert_eq!(
            format!("{full:#}"),
            "write standard output: no storage space"
        );
    }
}
