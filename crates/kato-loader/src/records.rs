//! What every format offers the loader: the records of one file, one after the other.

mod csv;
mod json_object;
mod jsonl;
mod parquet;
mod text;

use std::path::Path;

use crate::bad_record::{BadReason, Fault, Lost};
use crate::byte_stream::{ByteStream, RawBytes};
use crate::cursor::Mark;
use crate::options::{Compression, Format, Selection};

/// Where a record's content goes. The reader appends; the loader takes back what it does not want.
pub(crate) struct Sink<'a> {
    pub(crate) text: &'a mut String,
    /// Empty on entry; filled when an id field was chosen.
    pub(crate) id: &'a mut String,
}

/// What reading one record gave.
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

    /// The position behind the record last read.
    fn mark(&self) -> Mark;

    /// Roughly how many bytes of the file on disk lie behind the position.
    fn raw_bytes(&self) -> u64;
}

/// Opens a file whose bytes are read in sequence.
pub(crate) fn open_stream(
    raw: RawBytes,
    format: Format,
    compression: Compression,
    selection: &Selection,
    mark: Mark,
) -> Result<Box<dyn RecordReader>, Fault> {
    let stream = |offset| ByteStream::open(raw, compression, offset);
    Ok(match format {
        Format::Text => Box::new(text::TextReader::new(
            stream(mark.byte_offset)?,
            selection,
            mark,
        )),
        Format::JsonLines => Box::new(jsonl::JsonLinesReader::new(
            stream(mark.byte_offset)?,
            selection,
            mark,
        )),
        Format::Csv => Box::new(csv::CsvReader::new(stream(0)?, b',', selection, mark)?),
        Format::Tsv => Box::new(csv::CsvReader::new(stream(0)?, b'\t', selection, mark)?),
        Format::Parquet => {
            return Err(Fault::of_file(BadReason::Corrupt {
                message: "Parquet cannot be read as a stream".to_owned(),
            }));
        }
    })
}

/// Opens a Parquet file.
pub(crate) fn open_parquet(
    path: &Path,
    selection: &Selection,
    mark: Mark,
) -> Result<Box<dyn RecordReader>, Fault> {
    Ok(Box::new(parquet::ParquetReader::open(
        path, selection, mark,
    )?))
}

/// A fault of the one record that begins at `mark`.
fn fault_at(mark: Mark, reason: BadReason) -> Fault {
    Fault {
        record: Some(mark.record + 1),
        line: Some(mark.line + 1),
        byte_offset: Some(mark.byte_offset),
        lost: Lost::Record,
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

fn invalid_utf8(error: std::str::Utf8Error) -> BadReason {
    BadReason::InvalidUtf8 {
        valid_bytes: error.valid_up_to() as u64,
    }
}

/// An id that names nothing is as good as none.
fn require_id(sink: &Sink<'_>, field: &str) -> Result<(), BadReason> {
    match sink.id.as_str() {
        "" => Err(missing(field)),
        _ => Ok(()),
    }
}

fn missing(field: &str) -> BadReason {
    BadReason::MissingField {
        field: field.to_owned(),
    }
}

fn too_large(limit: usize) -> BadReason {
    BadReason::TooLarge {
        limit_bytes: limit as u64,
    }
}
