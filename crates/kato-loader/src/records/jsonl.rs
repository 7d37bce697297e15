//! Reads JSON Lines: one object a line.

use super::json_object::{self, FieldValue};
use super::lines::Lines;
use super::python_json::HALF;
use super::{
    RecordReader, Sink, Step, broken_at, fault_at, invalid_utf8, missing, python_json, require_id,
};
use crate::bad_record::{BadReason, Fault};
use crate::byte_stream::{BYTE_ORDER_MARK, ByteStream};
use crate::cursor::Mark;
use crate::options::CorpusOptions;

/// The objects of a file of lines.
pub(crate) struct JsonLinesReader {
    lines: Lines,
    fields: Fields,
}

/// The fields of an object that are read.
struct Fields {
    text: String,
    id: Option<String>,
}

impl JsonLinesReader {
    /// Creates a reader of the lines that begin between the mark and `end`.
    pub(crate) fn new(stream: ByteStream, selection: &CorpusOptions, mark: Mark, end: u64) -> Self {
        Self {
            lines: Lines::new(stream, selection, mark, end),
            fields: Fields {
                text: selection.text_field.clone(),
                id: selection.id_field.clone(),
            },
        }
    }

    /// Reads one line; returns `None` for a blank one, which is no record.
    fn read_line(&mut self, sink: &mut Sink<'_>) -> Result<Option<Step>, Fault> {
        let fields = &self.fields;
        self.lines.read(|line, begin| {
            if line.trim_ascii().is_empty() {
                return None;
            }
            Some(match fields.parse(line, sink) {
                Ok(()) => Step::Record,
                Err(reason) => Step::Bad(fault_at(begin, reason)),
            })
        })
    }
}

impl Fields {
    /// Appends text and id of a line to the sink.
    fn parse(&self, line: &[u8], sink: &mut Sink<'_>) -> Result<(), BadReason> {
        // Files of lines are put together of others, of which each may begin with a mark.
        let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        let line = std::str::from_utf8(line).map_err(invalid_utf8)?;
        let extract = |line: &str, sink: &mut Sink<'_>| {
            json_object::extract(line, &self.text, self.id.as_deref(), sink)
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
        require(text, &self.text)?;
        match &self.id {
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
                Err(fault) => return broken_at(self.lines.mark, fault),
            }
        }
    }

    fn mark(&self) -> Mark {
        self.lines.mark
    }

    fn begins_at(&self) -> u64 {
        self.lines.begins_at()
    }

    fn raw_bytes(&self) -> u64 {
        self.lines.stream.raw_bytes()
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
