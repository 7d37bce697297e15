//! A bad record as its reader finds it, which does not know the name of its file.

use super::{BadReason, BadRecord, Cause, SkippedExtent};
use crate::looks::Looks;

/// A bad record before its file name is known.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) record: Option<u64>,
    pub(crate) line: Option<u64>,
    pub(crate) byte_offset: Option<u64>,
    pub(crate) lost: SkippedExtent,
    /// Boxed to keep what readers return small.
    pub(crate) reason: Box<BadReason>,
    pub(crate) cause: Option<Cause>,
}

impl Fault {
    /// Creates a fault of the file as a whole.
    pub(crate) fn for_file(reason: BadReason) -> Self {
        Self {
            record: None,
            line: None,
            byte_offset: None,
            lost: SkippedExtent::RestOfFile,
            reason: Box::new(reason),
            cause: None,
        }
    }

    /// Creates a fault of a file that the operating system, or a server, refuses to open or read.
    pub(crate) fn unreadable(error: std::io::Error) -> Self {
        Self::for_file(BadReason::Unreadable {
            message: error.to_string(),
        })
        .caused_by(error)
    }

    /// Creates a fault of damage that a decoder has found.
    pub(crate) fn corrupt(error: impl Into<Cause>) -> Self {
        let cause = error.into();
        let fault = Self::for_file(BadReason::Corrupt {
            message: cause.to_string(),
        });
        fault.caused_by(cause)
    }

    /// Creates a fault of a file that looks like something else than what it was to be read as.
    pub(crate) fn looks_like(read_as: &str, looks: Looks) -> Self {
        Self::for_file(match looks {
            Looks::Foreign(foreign) => BadReason::Unsupported {
                what: foreign.what.to_owned(),
                instead: foreign.instead.to_owned(),
            },
            Looks::Table(table) => BadReason::Table {
                delimiter: char::from(table.delimiter),
                fields: table.n_fields as u64,
                rows: table.n_rows as u64,
            },
            Looks::Markup(markup) => BadReason::Markup {
                what: markup.what().to_owned(),
            },
            looks => BadReason::AnotherFormat {
                read_as: read_as.to_owned(),
                looks_like: looks.what().to_owned(),
            },
        })
    }

    /// Returns whether it is the way to the bytes that failed, and not their content: another
    /// attempt may succeed.
    pub(crate) fn is_transient(&self) -> bool {
        matches!(
            *self.reason,
            BadReason::Unreadable { .. } | BadReason::Changed { .. }
        )
    }

    /// Returns the cause, or the reason in words where no other error has caused it.
    pub(crate) fn into_cause(self) -> Cause {
        self.cause.unwrap_or_else(|| self.reason.to_string().into())
    }

    /// Sets the error that has caused the fault.
    pub(crate) fn caused_by(mut self, cause: impl Into<Cause>) -> Self {
        self.cause = Some(cause.into());
        self
    }

    /// Turns the fault into a ledger entry of a file, and its cause.
    pub(crate) fn into_record(self, file: &str) -> (BadRecord, Option<Cause>) {
        let record = BadRecord {
            file: file.to_owned(),
            record: self.record,
            line: self.line,
            byte_offset: self.byte_offset,
            lost: self.lost,
            reason: *self.reason,
        };
        (record, self.cause)
    }
}
