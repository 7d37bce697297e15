//! Merging segments by name: counts are added, symbols renumbered.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use kato_model::{AttributeLimits, PatternName};

use super::merge_runs::RunMerge;
use super::numbering::{UnknownNames, Unnumbered};
use super::segment::{Extras, Renumbering, Segment, SegmentWriter, WrittenSegment, too_large};
use super::vectors::MergedVectors;
use crate::StoreError;

/// A receiver of the merge of several segments, node by node from the bottom up.
pub(crate) trait MergeSink {
    /// Takes a foreign name of the node that begins next; names ascend. Only where
    /// [`UnknownNames::Foreign`] is asked for.
    fn foreign_name(&mut self, name: PatternName) -> Result<(), StoreError>;

    /// Begins a node: symbols below `n_below` are the patterns of the node before by their place in
    /// name order, then come its foreign names, those from there on are its texts.
    fn begin_node(&mut self, n_below: u32, texts: &[&str]) -> Result<(), StoreError>;

    /// Takes a pattern; names ascend. `Break` ends the merge.
    fn pattern(
        &mut self,
        name: PatternName,
        frequency: u64,
        symbols: &[u32],
        extras: &Extras,
    ) -> Result<ControlFlow<()>, StoreError>;

    /// Ends the node.
    fn end_node(&mut self, node_idx: usize) -> Result<(), StoreError>;
}

/// Shows the merge of several segments to a sink; `Break` if the sink ended it.
///
/// Memory: 4 bytes for each pattern and each foreign name of two neighbouring nodes. `path` is named where
/// something is too large.
pub(crate) fn walk_merged(
    segments: &[Arc<Segment>],
    n_nodes: usize,
    unknown: UnknownNames,
    limits: &AttributeLimits,
    path: &Path,
    sink: &mut dyn MergeSink,
) -> Result<ControlFlow<()>, StoreError> {
    // Rank in each old segment → rank in the merge, for the node below.
    let mut children: Vec<Vec<u32>> = vec![Vec::new(); segments.len()];
    let mut n_below = 0;
    let begin = |node_idx| {
        let is_there = node_idx < n_nodes;
        is_there
            .then(|| Unnumbered::new(segments, node_idx))
            .transpose()
    };
    let (mut next, mut node_idx) = (begin(0)?, 0);
    while let Some(unnumbered) = next {
        let mut push = |name| sink.foreign_name(name);
        let mut numbering = unnumbered
            .finish(n_below, unknown, &mut push)?
            .ok_or_else(|| too_large(path, "a node has more than 2^32 - 1 symbols"))?;
        let texts: Vec<&str> = numbering.texts.iter().map(AsRef::as_ref).collect();
        sink.begin_node(n_below, &texts)?;
        numbering.number_deleted(&mut children);
        // Numbers have a meaning only within their segment, so each has tables of its own.
        let tables = numbering.into_tables().into_iter().zip(&children);
        let numbers = tables.map(|(others, below)| Renumbering { below, others });
        let numbers: Vec<Renumbering<'_>> = numbers.collect();
        next = begin(node_idx + 1)?;
        // Nothing refers to the patterns of the highest node.
        let has_above = next.is_some();
        let ranks = segments.iter();
        let ranks = ranks.map(|segment| Ranks::new(segment, node_idx, has_above));
        let mut ranks: Vec<Ranks<'_>> = ranks.collect();
        let merge = RunMerge::renumbering(segments, node_idx, numbers);
        let above = next.as_mut().map(|above| (above, &mut *ranks));
        let Some(n_patterns) = walk_node(merge, above, limits, path, sink)? else {
            return Ok(ControlFlow::Break(()));
        };
        sink.end_node(node_idx)?;
        // The ranks of this node are the children of the next.
        children = ranks.into_iter().map(Ranks::finish).collect();
        (n_below, node_idx) = (n_patterns, node_idx + 1);
    }
    Ok(ControlFlow::Continue(()))
}

/// Shows the patterns of a node to a sink, and notes their ranks for the node above, where there is one. Returns
/// how many there are; `None` if the sink ended it.
fn walk_node(
    mut merge: RunMerge<'_>,
    mut above: Option<(&mut Unnumbered<'_>, &mut [Ranks<'_>])>,
    limits: &AttributeLimits,
    path: &Path,
    sink: &mut dyn MergeSink,
) -> Result<Option<u32>, StoreError> {
    let mut rank: u32 = 0;
    while let Some(group) = merge.next_group()? {
        let (frequency, extras) = group.counts(limits)?;
        if sink
            .pattern(group.name, frequency, group.symbols(), &extras)?
            .is_break()
        {
            return Ok(None);
        }
        if let Some((above, ranks)) = &mut above {
            above.below(group.name, rank)?;
            for member in group.members() {
                ranks[member].push(rank);
            }
        }
        rank = rank
            .checked_add(1)
            .ok_or_else(|| too_large(path, "a node has more than 2^32 - 1 patterns"))?;
    }
    Ok(Some(rank))
}

/// The ranks that the rows of a segment's node have in the merge.
struct Ranks<'a> {
    by_row: Vec<u32>,
    /// Deleted rows that are still to come; they get a number from the node above, where it needs one.
    deleted: &'a [u32],
}

impl<'a> Ranks<'a> {
    /// Creates the ranks of a node whose first pattern is to come.
    fn new(segment: &'a Segment, node_idx: usize, has_above: bool) -> Self {
        Self {
            by_row: match has_above {
                true => Vec::with_capacity(segment.n_patterns(node_idx)),
                false => Vec::new(),
            },
            deleted: segment.deleted().rows(node_idx),
        }
    }

    /// Adds the rank of the next pattern.
    fn push(&mut self, rank: u32) {
        self.pass_deleted();
        self.by_row.push(rank);
    }

    fn pass_deleted(&mut self) {
        while let Some((&row, rest)) = self.deleted.split_first()
            && row as usize == self.by_row.len()
        {
            self.by_row.push(0);
            self.deleted = rest;
        }
    }

    /// Returns the ranks by row.
    fn finish(mut self) -> Vec<u32> {
        self.pass_deleted();
        self.by_row
    }
}

/// Number of patterns after which a merge asks whether it is cancelled: below a millisecond.
const CANCEL_PATTERNS: u64 = 1 << 10;

/// A sink that writes a segment.
struct SegmentSink<'a> {
    writer: SegmentWriter,
    segments: &'a [Arc<Segment>],
    is_cancelled: &'a dyn Fn() -> bool,
    n_patterns: u64,
}

impl MergeSink for SegmentSink<'_> {
    fn foreign_name(&mut self, name: PatternName) -> Result<(), StoreError> {
        self.writer.push_foreign(name)
    }

    fn begin_node(&mut self, _n_below: u32, texts: &[&str]) -> Result<(), StoreError> {
        self.writer.begin_node(texts.iter().copied())
    }

    fn pattern(
        &mut self,
        name: PatternName,
        frequency: u64,
        symbols: &[u32],
        extras: &Extras,
    ) -> Result<ControlFlow<()>, StoreError> {
        self.writer.push(name, frequency, symbols, extras)?;
        self.n_patterns += 1;
        let is_asked = self.n_patterns.is_multiple_of(CANCEL_PATTERNS);
        Ok(match is_asked && (self.is_cancelled)() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })
    }

    fn end_node(&mut self, node_idx: usize) -> Result<(), StoreError> {
        self.writer.end_node()?;
        let mut vectors = MergedVectors::new(self.segments, node_idx)?;
        while let Some((name, vector)) = vectors.next_vector()? {
            self.writer.push_vector(name, &vector)?;
        }
        Ok(())
    }
}

/// Writes the merge of several segments as one; `None`, and a part of a file, once it is cancelled.
///
/// Memory: that of [`walk_merged`].
pub(crate) fn merge_segments(
    segments: &[Arc<Segment>],
    n_nodes: usize,
    limits: &AttributeLimits,
    path: &Path,
    is_cancelled: &dyn Fn() -> bool,
) -> Result<Option<WrittenSegment>, StoreError> {
    let mut sink = SegmentSink {
        writer: SegmentWriter::create(path)?,
        segments,
        is_cancelled,
        n_patterns: 0,
    };
    let unknown = UnknownNames::of_merged(segments);
    let walked = walk_merged(segments, n_nodes, unknown, limits, path, &mut sink)?;
    if walked.is_break() || is_cancelled() {
        return Ok(None);
    }
    let mut documents = Vec::new();
    for segment in segments {
        documents.append(&mut segment.documents()?);
    }
    // Several ids of one sample all stay: which one counts is decided by readers, for any number of
    // segments.
    documents.sort_unstable();
    documents.dedup();
    let documents = documents.iter().map(|(sample, id)| (*sample, id.as_str()));
    sink.writer.finish(documents).map(Some)
}
