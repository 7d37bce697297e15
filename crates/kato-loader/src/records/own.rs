//! Reads the records of a program's own sources: by their numbers, or one after the other.

use std::io;
use std::sync::Arc;

use super::{RecordReader, Sink, Step, too_large};
use crate::bad_record::{BadReason, Fault, SkippedExtent};
use crate::cursor::Mark;
use crate::document::Document;
use crate::extent::Extent;
use crate::options::CorpusOptions;
use crate::own_records::Records;

/// Bytes of text that are read at once, about.
const PORTION_BYTES: u64 = 1 << 20;

/// An iterator of documents, which can be taken once.
pub(crate) type Documents = Box<dyn Iterator<Item = io::Result<Document>> + Send>;

/// Returns the parts of a source that are read on their own, of about so many bytes of text each.
pub(crate) fn cut(records: &dyn Records, part_bytes: u64) -> Vec<Extent> {
    let n_records = records.n_records();
    let mean_bytes = records.mean_bytes().max(1);
    let step = (part_bytes / mean_bytes).max(1);
    let part = |number: u64| {
        let start = number * step;
        let end = (start + step).min(n_records);
        Extent {
            start,
            end,
            records: Some(end - start),
            text_bytes: (end - start).saturating_mul(mean_bytes),
        }
    };
    (0..n_records.div_ceil(step)).map(part).collect()
}

/// Reads records by their numbers, in portions.
pub(crate) struct NumberedReader {
    records: Arc<dyn Records>,
    limit: usize,
    mark: Mark,
    end: u64,
    portion: std::vec::IntoIter<Document>,
}

impl NumberedReader {
    /// Opens a part of a source at a mark in it.
    pub(crate) fn new(
        records: Arc<dyn Records>,
        selection: &CorpusOptions,
        extent: Extent,
        mark: Mark,
    ) -> Self {
        Self {
            records,
            limit: selection.record_limit(),
            mark,
            end: extent.end,
            portion: Vec::new().into_iter(),
        }
    }

    /// Reads the next portion.
    fn fetch(&mut self) -> Result<(), Fault> {
        let step = (PORTION_BYTES / self.records.mean_bytes().max(1)).max(1);
        let start = self.mark.record;
        let end = start.saturating_add(step).min(self.end);
        let read = self.records.read(start..end).map_err(Fault::unreadable)?;
        let n_read = read.len() as u64;
        if n_read != end - start {
            let text = format!("records {start} to {end} were asked for, and {n_read} came");
            return Err(Fault::unreadable(io::Error::other(text)));
        }
        self.portion = read.into_iter();
        Ok(())
    }
}

impl RecordReader for NumberedReader {
    fn read(&mut self, sink: &mut Sink<'_>) -> Step {
        if self.mark.record >= self.end {
            return Step::End;
        }
        if self.portion.len() == 0
            && let Err(mut fault) = self.fetch()
        {
            fault.record = Some(self.mark.record + 1);
            fault.lost = SkippedExtent::Records(self.end - self.mark.record);
            self.mark.record = self.end;
            return Step::Bad(fault);
        }
        self.mark.record += 1;
        let document = self.portion.next().unwrap_or_else(|| Document::new(""));
        push(&document, self.limit, self.mark, sink)
    }

    fn mark(&self) -> Mark {
        self.mark
    }

    fn begins_at(&self) -> u64 {
        // Records are found by number.
        0
    }

    fn raw_bytes(&self) -> u64 {
        self.mark.record.saturating_mul(self.records.mean_bytes())
    }
}

/// Reads what an iterator gives.
pub(crate) struct IteratorReader {
    documents: Documents,
    limit: usize,
    mark: Mark,
}

impl IteratorReader {
    /// Goes on behind a mark: what lies in front of it is taken from the iterator and passed over.
    pub(crate) fn new(
        mut documents: Documents,
        selection: &CorpusOptions,
        mark: Mark,
    ) -> Result<Self, Fault> {
        for _ in 0..mark.record {
            match documents.next() {
                Some(document) => drop(document.map_err(Fault::unreadable)?),
                None => return Err(Fault::for_file(BadReason::EndsBeforeCursor)),
            }
        }
        Ok(Self {
            documents,
            limit: selection.record_limit(),
            mark,
        })
    }
}

impl RecordReader for IteratorReader {
    fn read(&mut self, sink: &mut Sink<'_>) -> Step {
        let document = match self.documents.next() {
            Some(Ok(document)) => document,
            Some(Err(error)) => return Step::Broken(Fault::unreadable(error)),
            None => return Step::End,
        };
        self.mark.record += 1;
        // One more than the text, so that a mark behind a record is never one at the beginning.
        self.mark.byte_offset += document.text.len() as u64 + 1;
        push(&document, self.limit, self.mark, sink)
    }

    fn mark(&self) -> Mark {
        self.mark
    }

    fn begins_at(&self) -> u64 {
        0
    }

    fn raw_bytes(&self) -> u64 {
        self.mark.byte_offset
    }
}

/// Hands a document on, unless it is too long.
fn push(document: &Document, limit: usize, mark: Mark, sink: &mut Sink<'_>) -> Step {
    if document.text.len() > limit {
        let mut fault = Fault::for_file(too_large(limit));
        fault.record = Some(mark.record);
        fault.lost = SkippedExtent::Record;
        return Step::Bad(fault);
    }
    sink.text.push_str(&document.text);
    if !document.id.is_empty() {
        sink.id.push_str(&document.id.to_string());
    }
    Step::Record
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use proptest::prelude::*;

    use super::*;

    /// A source of so many records of so many bytes, about.
    #[derive(Debug)]
    struct Source(u64, u64);

    impl Records for Source {
        fn n_records(&self) -> u64 {
            self.0
        }

        fn read(&self, _: Range<u64>) -> io::Result<Vec<Document>> {
            Ok(Vec::new())
        }

        fn fingerprint(&self) -> String {
            String::new()
        }

        fn mean_bytes(&self) -> u64 {
            self.1
        }
    }

    proptest! {
        #[test]
        fn parts_hold_as_many_records_as_fit_and_one_at_least(n in 0..300u64, mean in 0..50u64, most in 0..200u64) {
            let parts = cut(&Source(n, mean), most);
            let mean = mean.max(1);
            let (mut begin, mut left) = (0, parts.len());
            for part in parts {
                left -= 1;
                let n_records = part.end - part.start;
                let bytes = n_records * mean;
                prop_assert_eq!((part.start, part.records, part.text_bytes), (begin, Some(n_records), bytes));
                prop_assert!(n_records == 1 || bytes <= most);
                prop_assert!(left == 0 || bytes + mean > most);
                begin = part.end;
            }
            prop_assert_eq!(begin, n);
        }
    }
}
