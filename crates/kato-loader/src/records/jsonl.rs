//! Reads JSON Lines: one object a line.

use super::json_object::{self, FieldValue};
use super::python_json::HALF;
use super::{
    RecordReader, Sink, Step, broken_at, fault_at, invalid_utf8, missing, python_json, require_id,
    too_large,
};
use crate::bad_record::{BadReason, Fault};
use crate::byte_stream::{BYTE_ORDER_MARK, ByteStream, Line, without_break};
use crate::cursor::Mark;
use crate::options::CorpusOptions;

/// The objects of a file of lines.
pub(crate) struct JsonLinesReader {
    stream: ByteStream,
    text_field: String,
    id_field: Option<String>,
    limit: usize,
    /// Lines that begin here or behind are not read.
    end: u64,
    /// Where the record last read begins.
    begin: u64,
    mark: Mark,
}

impl JsonLinesReader {
    /// Creates a reader of the lines that begin between the mark and `end`.
    pub(crate) fn new(stream: ByteStream, selection: &CorpusOptions, mark: Mark, end: u64) -> Self {
        Self {
            stream,
            text_field: selection.text_field.clone(),
            id_field: selection.id_field.clone(),
            limit: selection.record_limit(),
            end,
            begin: mark.byte_offset,
            mark,
        }
    }

    /// Reads one line; returns `None` for a blank one, which is no record.
    fn read_line(&mut self, sink: &mut Sink<'_>) -> Result<Option<Step>, Fault> {
        let begin = self.mark;
        self.begin = begin.byte_offset;
        if begin.byte_offset >= self.end {
            return Ok(Some(Step::End));
        }
        let step = match self.stream.line(self.limit)? {
            Line::End => {
                self.mark.byte_offset = self.stream.offset();
                return Ok(Some(Step::End));
            }
            Line::TooLong => Some(Step::Bad(fault_at(begin, too_large(self.limit)))),
            Line::Found(len) => {
                let line = without_break(&self.stream.available()[..len]);
                let step = if line.trim_ascii().is_empty() {
                    None
                } else {
                    Some(match self.parse(line, sink) {
                        Ok(()) => Step::Record,
                        Err(reason) => Step::Bad(fault_at(begin, reason)),
                    })
                };
                self.stream.consume(len);
                step
            }
        };
        // A blank line is counted, so that record and line number are the same in this format.
        self.mark = Mark {
            record: begin.record + 1,
            line: begin.line + 1,
            byte_offset: self.stream.offset(),
        };
        Ok(step)
    }

    /// Appends text and id of a line to the sink.
    fn parse(&self, line: &[u8], sink: &mut Sink<'_>) -> Result<(), BadReason> {
        // Files of lines are put together of others, of which each may begin with a mark.
        let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        let line = std::str::from_utf8(line).map_err(invalid_utf8)?;
        let extract = |line: &str, sink: &mut Sink<'_>| {
            json_object::extract(line, &self.text_field, self.id_field.as_deref(), sink)
        };
        let start = sink.text.len();
        let (text, id) = extract(line, sink)
            .or_else(|error| match python_json::replaced(line) {
                Some(line) => {
                    sink.text.truncate(start);
                    sink.id.clear();
                    let found = extract(&line, sink)?;
                    match [&sink.text[start..], sink.id]
                        .iter()
                        .any(|text| text.contains(HALF))
                    {
                        true => Err(error),
                        false => Ok(found),
                    }
                }
                None => Err(error),
            })
            .map_err(|error| malformed(&error))?;
        require(text, &self.text_field)?;
        match &self.id_field {
            Some(field) => require(id, field).and_then(|()| require_id(sink, field)),
            None => Ok(()),
        }
    }
}

impl RecordReader for JsonLinesReader {
    fn read(&mut self, sink: &mut Sink<'_>) -> Step {
        loop {
            match self.read_line(sink) {
                Ok(Some(step)) => return step,
                Ok(None) => {}
                Err(fault) => return broken_at(self.mark, fault),
            }
        }
    }

    fn mark(&self) -> Mark {
        self.mark
    }

    fn begins_at(&self) -> u64 {
        self.begin
    }

    fn raw_bytes(&self) -> u64 {
        self.stream.raw_bytes()
    }
}

/// Refuses a field that does not hold text.
fn require(value: FieldValue, field: &str) -> Result<(), BadReason> {
    match value {
        FieldValue::Text => Ok(()),
        FieldValue::Nothing => Err(missing(field)),
        FieldValue::Other(found) => Err(BadReason::NotText {
            field: field.to_owned(),
            found: found.to_owned(),
        }),
    }
}

/// Returns the parser's message as a reason, without its position, which counts lines within the
/// one line that it was given.
fn malformed(error: &serde_json::Error) -> BadReason {
    let mut message = error.to_string();
    if let Some(at) = message.rfind(" at line ") {
        message.truncate(at);
    }
    BadReason::MalformedJson {
        message,
        column: error.column() as u64,
    }
}
