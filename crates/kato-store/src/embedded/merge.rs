//! Merging segments by name: counts are added, symbols renumbered.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use kato_model::{AttributeLimits, PatternName};

use super::numbering::{Numbering, UnknownNames};
use super::segment::{
    Extras, NodeCursor, RawRecord, Segment, SegmentWriter, WrittenSegment, too_large,
};
use super::vectors::MergedVectors;
use crate::StoreError;

/// A walk along one node's patterns over several segments in name order, each name once.
#[derive(Debug)]
pub(crate) struct MergeCursor {
    cursors: Vec<NodeCursor>,
    heap: BinaryHeap<Reverse<(PatternName, usize)>>,
    /// Cursors that stand at the current name, ascending.
    group: Vec<usize>,
}

/// One name and the cursors that hold it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Group<'a> {
    pub(crate) name: PatternName,
    cursors: &'a [NodeCursor],
    members: &'a [usize],
}

impl MergeCursor {
    /// Creates a walk along all patterns of a node.
    pub(crate) fn new(segments: &[Arc<Segment>], node_idx: usize) -> Result<Self, StoreError> {
        Self::from_leading(segments, node_idx, 0)
    }

    /// Creates a walk along the patterns whose names' leading bytes are at least `leading`.
    pub(crate) fn from_leading(
        segments: &[Arc<Segment>],
        node_idx: usize,
        leading: u64,
    ) -> Result<Self, StoreError> {
        let cursors = segments
            .iter()
            .map(|segment| NodeCursor::from_leading(Arc::clone(segment), node_idx, leading))
            .collect::<Result<Vec<_>, _>>()?;
        let heap = cursors
            .iter()
            .zip(0..)
            .filter_map(|(cursor, idx)| Some(Reverse((cursor.name()?, idx))))
            .collect();
        Ok(Self {
            cursors,
            heap,
            group: Vec::new(),
        })
    }

    /// Moves to the next name and returns it; `None` after the last.
    pub(crate) fn next_group(&mut self) -> Result<Option<Group<'_>>, StoreError> {
        // The cursors of the last group advance only now, because the group that was returned read
        // from their blocks.
        for &idx in &self.group {
            self.cursors[idx].advance()?;
            if let Some(name) = self.cursors[idx].name() {
                self.heap.push(Reverse((name, idx)));
            }
        }
        self.group.clear();
        let Some(Reverse((name, first))) = self.heap.pop() else {
            return Ok(None);
        };
        self.group.push(first);
        // Equal names leave the heap in the order of the cursors, so the group ascends.
        while let Some(&Reverse((next, idx))) = self.heap.peek() {
            if next != name {
                break;
            }
            self.heap.pop();
            self.group.push(idx);
        }
        Ok(Some(Group {
            name,
            cursors: &self.cursors,
            members: &self.group,
        }))
    }
}

impl<'a> Group<'a> {
    /// Returns the sum of the frequencies.
    pub(crate) fn frequency(&self) -> Result<u64, StoreError> {
        self.members.iter().try_fold(0_u64, |sum, &idx| {
            Ok(sum.saturating_add(self.cursors[idx].record()?.frequency))
        })
    }

    /// Returns the segments that hold the name, by position in the list the cursor was made from.
    pub(crate) fn members(&self) -> &'a [usize] {
        self.members
    }

    /// Returns one of the records, which agree in their content, with its segment.
    pub(crate) fn content(&self) -> Result<(usize, &'a Arc<Segment>, RawRecord<'a>), StoreError> {
        // A group has at least one member, and as a name is the SHA-1 of its content, any will do.
        let source = self.members[0];
        let cursor = &self.cursors[source];
        Ok((source, cursor.segment(), cursor.record()?))
    }

    /// Returns the merged extras.
    pub(crate) fn extras(&self, limits: &AttributeLimits) -> Result<Extras, StoreError> {
        let mut merged = Extras::default();
        for &idx in self.members {
            let cursor = &self.cursors[idx];
            let extras = cursor
                .record()?
                .extras()
                .ok_or_else(|| cursor.segment().corrupt_block())?;
            // The limits were applied when the extras were written, so the first ones are taken as
            // they are.
            if merged.is_empty() {
                merged = extras;
            } else {
                merged.merge(extras, limits);
            }
        }
        Ok(merged)
    }
}

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
/// Memory: 4 bytes for each pattern and each foreign name of the largest node. `path` is named where
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
    for node_idx in 0..n_nodes {
        let mut push = |name| sink.foreign_name(name);
        let numbering = Numbering::new(segments, node_idx, n_below, unknown, &mut push)?
            .ok_or_else(|| too_large(path, "a node has more than 2^32 - 1 symbols"))?;
        let texts: Vec<&str> = numbering.texts.iter().map(AsRef::as_ref).collect();
        sink.begin_node(n_below, &texts)?;
        // Nothing refers to the patterns of the highest node.
        let has_above = node_idx + 1 < n_nodes;
        let mut ranks: Vec<Vec<u32>> = segments
            .iter()
            .map(|segment| match has_above {
                true => Vec::with_capacity(segment.n_patterns(node_idx)),
                false => Vec::new(),
            })
            .collect();
        let mut merge = MergeCursor::new(segments, node_idx)?;
        let mut symbols = Vec::new();
        let mut rank: u32 = 0;
        while let Some(group) = merge.next_group()? {
            // Numbers have a meaning only within their segment, so symbols are renumbered by the
            // tables of the segment that the record is from.
            let (source, segment, record) = group.content()?;
            let old_below = segment.n_below(node_idx);
            symbols.clear();
            for symbol in record.symbols(segment.width(node_idx)) {
                let renumbered = match symbol.checked_sub(old_below) {
                    None => children[source].get(symbol as usize).copied(),
                    Some(other) => numbering.renumber(source, other),
                };
                // A number out of bounds passes the checksum of a file that was written so: it is
                // damage and must not panic.
                symbols.push(renumbered.ok_or_else(|| segment.corrupt_block())?);
            }
            let extras = group.extras(limits)?;
            if sink
                .pattern(group.name, group.frequency()?, &symbols, &extras)?
                .is_break()
            {
                return Ok(ControlFlow::Break(()));
            }
            if has_above {
                for &member in group.members() {
                    ranks[member].push(rank);
                }
            }
            rank = rank
                .checked_add(1)
                .ok_or_else(|| too_large(path, "a node has more than 2^32 - 1 patterns"))?;
        }
        sink.end_node(node_idx)?;
        // The ranks of this node are the children of the next.
        children = ranks;
        n_below = rank;
    }
    Ok(ControlFlow::Continue(()))
}

/// A sink that writes a segment.
struct SegmentSink<'a> {
    writer: SegmentWriter,
    segments: &'a [Arc<Segment>],
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
        Ok(ControlFlow::Continue(()))
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

/// Writes the merge of several segments as one.
///
/// Memory: that of [`walk_merged`].
pub(crate) fn merge_segments(
    segments: &[Arc<Segment>],
    n_nodes: usize,
    limits: &AttributeLimits,
    path: &Path,
) -> Result<WrittenSegment, StoreError> {
    let mut sink = SegmentSink {
        writer: SegmentWriter::create(path)?,
        segments,
    };
    // This sink ends nothing before its end.
    let unknown = UnknownNames::of_merged(segments);
    let _ = walk_merged(segments, n_nodes, unknown, limits, path, &mut sink)?;
    let mut documents = Vec::new();
    for segment in segments {
        documents.append(&mut segment.documents()?);
    }
    // Several ids of one sample all stay: which one counts is decided by readers, for any number of
    // segments.
    documents.sort_unstable();
    documents.dedup();
    sink.writer.finish(
        documents
            .iter()
            .map(|(sample_idx, id)| (*sample_idx, id.as_str())),
    )
}
