//! The batches of a commit as one: patterns merged by name, in bounded memory.

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BinaryHeap, VecDeque};

use kato_model::PatternName;
use kato_store::StoreError;

use crate::record::OpenRun;
use crate::staging::{BatchSource, BlobKind, PatternDelta};

/// The patterns of a node over all batches of a commit, in name order, each name once.
pub(crate) struct Merge<'a> {
    run: &'a OpenRun,
    readers: Vec<Reader<'a>>,
    /// The next name of every reader that has one.
    heads: BinaryHeap<Reverse<([u8; PatternName::BYTES], usize)>>,
}

/// The patterns of one batch, read blob by blob.
struct Reader<'a> {
    source: &'a BatchSource,
    kind: BlobKind,
    next_blob: usize,
    n_blobs: usize,
    patterns: VecDeque<PatternDelta>,
}

impl Reader<'_> {
    /// Makes sure that the next pattern is in memory, and returns its name; `None` at the end.
    fn fill(&mut self, run: &OpenRun) -> Result<Option<[u8; PatternName::BYTES]>, StoreError> {
        while self.patterns.is_empty() && self.next_blob < self.n_blobs {
            self.patterns = self.source.read(run, self.kind, self.next_blob)?;
            self.next_blob += 1;
        }
        Ok(self.patterns.front().map(|delta| delta.name))
    }
}

impl<'a> Merge<'a> {
    pub(crate) fn new(
        run: &'a OpenRun,
        sources: &'a [BatchSource],
        node_idx: usize,
    ) -> Result<Self, StoreError> {
        let mut merge = Self {
            run,
            readers: Vec::new(),
            heads: BinaryHeap::new(),
        };
        for source in sources {
            let mut reader = Reader {
                source,
                kind: BlobKind::Patterns(node_idx),
                next_blob: 0,
                n_blobs: source.record.blobs(BlobKind::Patterns(node_idx)),
                patterns: VecDeque::new(),
            };
            if let Some(name) = reader.fill(run)? {
                merge.heads.push(Reverse((name, merge.readers.len())));
                merge.readers.push(reader);
            }
        }
        Ok(merge)
    }

    /// Takes the next pattern of the reader whose name comes first.
    fn pop(&mut self) -> Result<Option<PatternDelta>, StoreError> {
        let Some(mut head) = self.heads.peek_mut() else {
            return Ok(None);
        };
        let Reverse((_, reader_idx)) = *head;
        let reader = &mut self.readers[reader_idx];
        let delta = reader.patterns.pop_front();
        match reader.fill(self.run)? {
            // Replaced in place, which costs one move through the heap instead of two.
            Some(name) => *head = Reverse((name, reader_idx)),
            None => drop(PeekMut::pop(head)),
        }
        Ok(delta)
    }

    /// Returns the next pattern with all that the batches taught about it.
    pub(crate) fn next(&mut self) -> Result<Option<PatternDelta>, StoreError> {
        let Some(mut merged) = self.pop()? else {
            return Ok(None);
        };
        let is_same = |head: Option<&Reverse<([u8; 20], usize)>>, name| {
            head.is_some_and(|Reverse((next, _))| *next == name)
        };
        // Equal names come in the order of the batches, which the record of the commit keeps: a
        // replay adds floating-point sums in the same order.
        while is_same(self.heads.peek(), merged.name) {
            if let Some(more) = self.pop()? {
                merged.merge(more, &self.run.limits);
            }
        }
        Ok(Some(merged))
    }
}
