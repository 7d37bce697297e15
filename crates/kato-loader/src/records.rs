//! What every format offers to the loader: the records of one file, one after the other.

pub(crate) mod csv;
pub(crate) mod dealt;
mod json_object;
pub(crate) mod jsonl;
mod lines;
pub(crate) mod own;
#[cfg(feature = "parquet")]
pub(crate) mod parquet;
#[cfg(not(feature = "parquet"))]
#[path = "records/no_parquet.rs"]
pub(crate) mod parquet;
pub(crate) mod python_json;
pub(crate) mod quotes;
pub(crate) mod text;

use crate::bad_record::{BadReason, Fault, SkippedExtent};
use crate::cursor::Mark;

/// Where a record's content goes. The reader appends; the loader removes what it does not want.
pub(crate) struct Sink<'a> {
    pub(crate) text: &'a mut String,
    /// Empty on entry; filled when an id field was chosen.
    pub(crate) id: &'a mut String,
}

/// Result of reading one record.
pub(crate) enum Step {
    /// The sink holds it.
    Record,
    /// It is bad; the next one can be read.
    Bad(Fault),
    /// It is bad, and so is everything behind it in this file.
    Broken(Fault),
    /// There is no further record.
    End,
}

/// The records of one file.
pub(crate) trait RecordReader: Send {
    /// Reads the next record. After [`Step::Broken`] and [`Step::End`] it is not called again.
    fn read(&mut self, sink: &mut Sink<'_>) -> Step;

    /// Returns the position behind the record last read.
    fn mark(&self) -> Mark;

    /// Returns the offset at which the record last read begins; 0 where records are found by
    /// number.
    fn begins_at(&self) -> u64;

    /// Returns how many bytes of the file on disk lie behind the position, roughly.
    fn raw_bytes(&self) -> u64;
}

/// Creates a fault of the one record that begins at `mark`.
fn fault_at(mark: Mark, reason: BadReason) -> Fault {
    Fault {
        record: Some(mark.record + 1),
        line: Some(mark.line + 1),
        byte_offset: Some(mark.byte_offset),
        lost: SkippedExtent::Record,
        reason: Box::new(reason),
        cause: None,
    }
}

/// Gives a fault of the stream the place where it was met.
fn broken_at(mark: Mark, mut fault: Fault) -> Step {
    fault.record = Some(mark.record + 1);
    fault.line = Some(mark.line + 1);
    Step::Broken(fault)
}

/// Returns the reason of a text that is not UTF-8.
fn invalid_utf8(error: std::str::Utf8Error) -> BadReason {
    BadReason::InvalidUtf8 {
        valid_bytes: error.valid_up_to() as u64,
    }
}

/// Refuses an empty id, which names nothing.
fn require_id(sink: &Sink<'_>, field: &str) -> Result<(), BadReason> {
    match sink.id.as_str() {
        "" => Err(BadReason::NotText {
            field: field.to_owned(),
            found: "nothing".to_owned(),
        }),
        _ => Ok(()),
    }
}

/// Returns the reason of a record without the field.
fn missing(field: &str) -> BadReason {
    BadReason::MissingField {
        field: field.to_owned(),
    }
}

/// Returns the reason of a record that is no text.
fn binary() -> BadReason {
    BadReason::Unsupported {
        what: "binary data".to_owned(),
        instead: "take the text out of it first, or leave it out".to_owned(),
    }
}

/// Returns the reason of a record that is longer than the limit.
fn too_large(limit: usize) -> BadReason {
    BadReason::TooLarge {
        limit_bytes: limit as u64,
    }
}
