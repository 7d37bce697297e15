//! Records that were decoded on another thread.

use crate::bad_record::{BadReason, Fault};
use crate::chunk::{Chunk, Outcome};
use crate::cursor::Mark;
use crate::records::{RecordReader, Sink, Step};
use crate::workers::ChunkStream;

/// Records decoded on another thread, offered as if they were read here.
pub(super) struct DecodedReader {
    records: ChunkStream,
    chunk: Option<Chunk>,
    at: usize,
    mark: Mark,
    begin: u64,
    raw_bytes: u64,
}

impl DecodedReader {
    pub(super) fn new(records: ChunkStream) -> Self {
        Self {
            records,
            chunk: None,
            at: 0,
            mark: Mark::default(),
            begin: 0,
            raw_bytes: 0,
        }
    }
}

impl RecordReader for DecodedReader {
    fn read(&mut self, sink: &mut Sink<'_>) -> Step {
        loop {
            let Some(chunk) = &mut self.chunk else {
                self.at = 0;
                self.chunk = self.records.next();
                match &self.chunk {
                    Some(_) => continue,
                    None => {
                        // A part's last chunk says that it is the last: an end without one means
                        // that the decoding was given up.
                        return Step::Broken(Fault::for_file(BadReason::Unreadable {
                            message: "reading was cancelled".to_owned(),
                        }));
                    }
                }
            };
            if let Some(entry) = chunk.entries.get_mut(self.at) {
                (self.mark, self.begin) = (entry.mark, entry.begin);
                let step = match &mut entry.outcome {
                    Outcome::Record => None,
                    Outcome::Bad(fault) => fault.take().map(Step::Bad),
                    Outcome::Broken(fault) => fault.take().map(Step::Broken),
                };
                if step.is_none() {
                    chunk.push_to(self.at, sink);
                }
                self.at += 1;
                return step.unwrap_or(Step::Record);
            }
            // Behind the last record there may be more bytes, such as blank lines: the end of a
            // part is the chunk's mark and not that of its last entry.
            self.mark = chunk.mark;
            self.raw_bytes = chunk.raw_bytes;
            let is_last = chunk.is_last;
            if let Some(chunk) = self.chunk.take() {
                self.records.recycle(chunk);
            }
            if is_last {
                return Step::End;
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
        self.raw_bytes
    }
}
