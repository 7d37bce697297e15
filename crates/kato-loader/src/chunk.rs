//! Decoded records, to be handed from one thread to another.

use std::ops::Range;

use crate::bad_record::Fault;
use crate::cursor::Mark;
use crate::records::{RecordReader, Sink, Step};

/// Consecutive records of one part of a file.
#[derive(Default)]
pub(crate) struct Chunk {
    text: String,
    ids: String,
    pub(crate) entries: Vec<Entry>,
    /// The position behind the records.
    pub(crate) mark: Mark,
    /// Roughly how many bytes of the file lie behind it.
    pub(crate) raw_bytes: u64,
    /// Whether the part has no further records.
    pub(crate) is_last: bool,
}

/// One record, good or bad.
pub(crate) struct Entry {
    /// Where its text ends in the chunk's; it begins where that of the entry before ends.
    text_end: usize,
    id_end: usize,
    /// Offset at which it begins; 0 where records are found by number.
    pub(crate) begin: u64,
    /// The position behind it.
    pub(crate) mark: Mark,
    pub(crate) outcome: Outcome,
}

impl Entry {
    /// Returns whether its fault was taken out.
    pub(crate) fn is_taken(&self) -> bool {
        matches!(self.outcome, Outcome::Bad(None) | Outcome::Broken(None))
    }

    /// Takes out the fault, if it stands for a stretch that could not be reached.
    pub(crate) fn take_transient_fault(&mut self) -> Option<Fault> {
        match &mut self.outcome {
            Outcome::Record => None,
            Outcome::Bad(fault) | Outcome::Broken(fault) => {
                fault.take_if(|fault| fault.is_transient())
            }
        }
    }
}

/// What a record turned out to be.
pub(crate) enum Outcome {
    /// Text and id are in the chunk.
    Record,
    /// Bad; the fault is there until it is taken.
    Bad(Option<Fault>),
    /// Bad, and nothing behind it can be read.
    Broken(Option<Fault>),
}

impl Chunk {
    /// Reads until the records reach `target_bytes` or the part ends.
    ///
    /// The memory of `spare` is filled again: fresh pages cost more than what is written into them.
    pub(crate) fn fill(
        reader: &mut dyn RecordReader,
        target_bytes: usize,
        spare: Option<Self>,
    ) -> Self {
        let mut chunk = spare.unwrap_or_default();
        chunk.text.clear();
        chunk.ids.clear();
        chunk.entries.clear();
        // The last record usually passes the target: an eighth more keeps most chunks from growing,
        // which would copy them.
        chunk
            .text
            .reserve(target_bytes.saturating_add(target_bytes / 8));
        chunk.is_last = false;
        let mut id = String::new();
        // Entries count, too: records of little or no text would otherwise fill memory without end.
        let filled = |chunk: &Self| chunk.text.len() + chunk.entries.len() * size_of::<Entry>();
        while filled(&chunk) < target_bytes && !chunk.is_last {
            let start = chunk.text.len();
            id.clear();
            let step = reader.read(&mut Sink {
                text: &mut chunk.text,
                id: &mut id,
            });
            let outcome = match step {
                Step::Record => Outcome::Record,
                Step::Bad(fault) => Outcome::Bad(Some(fault)),
                Step::Broken(fault) => {
                    chunk.is_last = true;
                    Outcome::Broken(Some(fault))
                }
                Step::End => {
                    chunk.is_last = true;
                    break;
                }
            };
            if !matches!(outcome, Outcome::Record) {
                // What a bad record appended before its fault was found belongs to no entry.
                chunk.text.truncate(start);
                id.clear();
            }
            chunk.ids.push_str(&id);
            chunk.entries.push(Entry {
                text_end: chunk.text.len(),
                id_end: chunk.ids.len(),
                begin: reader.begins_at(),
                mark: reader.mark(),
                outcome,
            });
        }
        chunk.mark = reader.mark();
        chunk.raw_bytes = reader.raw_bytes();
        chunk
    }

    /// Creates the only chunk of a part that cannot be opened.
    pub(crate) fn broken(fault: Fault) -> Self {
        Self::of_one(Outcome::Broken(Some(fault)))
    }

    /// Creates the chunk of a single bad record.
    pub(crate) fn bad(fault: Fault) -> Self {
        Self::of_one(Outcome::Bad(Some(fault)))
    }

    /// Creates the only chunk of a part with one entry and no text.
    fn of_one(outcome: Outcome) -> Self {
        let entry = Entry {
            text_end: 0,
            id_end: 0,
            begin: 0,
            mark: Mark::default(),
            outcome,
        };
        Self {
            text: String::new(),
            ids: String::new(),
            entries: vec![entry],
            mark: Mark::default(),
            raw_bytes: 0,
            is_last: true,
        }
    }

    /// Returns whether the chunk reaches the end of its part, and nothing broke on the way.
    pub(crate) fn is_whole(&self) -> bool {
        let last = self.entries.last();
        self.is_last && !last.is_some_and(|last| matches!(last.outcome, Outcome::Broken(_)))
    }

    /// Returns whether it shows that there is some text; what is bad is there, too.
    pub(crate) fn has_text(&self) -> bool {
        let is_record = |entry: &Entry| matches!(entry.outcome, Outcome::Record);
        !self.text.trim_start().is_empty() || !self.entries.iter().all(is_record)
    }

    /// Returns its memory, in bytes, but for what an allocator adds.
    ///
    /// The same number from filling to recycling, as the budget relies on.
    pub(crate) fn memory(&self) -> usize {
        self.text.capacity() + self.ids.capacity() + self.entries.len() * size_of::<Entry>()
    }

    /// Returns the bytes of its records, which may be less than its [memory](Self::memory).
    pub(crate) fn record_bytes(&self) -> usize {
        self.text.len() + self.ids.len() + self.entries.len() * size_of::<Entry>()
    }

    /// Returns the bytes of its longest text.
    pub(crate) fn longest_text(&self) -> usize {
        let mut start = 0;
        let lengths = self.entries.iter().map(|entry| {
            let length = entry.text_end - start;
            start = entry.text_end;
            length
        });
        lengths.max().unwrap_or(0)
    }

    /// Keeps the records that `keeps` wants by their positions, and no more memory than these need.
    pub(crate) fn retain(&mut self, mut keeps: impl FnMut(usize, &Entry) -> bool) {
        let (text, ids) = (
            std::mem::take(&mut self.text),
            std::mem::take(&mut self.ids),
        );
        let (mut at, mut text_start, mut id_start) = (0, 0, 0);
        self.entries.retain_mut(|entry| {
            let (text_end, id_end) = (entry.text_end, entry.id_end);
            let is_kept = keeps(at, entry);
            if is_kept {
                self.text.push_str(&text[text_start..text_end]);
                self.ids.push_str(&ids[id_start..id_end]);
                (entry.text_end, entry.id_end) = (self.text.len(), self.ids.len());
            }
            (at, text_start, id_start) = (at + 1, text_end, id_end);
            is_kept
        });
        self.text.shrink_to_fit();
        self.ids.shrink_to_fit();
        self.entries.shrink_to_fit();
    }

    /// Appends text and id of the record at a position of the chunk.
    pub(crate) fn push_to(&self, at: usize, sink: &mut Sink<'_>) {
        let range = |end: fn(&Entry) -> usize| -> Range<usize> {
            let start = at.checked_sub(1).map_or(0, |at| end(&self.entries[at]));
            start..end(&self.entries[at])
        };
        sink.text
            .push_str(&self.text[range(|entry| entry.text_end)]);
        sink.id.push_str(&self.ids[range(|entry| entry.id_end)]);
    }
}
