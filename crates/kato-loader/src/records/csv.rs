//! Reads delimiter-separated rows under a header, with fields quoted as in RFC 4180 or not at all.

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};

use super::quotes::Quotes;
use super::{RecordReader, Sink, Step, broken_at, fault_at, invalid_utf8, require_id, too_large};
use crate::bad_record::{BadReason, Fault, SkippedExtent};
use crate::byte_stream::ByteStream;
use crate::cursor::Mark;
use crate::options::{CorpusOptions, Format, Quoting};

/// Fields a row may always have, however small the record limit.
const MIN_FIELDS: usize = 1024;

/// Rows of a delimiter-separated file.
pub(crate) struct CsvReader {
    stream: ByteStream,
    format: Format,
    parser: Reader,
    /// None where fields are not quoted.
    quotes: Option<Quotes>,
    row: Row,
    n_columns: usize,
    text_column: usize,
    text_field: String,
    id_column: Option<usize>,
    id_field: Option<String>,
    limit: usize,
    mark: Mark,
    /// Rows that begin here or behind are not read.
    end: u64,
}

/// The unquoted fields of one row, side by side; the buffers are reused.
struct Row {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    len: usize,
    n_fields: usize,
}

/// How a row ended.
enum Parsed {
    Row,
    TooLong,
    UnclosedQuote,
    TextBehindQuote,
    End,
}

/// Returns what stands between the fields of a table.
const fn delimiter_of(format: Format) -> u8 {
    match format {
        Format::Tsv => b'\t',
        _ => b',',
    }
}

/// Returns the quotes of a table in front of its first row; `None` where fields are not quoted.
pub(crate) fn quotes_of(format: Format, selection: &CorpusOptions) -> Option<Quotes> {
    let quoting = selection.quoting.unwrap_or(match format {
        Format::Tsv => Quoting::None,
        _ => Quoting::Double,
    });
    (quoting == Quoting::Double).then(|| Quotes::new(delimiter_of(format)))
}

impl CsvReader {
    /// Reads the header from the beginning of the stream, then goes to the mark, behind which it reads the
    /// rows that begin before `end`: from `rows`, where those are at hand from the mark on.
    pub(crate) fn new(
        stream: ByteStream,
        rows: Option<ByteStream>,
        format: Format,
        selection: &CorpusOptions,
        mark: Mark,
        end: u64,
    ) -> Result<Self, Fault> {
        let quotes = quotes_of(format, selection);
        let mut reader = Self {
            stream,
            format,
            parser: ReaderBuilder::new()
                .delimiter(delimiter_of(format))
                .quoting(quotes.is_some())
                .build(),
            quotes,
            row: Row {
                bytes: vec![0; 4096],
                ends: vec![0; 64],
                len: 0,
                n_fields: 0,
            },
            n_columns: 0,
            text_column: 0,
            text_field: selection.text_field.clone(),
            id_column: None,
            id_field: selection.id_field.clone(),
            limit: selection.record_limit(),
            mark: Mark::default(),
            end,
        };
        // The parser drops a byte order mark in front of its first byte. Here that byte may stand
        // in the middle of the file, and the stream has dropped the mark of the file; so the parser
        // is given a blank line first.
        reader.parser.read_record(b"\n", &mut [], &mut []);
        // The blank line is not one of the file. The parser counts lines from 1, marks from 0.
        reader.parser.set_line(1);
        reader.read_header()?;
        // Marks in front of the first row are where the header has led already.
        if mark.byte_offset > reader.mark.byte_offset {
            match rows {
                Some(rows) => reader.stream = rows,
                None => reader.stream.discard_to(mark.byte_offset)?,
            }
            reader.parser.reset();
            reader.parser.read_record(b"\n", &mut [], &mut []);
            reader.parser.set_line(mark.line + 1);
            reader.mark = mark;
        }
        Ok(reader)
    }

    /// Reads the first row and finds the columns in it.
    fn read_header(&mut self) -> Result<(), Fault> {
        let begin = self.skip_breaks()?;
        let reason = match self.parse_row()? {
            Parsed::Row => match self.find_columns() {
                Ok(()) => {
                    self.advance(0);
                    return Ok(());
                }
                Err(reason) => self.other_table().unwrap_or(reason),
            },
            // An empty file has no header and no rows.
            Parsed::End => {
                self.advance(0);
                return Ok(());
            }
            Parsed::TooLong => too_large(self.limit),
            Parsed::UnclosedQuote => BadReason::UnclosedQuote,
            Parsed::TextBehindQuote => BadReason::TextBehindQuote,
        };
        // Without a header no row can be read, so the whole file is lost.
        let mut fault = Fault::for_file(reason);
        fault.line = Some(begin.line + 1);
        Err(fault)
    }

    /// Returns that the table has another delimiter, where its header is one field that holds such:
    /// no name of a column helps then.
    fn other_table(&self) -> Option<BadReason> {
        let header = (self.row.n_fields == 1).then(|| self.row.field(0))?;
        let holds = |delimiter| memchr::memchr(delimiter, header).is_some();
        let delimiter = delimiter_of(self.format);
        let others = [Format::Csv, Format::Tsv].into_iter();
        let mut others = others.filter(|other| *other != self.format);
        let not_read = [
            (b';', "a table of semicolons"),
            (b'|', "a table of vertical bars"),
        ];
        let mut not_read = not_read.into_iter();
        match others.find(|other| holds(delimiter_of(*other))) {
            Some(other) => Some(BadReason::AnotherFormat {
                read_as: self.format.name().to_owned(),
                looks_like: other.name().to_owned(),
            }),
            None => {
                let (_, what) = not_read.find(|(delimiter, _)| holds(*delimiter))?;
                Some(BadReason::Unsupported {
                    what: what.to_owned(),
                    instead: match delimiter {
                        b'\t' => "write it with tabs",
                        _ => "write it with commas",
                    }
                    .to_owned(),
                })
            }
        }
    }

    /// Finds the columns of text and id by their names.
    fn find_columns(&mut self) -> Result<(), BadReason> {
        self.n_columns = self.row.n_fields;
        self.text_column = self.column(&self.text_field)?;
        self.id_column = match &self.id_field {
            Some(field) => Some(self.column(field)?),
            None => None,
        };
        Ok(())
    }

    /// Returns the index of a column, or what columns there are instead.
    fn column(&self, field: &str) -> Result<usize, BadReason> {
        let mut names = (0..self.row.n_fields).map(|at| self.row.field(at));
        names
            .position(|name| name == field.as_bytes())
            .ok_or_else(|| {
                // A damaged file may have millions of columns; an error needs only some of them.
                let shown: Vec<_> = (0..self.row.n_fields.min(20))
                    .map(|at| String::from_utf8_lossy(self.row.field(at)))
                    .collect();
                BadReason::MissingColumn {
                    field: field.to_owned(),
                    columns: shown.join(", "),
                }
            })
    }

    /// Reads the next row into the sink.
    fn read_row(&mut self, sink: &mut Sink<'_>) -> Result<Step, Fault> {
        let begin = self.skip_breaks()?;
        if begin.byte_offset >= self.end {
            self.advance(0);
            return Ok(Step::End);
        }
        let parsed = self.parse_row()?;
        if matches!(parsed, Parsed::End) {
            self.advance(0);
            return Ok(Step::End);
        }
        self.advance(1);
        Ok(match parsed {
            Parsed::Row => match self.take_fields(sink) {
                Ok(()) => Step::Record,
                Err(reason) => Step::Bad(fault_at(begin, reason)),
            },
            Parsed::TooLong => Step::Bad(fault_at(begin, too_large(self.limit))),
            Parsed::TextBehindQuote => Step::Bad(fault_at(begin, BadReason::TextBehindQuote)),
            // The quoted field has swallowed the rest of the file: where its rows begin cannot be
            // known.
            Parsed::UnclosedQuote | Parsed::End => {
                let mut fault = fault_at(begin, BadReason::UnclosedQuote);
                fault.lost = SkippedExtent::RestOfFile;
                Step::Broken(fault)
            }
        })
    }

    /// Appends text and id of the row to the sink.
    fn take_fields(&self, sink: &mut Sink<'_>) -> Result<(), BadReason> {
        // A missing or extra delimiter shifts fields: the text could be that of another column.
        if self.row.n_fields != self.n_columns {
            return Err(BadReason::FieldCount {
                expected: self.n_columns as u64,
                found: self.row.n_fields as u64,
            });
        }
        if let (Some(column), Some(field)) = (self.id_column, &self.id_field) {
            let id = std::str::from_utf8(self.row.field(column)).map_err(invalid_utf8)?;
            sink.id.push_str(id);
            require_id(sink, field)?;
        }
        let text = std::str::from_utf8(self.row.field(self.text_column)).map_err(invalid_utf8)?;
        sink.text.push_str(text);
        Ok(())
    }

    /// Skips line breaks in front of a row, so that the row's first line and byte are known.
    fn skip_breaks(&mut self) -> Result<Mark, Fault> {
        loop {
            let available = self.stream.available();
            let is_break = |byte: &&u8| matches!(byte, b'\n' | b'\r');
            let breaks = available.iter().take_while(is_break).count();
            let lines = memchr::memchr_iter(b'\n', &available[..breaks]).count() as u64;
            let more = breaks == available.len();
            self.stream.consume(breaks);
            self.parser.set_line(self.parser.line() + lines);
            if !more || !self.stream.fill()? {
                return Ok(Mark {
                    record: self.mark.record,
                    line: self.parser.line() - 1,
                    byte_offset: self.stream.offset(),
                });
            }
        }
    }

    /// Parses the next row into the buffers.
    fn parse_row(&mut self) -> Result<Parsed, Fault> {
        self.row.len = 0;
        self.row.n_fields = 0;
        if let Some(quotes) = &mut self.quotes {
            quotes.begin();
        }
        let mut parsed = Parsed::Row;
        // At the end of the input a line break is put behind the last byte. It closes any row but
        // one with an open quote, which shows that the file was cut off there.
        let mut closed = false;
        loop {
            // To the parser, an empty input is the end of the file: it is only given where that is
            // so.
            let ended = self.stream.available().is_empty() && !self.stream.fill()?;
            let input = match (ended, closed) {
                (false, _) => self.stream.available(),
                (true, false) => b"\n",
                (true, true) => b"",
            };
            let cut_off = ended && closed;
            let (result, n_in, n_out, n_ends) = self.parser.read_record(
                input,
                &mut self.row.bytes[self.row.len..],
                &mut self.row.ends[self.row.n_fields..],
            );
            if let Some(quotes) = &mut self.quotes {
                quotes.follow(&input[..n_in]);
            }
            if !ended {
                self.stream.consume(n_in);
            } else if n_in > 0 {
                closed = true;
                // The break that was put in is not one of the file.
                self.parser.set_line(self.parser.line() - 1);
            }
            self.row.len += n_out;
            self.row.n_fields += n_ends;
            if self.row.len > self.limit {
                // Parsed to its end all the same: only that shows where the next row begins.
                parsed = Parsed::TooLong;
            }
            match result {
                ReadRecordResult::Record if cut_off => return Ok(Parsed::UnclosedQuote),
                ReadRecordResult::Record => {
                    let is_broken = self.quotes.as_ref().is_some_and(Quotes::is_broken);
                    return Ok(match parsed {
                        Parsed::Row if is_broken => Parsed::TextBehindQuote,
                        _ => parsed,
                    });
                }
                ReadRecordResult::End => return Ok(Parsed::End),
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull | ReadRecordResult::OutputEndsFull => {
                    if !self.row.make_room(self.limit) {
                        parsed = Parsed::TooLong;
                    }
                }
            }
        }
    }

    /// Moves the mark to where the parser is.
    fn advance(&mut self, records: u64) {
        self.mark = Mark {
            record: self.mark.record + records,
            line: self.parser.line() - 1,
            byte_offset: self.stream.offset(),
        };
    }
}

impl Row {
    /// Returns the bytes of a field.
    fn field(&self, at: usize) -> &[u8] {
        let start = match at {
            0 => 0,
            _ => self.ends[at - 1],
        };
        &self.bytes[start..self.ends[at]]
    }

    /// Doubles the buffer that is full; returns false, and drops the row's content, when the row
    /// has become too long.
    fn make_room(&mut self, limit: usize) -> bool {
        // A row of empty fields has no bytes and could still fill memory with the ends of its
        // fields.
        let oversized =
            self.len > limit || self.n_fields > (limit / size_of::<usize>()).max(MIN_FIELDS);
        if oversized {
            self.len = 0;
            self.n_fields = 0;
        } else {
            if self.len == self.bytes.len() {
                self.bytes.resize(self.bytes.len() * 2, 0);
            }
            if self.n_fields == self.ends.len() {
                self.ends.resize(self.ends.len() * 2, 0);
            }
        }
        !oversized
    }
}

impl RecordReader for CsvReader {
    fn read(&mut self, sink: &mut Sink<'_>) -> Step {
        self.read_row(sink)
            .unwrap_or_else(|fault| broken_at(self.mark, fault))
    }

    fn mark(&self) -> Mark {
        self.mark
    }

    fn begins_at(&self) -> u64 {
        // A row is named by its number, as rows of CSV are always counted from the top.
        0
    }

    fn raw_bytes(&self) -> u64 {
        self.stream.raw_bytes()
    }
}
