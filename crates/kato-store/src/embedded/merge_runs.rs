//! Merging names of many segments some thousands at a time.

use std::sync::Arc;

use kato_model::{AttributeLimits, PatternName};

use super::segment::{Extras, NodeRun, RawRecord, Renumbering, RenumberingScratch, Segment};
use crate::StoreError;
use crate::name_batch::{Entry, NameBatch};

/// Number of patterns that are merged at a time, about: with their names and records they stay
/// within the processor's second cache.
const BATCH_PATTERNS: usize = 1 << 14;

/// Number of patterns of each segment in a batch at least, about, however many segments there are.
const MIN_RUN_PATTERNS: usize = 512;

/// Number of patterns of each segment that are read at a time: of some thousand symbols several lie
/// in one place of the table by which they are renumbered.
const READ_PATTERNS: usize = 1 << 12;

/// Number of patterns of all segments that are read at a time at most, or as many as a batch has.
const MAX_READ_PATTERNS: usize = 1 << 18;

/// A walk along one node's patterns over several segments in name order, each name once, for those
/// who take all of them.
#[derive(Debug)]
pub(super) struct RunMerge<'a> {
    runs: Vec<NodeRun>,
    /// How symbols are renumbered, by run; none where they are not.
    numbers: Vec<Renumbering<'a>>,
    scratch: RenumberingScratch,
    /// Number of patterns of each run in a batch, about.
    run_patterns: usize,
    /// Number of patterns of each run that are read at a time.
    read_patterns: usize,
    batch: NameBatch,
}

/// One name and the segments that hold it.
#[derive(Debug, Clone, Copy)]
pub(super) struct RunGroup<'a> {
    pub(super) name: PatternName,
    runs: &'a [NodeRun],
    /// At least one, by run.
    members: &'a [Entry],
}

impl<'n> RunMerge<'n> {
    /// Creates a walk along all patterns of a node.
    pub(super) fn new(segments: &[Arc<Segment>], node_idx: usize) -> Self {
        Self::renumbering(segments, node_idx, Vec::new())
    }

    /// Creates a walk along all patterns of a node which renumbers the symbols of each segment.
    pub(super) fn renumbering(
        segments: &[Arc<Segment>],
        node_idx: usize,
        numbers: Vec<Renumbering<'n>>,
    ) -> Self {
        let run = |segment| NodeRun::new(Arc::clone(segment), node_idx);
        let n_segments = segments.len().max(1);
        let run_patterns = (BATCH_PATTERNS / n_segments).max(MIN_RUN_PATTERNS);
        Self {
            runs: segments.iter().map(run).collect(),
            numbers,
            scratch: RenumberingScratch::default(),
            run_patterns,
            read_patterns: READ_PATTERNS
                .min(MAX_READ_PATTERNS / n_segments)
                .max(run_patterns),
            batch: NameBatch::default(),
        }
    }

    /// Moves to the next name and returns it; `None` after the last.
    #[inline]
    pub(super) fn next_group(&mut self) -> Result<Option<RunGroup<'_>>, StoreError> {
        if self.batch.is_done() && !self.read_batch()? {
            return Ok(None);
        }
        let runs = &self.runs;
        let group = self.batch.next_group(|entry| name_of(runs, entry));
        Ok(group.map(|(name, members)| RunGroup {
            name,
            runs,
            members,
        }))
    }

    /// Reads the next names, in order; returns `false` where none are left.
    fn read_batch(&mut self) -> Result<bool, StoreError> {
        self.batch.clear();
        for (idx, run) in self.runs.iter_mut().enumerate() {
            let numbers = self.numbers.get(idx);
            let numbers = numbers.map(|numbers| (numbers, &mut self.scratch));
            run.fill((self.run_patterns, self.read_patterns), numbers)?;
        }
        // Up to the smallest of these names nothing is missing: what is not read yet comes later in
        // every run. Every batch takes the patterns of one run up to there, so it moves on.
        let runs = self.runs.iter();
        let bound = runs
            .filter_map(|run| run.name_after(self.run_patterns))
            .min();
        for (idx, run) in (0_u32..).zip(&mut self.runs) {
            let batch = &mut self.batch;
            run.take_to(bound, |leading, place| {
                let place =
                    u32::try_from(place).expect("a run has some thousand patterns in memory");
                batch.push(leading, idx, place);
            });
        }
        let runs = &self.runs;
        self.batch.sort(|entry| name_of(runs, entry));
        Ok(!self.batch.is_done())
    }
}

/// Returns the name of a pattern of a batch.
fn name_of(runs: &[NodeRun], entry: Entry) -> PatternName {
    runs[entry.source()].name(entry.place())
}

impl<'a> RunGroup<'a> {
    /// Returns the segments that hold the name, by position in the list the walk was made from.
    pub(super) fn members(&self) -> impl Iterator<Item = usize> {
        self.members.iter().map(|entry| entry.source())
    }

    /// Returns one of the records, which agree in their content, with its segment.
    pub(super) fn content(&self) -> Result<(&'a Arc<Segment>, RawRecord<'a>), StoreError> {
        // As a name is the SHA-1 of its content, any will do.
        let first = self.members[0];
        Ok((self.runs[first.source()].segment(), self.record(first)?))
    }

    /// Returns the renumbered symbols; none where they are not renumbered.
    pub(super) fn symbols(&self) -> &'a [u32] {
        let first = self.members[0];
        self.runs[first.source()].symbols(first.place())
    }

    /// Returns the sum of the frequencies where all are known without decoding a record; then none of
    /// these has extras.
    fn plain_frequency(&self) -> Option<u64> {
        self.members.iter().try_fold(0_u64, |sum, entry| {
            let plain = self.runs[entry.source()].plain_frequency(entry.place())?;
            Some(sum.saturating_add(plain))
        })
    }

    /// Returns the sum of the frequencies.
    pub(super) fn frequency(&self) -> Result<u64, StoreError> {
        if let Some(frequency) = self.plain_frequency() {
            return Ok(frequency);
        }
        self.members.iter().try_fold(0_u64, |sum, entry| {
            Ok(sum.saturating_add(self.record(*entry)?.frequency))
        })
    }

    /// Returns the sum of the frequencies and the merged extras.
    #[inline]
    pub(super) fn counts(&self, limits: &AttributeLimits) -> Result<(u64, Extras), StoreError> {
        if let Some(frequency) = self.plain_frequency() {
            return Ok((frequency, Extras::default()));
        }
        let corrupt = |entry: &Entry| self.runs[entry.source()].segment().corrupt_block();
        let first = self.record(self.members[0])?;
        let mut frequency = first.frequency;
        // The limits were applied when the extras were written, so the first ones are taken as they
        // are.
        let mut merged = first.extras().ok_or_else(|| corrupt(&self.members[0]))?;
        for entry in &self.members[1..] {
            let record = self.record(*entry)?;
            frequency = frequency.saturating_add(record.frequency);
            let extras = record.extras().ok_or_else(|| corrupt(entry))?;
            if merged.is_empty() {
                merged = extras;
            } else {
                merged.merge(extras, limits);
            }
        }
        Ok((frequency, merged))
    }

    fn record(&self, entry: Entry) -> Result<RawRecord<'a>, StoreError> {
        self.runs[entry.source()].record(entry.place())
    }
}
