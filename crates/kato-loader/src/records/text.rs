//! Reads plain text: a document per file, per line or per paragraph.

use super::lines::Lines;
use super::{RecordReader, Sink, Step, binary, broken_at, fault_at, invalid_utf8, too_large};
use crate::bad_record::{Fault, SkippedExtent};
use crate::byte_stream::{ByteStream, Line, without_break};
use crate::cursor::Mark;
use crate::options::{CorpusOptions, TextUnit};

/// The documents of a plain text.
pub(crate) struct TextReader {
    lines: Lines,
    unit: TextUnit,
    /// Lines of the current paragraph; the buffer is reused.
    paragraph: Vec<u8>,
}

impl TextReader {
    /// Creates a reader from the mark on; `end` matters only where a document is a line.
    pub(crate) fn new(stream: ByteStream, selection: &CorpusOptions, mark: Mark, end: u64) -> Self {
        Self {
            lines: Lines::new(stream, selection, mark, end),
            unit: selection.text_unit,
            paragraph: Vec::new(),
        }
    }

    /// Reads one line as a document.
    fn read_line(&mut self, sink: &mut Sink<'_>) -> Result<Step, Fault> {
        self.lines.read(|line, begin| push(line, sink, begin))
    }

    /// Reads the lines up to the next blank one as a document.
    fn read_paragraph(&mut self, sink: &mut Sink<'_>) -> Result<Step, Fault> {
        self.paragraph.clear();
        let mut begin = None;
        let mut oversized = false;
        loop {
            let line_at = self.position();
            let found = self.lines.stream.line(self.lines.limit)?;
            if let Line::Found(len) = found {
                let line = &self.lines.stream.available()[..len];
                let blank = is_blank(line);
                if !blank {
                    // Read to its end all the same, without keeping it: only the next blank line
                    // says where the next paragraph begins.
                    oversized |= self.paragraph.len() + len > self.lines.limit;
                    if !oversized {
                        self.paragraph.extend_from_slice(line);
                    }
                }
                self.lines.stream.consume(len);
                self.lines.mark.line += 1;
                match (blank, begin) {
                    // Blank lines in front of a paragraph belong to none: it begins at its first
                    // line.
                    (true, None) => {}
                    (true, Some(_)) => break,
                    (false, _) => begin = begin.or(Some(line_at)),
                }
            } else if matches!(found, Line::TooLong) {
                oversized = true;
                self.lines.mark.line += 1;
                begin = begin.or(Some(line_at));
            } else {
                break;
            }
        }
        self.lines.mark.byte_offset = self.lines.stream.offset();
        // Only blank lines were left, if anything. The mark lies behind them, at the end of the
        // file.
        let Some(begin) = begin else {
            return Ok(Step::End);
        };
        self.lines.mark.record += 1;
        Ok(if oversized {
            Step::Bad(fault_at(begin, too_large(self.lines.limit)))
        } else {
            push(without_break(&self.paragraph), sink, begin)
        })
    }

    /// Reads the whole file as a document.
    fn read_file(&mut self, sink: &mut Sink<'_>) -> Result<Step, Fault> {
        if self.lines.mark.record > 0 {
            return Ok(Step::End);
        }
        loop {
            // Checked before more is read, so that a file beyond the limit is never held in memory.
            if self.lines.stream.available().len() > self.lines.limit {
                let mut fault = fault_at(self.lines.mark, too_large(self.lines.limit));
                fault.lost = SkippedExtent::RestOfFile;
                return Ok(Step::Broken(fault));
            }
            if !self.lines.stream.fill()? {
                break;
            }
        }
        let content = self.lines.stream.available();
        let len = content.len();
        let lines = memchr::memchr_iter(b'\n', content).count() as u64;
        let step = push(content, sink, self.lines.mark);
        self.lines.stream.consume(len);
        self.lines.mark = Mark {
            record: 1,
            line: lines,
            byte_offset: self.lines.stream.offset(),
        };
        Ok(step)
    }

    /// Returns the mark, with the offset of the line about to be read.
    fn position(&self) -> Mark {
        Mark {
            byte_offset: self.lines.stream.offset(),
            ..self.lines.mark
        }
    }
}

impl RecordReader for TextReader {
    fn read(&mut self, sink: &mut Sink<'_>) -> Step {
        let step = match self.unit {
            TextUnit::File => self.read_file(sink),
            TextUnit::Line => self.read_line(sink),
            TextUnit::Paragraphs => self.read_paragraph(sink),
        };
        step.unwrap_or_else(|fault| broken_at(self.lines.mark, fault))
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

/// Appends a document to the sink, if it is UTF-8.
fn push(bytes: &[u8], sink: &mut Sink<'_>, begin: Mark) -> Step {
    match std::str::from_utf8(bytes) {
        // No text has zeros, and binary data that is valid UTF-8 has them.
        Ok(text) if memchr::memchr(0, bytes).is_none() => {
            sink.text.push_str(text);
            Step::Record
        }
        Ok(_) => Step::Bad(fault_at(begin, binary())),
        Err(error) => Step::Bad(fault_at(begin, invalid_utf8(error))),
    }
}

/// Returns whether a line separates paragraphs.
///
/// ASCII decides nearly always; only a line that could be exotic white space is looked at as text.
fn is_blank(line: &[u8]) -> bool {
    match line.iter().find(|byte| !byte.is_ascii_whitespace()) {
        None => true,
        // The vertical tab is white space to `str::trim`, and not to `is_ascii_whitespace`.
        Some(byte) if byte.is_ascii() && *byte != 0x0B => false,
        Some(_) => std::str::from_utf8(line).is_ok_and(|text| text.trim().is_empty()),
    }
}
