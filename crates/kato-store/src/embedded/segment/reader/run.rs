//! A walk along a node's patterns some blocks at a time, for merges, which take many at once.

use std::cmp::Ordering;
use std::num::NonZeroU32;
use std::sync::Arc;

use kato_model::PatternName;

use super::renumbering::{Renumbering, RenumberingScratch};
use super::{BLOCK_PATTERNS, RawRecord, Segment, block_name, row_of};
use crate::StoreError;

/// Bytes of blocks beyond which no more than is needed is read ahead.
const RUN_BYTES: usize = 1 << 18;

/// The patterns of a node that are next in name order, in memory.
#[derive(Debug)]
pub(crate) struct NodeRun {
    segment: Arc<Segment>,
    node_idx: usize,
    width: usize,
    /// Block after those in `bytes`.
    next_block: usize,
    /// Blocks as they are in the file.
    bytes: Vec<u8>,
    /// Bytes that were in front of `bytes` and have gone.
    gone: usize,
    patterns: Vec<RunPattern>,
    /// Patterns at the front of `patterns` that were taken.
    n_taken: usize,
    /// Renumbered symbols of `patterns`, one after the other, where they are renumbered.
    symbols: Vec<u32>,
    /// Symbols that were in front of `symbols` and have gone.
    symbols_gone: usize,
}

/// A pattern of a run: where its name, its record and its symbols are, what has gone counted in.
#[derive(Debug, Clone, Copy)]
struct RunPattern {
    leading: u64,
    name_at: usize,
    record_at: usize,
    symbols_at: usize,
    /// The frequency of a pattern without extras, so that its record is not decoded again.
    plain: Option<NonZeroU32>,
}

impl NodeRun {
    /// Creates a run of which nothing is in memory yet.
    pub(crate) fn new(segment: Arc<Segment>, node_idx: usize) -> Self {
        Self {
            width: segment.width(node_idx),
            segment,
            node_idx,
            next_block: 0,
            bytes: Vec::new(),
            gone: 0,
            patterns: Vec::new(),
            n_taken: 0,
            symbols: Vec::new(),
            symbols_gone: 0,
        }
    }

    /// Makes sure that at least `least` patterns that were not taken are in memory, or all that are
    /// left. Where something is missing it reads blocks until there are `most`, and forgets those that
    /// were taken.
    ///
    /// Their symbols are renumbered together: the tables are far larger than the processor's caches,
    /// and in the order of the merge each look-up would wait for memory.
    pub(crate) fn fill(
        &mut self,
        (least, most): (usize, usize),
        numbers: Option<(&Renumbering<'_>, &mut RenumberingScratch)>,
    ) -> Result<(), StoreError> {
        let n_blocks = self.segment.nodes[self.node_idx].n_blocks();
        if self.n_left() >= least || self.next_block == n_blocks {
            return Ok(());
        }
        // In a block names come before records: what is left lies behind the first name left.
        let first_left = self.patterns.get(self.n_taken);
        let n_gone = first_left.map_or(self.bytes.len(), |pattern| pattern.name_at - self.gone);
        self.bytes.drain(..n_gone);
        self.gone += n_gone;
        let n_gone = first_left.map_or(self.symbols.len(), |pattern| {
            pattern.symbols_at - self.symbols_gone
        });
        self.symbols.drain(..n_gone);
        self.symbols_gone += n_gone;
        self.patterns.drain(..self.n_taken);
        self.n_taken = 0;
        let first_new = self.symbols.len();
        // Patterns with much beside their symbols are not read so far ahead.
        let is_wanted = |run: &Self| {
            let n = run.patterns.len();
            n < least || n < most && run.bytes.len() < RUN_BYTES
        };
        while is_wanted(self) && self.next_block < n_blocks {
            self.read_block(numbers.is_some())?;
        }
        let Some((numbers, scratch)) = numbers else {
            return Ok(());
        };
        // A number out of bounds passes the checksum of a file that was written so: it is damage and
        // must not panic.
        numbers
            .apply(&mut self.symbols[first_new..], scratch)
            .ok_or_else(|| self.segment.corrupt_block())
    }

    /// Reads the next block and notes where its patterns are.
    fn read_block(&mut self, has_symbols: bool) -> Result<(), StoreError> {
        let start = self.bytes.len();
        let (segment, block_idx) = (&self.segment, self.next_block);
        segment.read_block(self.node_idx, block_idx, &mut self.bytes)?;
        let n_patterns = segment.nodes[self.node_idx].patterns_in(block_idx);
        let corrupt = || segment.corrupt_block();
        let block = &self.bytes[start..];
        let n_name_bytes = n_patterns * PatternName::BYTES;
        let mut records = block.get(n_name_bytes..).ok_or_else(corrupt)?;
        let mut last = (self.patterns.last())
            .and_then(|pattern| block_name(&self.bytes, pattern.name_at - self.gone));
        self.patterns.reserve(n_patterns.min(BLOCK_PATTERNS));
        for within in 0..n_patterns {
            let at = within * PatternName::BYTES;
            let name = block_name(block, at).ok_or_else(corrupt)?;
            let leading = name.leading_u64();
            // The merge reads on only as far as its bound: names out of order would never be reached.
            let is_ascending = last.is_none_or(|last| match last.leading_u64().cmp(&leading) {
                Ordering::Equal => last < name,
                order => order.is_lt(),
            });
            if !is_ascending {
                return Err(corrupt());
            }
            last = Some(name);
            let record_at = self.gone + self.bytes.len() - records.len();
            let record = RawRecord::take(&mut records, self.width).ok_or_else(corrupt)?;
            let row = row_of(block_idx, within);
            if segment.deleted().holds(self.node_idx, row) {
                continue;
            }
            self.patterns.push(RunPattern {
                leading,
                name_at: self.gone + start + at,
                record_at,
                symbols_at: self.symbols_gone + self.symbols.len(),
                plain: record.plain_frequency(),
            });
            if has_symbols {
                record.push_symbols(self.width, &mut self.symbols);
            }
        }
        self.next_block += 1;
        Ok(())
    }

    /// Returns the number of patterns in memory that were not taken.
    fn n_left(&self) -> usize {
        self.patterns.len() - self.n_taken
    }

    /// Returns the name that is so many patterns further on, or the last in memory; `None` if none
    /// follow that one.
    pub(crate) fn name_after(&self, n_patterns: usize) -> Option<PatternName> {
        let last = self.patterns.len().checked_sub(1)?;
        let at = (self.n_taken + n_patterns).min(last);
        let n_blocks = self.segment.nodes[self.node_idx].n_blocks();
        (at < last || self.next_block < n_blocks).then(|| self.name(at))
    }

    /// Takes the patterns up to a name, or all in memory, and shows each with its leading bytes.
    pub(crate) fn take_to(&mut self, last: Option<PatternName>, mut take: impl FnMut(u64, usize)) {
        let left = &self.patterns[self.n_taken..];
        let n = last.map_or(left.len(), |last| {
            left.partition_point(|pattern| match pattern.leading.cmp(&last.leading_u64()) {
                Ordering::Equal => self.name_of(pattern) <= last,
                order => order.is_lt(),
            })
        });
        for (idx, pattern) in left[..n].iter().enumerate() {
            take(pattern.leading, self.n_taken + idx);
        }
        self.n_taken += n;
    }

    /// Returns the name of a pattern that was taken since the last reading.
    pub(crate) fn name(&self, idx: usize) -> PatternName {
        self.name_of(&self.patterns[idx])
    }

    fn name_of(&self, pattern: &RunPattern) -> PatternName {
        block_name(&self.bytes, pattern.name_at - self.gone).expect("it was there when it was read")
    }

    /// Returns the record of a pattern that was taken since the last reading.
    pub(crate) fn record(&self, idx: usize) -> Result<RawRecord<'_>, StoreError> {
        let mut bytes = &self.bytes[self.patterns[idx].record_at - self.gone..];
        RawRecord::take(&mut bytes, self.width).ok_or_else(|| self.segment.corrupt_block())
    }

    /// Returns the frequency of a pattern that was taken since the last reading, if it is known without
    /// decoding the record; then it has no extras.
    pub(crate) fn plain_frequency(&self, idx: usize) -> Option<u64> {
        let plain = self.patterns[idx].plain?;
        Some(u64::from(plain.get()))
    }

    /// Returns the renumbered symbols of a pattern that was taken since the last reading.
    pub(crate) fn symbols(&self, idx: usize) -> &[u32] {
        let start = self.patterns[idx].symbols_at - self.symbols_gone;
        let end = self
            .patterns
            .get(idx + 1)
            .map_or(self.symbols.len(), |next| {
                next.symbols_at - self.symbols_gone
            });
        &self.symbols[start..end]
    }

    /// Returns the segment.
    pub(crate) fn segment(&self) -> &Arc<Segment> {
        &self.segment
    }
}
