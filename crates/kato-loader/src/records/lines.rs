//! Reads the lines of a file of which each is a record, or is passed over.

use super::{Step, fault_at, too_large};
use crate::bad_record::Fault;
use crate::byte_stream::{ByteStream, Line, without_break};
use crate::cursor::Mark;
use crate::options::CorpusOptions;

/// The lines of a file, and where they are read.
pub(super) struct Lines {
    pub(super) stream: ByteStream,
    pub(super) limit: usize,
    pub(super) mark: Mark,
    /// Lines that begin here or behind are not read.
    end: u64,
    /// Where the line last read begins.
    begin: u64,
}

impl Lines {
    /// Begins with the line at the mark, and reads those that begin before `end`.
    pub(super) fn new(stream: ByteStream, selection: &CorpusOptions, mark: Mark, end: u64) -> Self {
        Self {
            stream,
            limit: selection.record_limit(),
            mark,
            end,
            begin: mark.byte_offset,
        }
    }

    /// Returns where the line last read begins.
    pub(super) const fn begins_at(&self) -> u64 {
        self.begin
    }

    /// Reads one line by `record`, which gets it with its place. A format that passes over lines answers
    /// `Option<Step>`, another one `Step`.
    pub(super) fn read<S: From<Step>>(
        &mut self,
        record: impl FnOnce(&[u8], Mark) -> S,
    ) -> Result<S, Fault> {
        let begin = self.mark;
        self.begin = begin.byte_offset;
        if begin.byte_offset >= self.end {
            return Ok(Step::End.into());
        }
        let step = match self.stream.line(self.limit)? {
            Line::End => {
                self.mark.byte_offset = self.stream.offset();
                return Ok(Step::End.into());
            }
            Line::TooLong => Step::Bad(fault_at(begin, too_large(self.limit))).into(),
            Line::Found(len) => {
                let step = record(without_break(&self.stream.available()[..len]), begin);
                self.stream.consume(len);
                step
            }
        };
        // One that is no record is counted, so that record and line number are the same.
        self.mark = Mark {
            record: begin.record + 1,
            line: begin.line + 1,
            byte_offset: self.stream.offset(),
        };
        Ok(step)
    }
}
