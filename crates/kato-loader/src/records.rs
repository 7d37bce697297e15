//! What every format offers to the loader: the records of one file, one after the other.

mod csv;
mod json_object;
mod jsonl;
pub(crate) mod parquet;
mod text;

use crate::bad_record::{BadReason, Fault, Lost};
use crate::byte_stream::ByteStream;
use crate::cursor::Mark;
use crate::extent::Extent;
use crate::inputs::InputFile;
use crate::options::{CorpusOptions, Format, TextUnit};

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

/// Opens a part of a file: at a mark, or where the part begins.
///
/// Records are counted from the beginning of the file where that is known, which is with a mark and
/// in files that are not cut by bytes; from the beginning of the part elsewhere.
pub(crate) fn open(
    file: &InputFile,
    selection: &CorpusOptions,
    extent: Extent,
    mark: Option<Mark>,
) -> Result<Box<dyn RecordReader>, Fault> {
    let at = mark.unwrap_or_default();
    let whole = || {
        let raw = file.open(at.byte_offset, u64::MAX)?;
        ByteStream::open(raw, file.compression, at.byte_offset)
    };
    // A header is read from the top of the file.
    let from_top = || ByteStream::open(file.open(0, u64::MAX)?, file.compression, 0);
    Ok(match file.format {
        Format::Parquet => {
            let at = mark.unwrap_or(Mark {
                record: extent.start,
                ..Mark::default()
            });
            let parquet = file.parquet(selection)?;
            Box::new(parquet::ParquetReader::open(parquet, extent, at)?)
        }
        Format::Csv => Box::new(csv::CsvReader::new(from_top()?, b',', selection, at)?),
        Format::Tsv => Box::new(csv::CsvReader::new(from_top()?, b'\t', selection, at)?),
        Format::Text if selection.text_unit != TextUnit::Line => {
            Box::new(text::TextReader::new(whole()?, selection, at, u64::MAX))
        }
        Format::Text => {
            let (stream, at) = lines(file, extent, mark)?;
            Box::new(text::TextReader::new(stream, selection, at, extent.end))
        }
        Format::JsonLines => {
            let (stream, at) = lines(file, extent, mark)?;
            Box::new(jsonl::JsonLinesReader::new(
                stream, selection, at, extent.end,
            ))
        }
    })
}

/// Returns the bytes of a part of a file of lines, from the first line that begins in it, and where
/// that is.
fn lines(
    file: &InputFile,
    extent: Extent,
    mark: Option<Mark>,
) -> Result<(ByteStream, Mark), Fault> {
    if mark.is_some() || extent.start == 0 {
        let mark = mark.unwrap_or_default();
        let raw = file.open(mark.byte_offset, extent.end)?;
        let stream = ByteStream::open(raw, file.compression, mark.byte_offset)?;
        return Ok((stream, mark));
    }
    // A line begins with the part if a break stands in front of it, so reading starts one byte
    // earlier. What stands in front of the first break belongs to the part before.
    let before = extent.start - 1;
    let raw = file.open(before, extent.end)?;
    let mut stream = ByteStream::open(raw, file.compression, before)?;
    // Not beyond the end: a line may reach over the whole part, which then has none of its own.
    stream.discard_line_until(extent.end)?;
    let mark = Mark {
        byte_offset: stream.offset(),
        ..Mark::default()
    };
    Ok((stream, mark))
}

/// Creates a fault of the one record that begins at `mark`.
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

/// Returns the reason of a text that is not UTF-8.
fn invalid_utf8(error: std::str::Utf8Error) -> BadReason {
    BadReason::InvalidUtf8 {
        valid_bytes: error.valid_up_to() as u64,
    }
}

/// Refuses an empty id, which names nothing.
fn require_id(sink: &Sink<'_>, field: &str) -> Result<(), BadReason> {
    match sink.id.as_str() {
        "" => Err(missing(field)),
        _ => Ok(()),
    }
}

/// Returns the reason of a record without the field.
fn missing(field: &str) -> BadReason {
    BadReason::MissingField {
        field: field.to_owned(),
    }
}

/// Returns the reason of a record that is longer than the limit.
fn too_large(limit: usize) -> BadReason {
    BadReason::TooLarge {
        limit_bytes: limit as u64,
    }
}
