//! Opens the records of a part of a file.

use super::InputFile;
use crate::bad_record::Fault;
use crate::byte_stream::ByteStream;
use crate::cursor::Mark;
use crate::extent::Extent;
use crate::options::{CorpusOptions, Format, TextUnit};
use crate::records::RecordReader;
use crate::records::csv::CsvReader;
use crate::records::jsonl::JsonLinesReader;
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
        let at = mark.unwrap_or_default();
        let whole = || {
            let raw = self.open(at.byte_offset, u64::MAX)?;
            ByteStream::open(raw, self.compression, at.byte_offset)
        };
        // A header is read from the top of the file.
        let from_top = || ByteStream::open(self.open(0, u64::MAX)?, self.compression, 0);
        Ok(match self.format {
            Format::Parquet => {
                let at = mark.unwrap_or(Mark {
                    record: extent.start,
                    ..Mark::default()
                });
                let parquet = self.parquet(selection)?;
                parquet.reader(extent, at)?
            }
            Format::Csv => Box::new(CsvReader::new(from_top()?, b',', selection, at)?),
            Format::Tsv => Box::new(CsvReader::new(from_top()?, b'\t', selection, at)?),
            Format::Text if selection.text_unit != TextUnit::Line => {
                Box::new(TextReader::new(whole()?, selection, at, u64::MAX))
            }
            Format::Text => {
                let (stream, at) = self.lines(extent, mark)?;
                Box::new(TextReader::new(stream, selection, at, extent.end))
            }
            Format::JsonLines => {
                let (stream, at) = self.lines(extent, mark)?;
                Box::new(JsonLinesReader::new(stream, selection, at, extent.end))
            }
        })
    }

    /// Returns the bytes of a part of the file, which is one of lines, from the first line that
    /// begins in it, and where that is.
    fn lines(&self, extent: Extent, mark: Option<Mark>) -> Result<(ByteStream, Mark), Fault> {
        if mark.is_some() || extent.start == 0 {
            let mark = mark.unwrap_or_default();
            let raw = self.open(mark.byte_offset, extent.end)?;
            let stream = ByteStream::open(raw, self.compression, mark.byte_offset)?;
            return Ok((stream, mark));
        }
        // A line begins with the part if a break stands in front of it, so reading starts one byte
        // earlier. What stands in front of the first break belongs to the part before.
        let before = extent.start - 1;
        let raw = self.open(before, extent.end)?;
        let mut stream = ByteStream::open(raw, self.compression, before)?;
        // Not beyond the end: a line may reach over the whole part, which then has none of its own.
        stream.discard_line_until(extent.end)?;
        let mark = Mark {
            byte_offset: stream.offset(),
            ..Mark::default()
        };
        Ok((stream, mark))
    }
}
