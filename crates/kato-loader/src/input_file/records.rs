//! Opens the records of a part of a file.

use std::sync::{Arc, PoisonError};

use super::{InputFile, Source};
use crate::bad_record::Fault;
use crate::byte_stream::ByteStream;
use crate::cursor::Mark;
use crate::extent::Extent;
use crate::looks::HEAD_BYTES;
use crate::options::{Compression, CorpusOptions, Format, TextUnit};
use crate::records::RecordReader;
use crate::records::csv::CsvReader;
use crate::records::dealt::DealtReader;
use crate::records::jsonl::JsonLinesReader;
use crate::records::own::{IteratorReader, NumberedReader};
use crate::records::text::TextReader;

impl InputFile {
    /// Opens a part of the file: at a mark, or where the part begins.
    ///
    /// Records are counted from the beginning of the file where that is known, which is with a mark
    /// and in files that are not cut by bytes; from the beginning of the part elsewhere.
    pub(crate) fn records(
        &self,
        selection: &CorpusOptions,
        extent: Extent,
        mark: Option<Mark>,
    ) -> Result<Box<dyn RecordReader>, Fault> {
        let all = self.all_records(selection, extent, mark)?;
        Ok(match self.deal {
            None => all,
            Some(deal) => Box::new(DealtReader::new(all, deal)),
        })
    }

    /// Returns the records of a part, whichever shards they belong to.
    fn all_records(
        &self,
        selection: &CorpusOptions,
        extent: Extent,
        mark: Option<Mark>,
    ) -> Result<Box<dyn RecordReader>, Fault> {
        let numbered = mark.unwrap_or(Mark {
            record: extent.start,
            ..Mark::default()
        });
        match &self.source {
            Source::Records(records) => {
                let records = Arc::clone(records);
                let reader = NumberedReader::new(records, selection, extent, numbered);
                return Ok(Box::new(reader));
            }
            Source::Documents(documents) => {
                let taken = documents
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .take();
                let gone = || std::io::Error::other("documents of an iterator are read once only");
                let documents = taken.ok_or_else(|| Fault::unreadable(gone()))?;
                let mark = mark.unwrap_or_default();
                return Ok(Box::new(IteratorReader::new(documents, selection, mark)?));
            }
            _ if self.format == Format::Parquet => {
                return self.parquet(selection)?.reader(extent, numbered);
            }
            _ => {}
        }
        let at = mark.unwrap_or_default();
        // A header is read from the top of the file.
        let is_table = matches!(self.format, Format::Csv | Format::Tsv);
        let mut rows = None;
        let (stream, format, at) = if is_table {
            let at = mark.unwrap_or_else(|| self.start_of_rows(extent));
            // A local file is sought in; of one behind a network, header and rows are asked for.
            let is_apart = at.byte_offset > 0
                && self.is_remote()
                && self.is_seekable()
                && self.has_compression(Compression::None);
            let end = match is_apart {
                true => HEAD_BYTES as u64,
                false => extent.end,
            };
            let (stream, format) = self.stream(selection, 0, end)?;
            if is_apart && self.is_plain() {
                let raw = self.open(at.byte_offset, extent.end)?;
                rows = Some(ByteStream::open(raw, self.how(selection), at.byte_offset)?);
            }
            (stream, format, at)
        } else if mark.is_some() || extent.start == 0 {
            let end = match self.has_cuttable_lines(selection) {
                true => extent.end,
                false => u64::MAX,
            };
            let (mut stream, format) = self.stream(selection, at.byte_offset, end)?;
            stream.discard_to(at.byte_offset)?;
            (stream, format, at)
        } else {
            let (stream, at) = self.lines_of_part(selection, extent)?;
            (stream, self.format, at)
        };
        let is_by_line = selection.text_unit == TextUnit::Line;
        Ok(match format {
            Format::Csv | Format::Tsv => {
                let end = extent.end;
                Box::new(CsvReader::new(stream, rows, format, selection, at, end)?)
            }
            Format::Text if !is_by_line => {
                Box::new(TextReader::new(stream, selection, at, u64::MAX))
            }
            Format::Text => Box::new(TextReader::new(stream, selection, at, extent.end)),
            Format::JsonLines => Box::new(JsonLinesReader::new(stream, selection, at, extent.end)),
            Format::Parquet => return Err(Fault::corrupt("Parquet cannot be read as a stream")),
        })
    }

    /// Opens the bytes of the file on the way to an offset, and tells what they hold: at the top
    /// they must look like what they are to be read as.
    fn stream(
        &self,
        selection: &CorpusOptions,
        offset: u64,
        end: u64,
    ) -> Result<(ByteStream, Format), Fault> {
        let raw = self.open(offset, end)?;
        let mut stream = ByteStream::open(raw, self.how(selection), offset)?;
        let format = match stream.looks(&selection.text_field, self.may_be_else())? {
            Some(looks) => self.agreed(looks)?,
            None => self.format,
        };
        if offset == 0 && stream.compression() == Compression::None {
            // Already known where somebody else has looked.
            let _ = self.is_utf16.set(!stream.is_plain());
        }
        Ok((stream, format))
    }

    /// Returns the bytes of a part of the file, which is one of lines, from the first line that
    /// begins in it, and where that is.
    fn lines_of_part(
        &self,
        selection: &CorpusOptions,
        extent: Extent,
    ) -> Result<(ByteStream, Mark), Fault> {
        // A line begins with the part if a break stands in front of it, so reading starts one byte
        // earlier. What stands in front of the first break belongs to the part before.
        let before = extent.start - 1;
        let raw = self.open(before, extent.end)?;
        let mut stream = ByteStream::open(raw, self.how(selection), before)?;
        stream.discard_to(before)?;
        // Not beyond the end: a line may reach over the whole part, which then has none of its own.
        stream.discard_line_until(extent.end)?;
        let mark = Mark {
            byte_offset: stream.offset(),
            ..Mark::default()
        };
        Ok((stream, mark))
    }
}
