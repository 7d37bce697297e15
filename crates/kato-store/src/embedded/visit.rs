//! Visits: showing a node's content to a visitor, segment by segment.

use std::ops::ControlFlow;
use std::sync::Arc;

use kato_model::PatternName;

use super::segment::{BlockBuffer, ForeignCursor, Segment};
use crate::visit::{ContentDigest, SourceSymbols, VisitedPattern};
use crate::{PatternVisitor, StoreError};

/// Shows all segments' patterns of a node, or as many as the visitor wants.
pub(super) fn visit(
    segments: &[Arc<Segment>],
    node_idx: usize,
    visitor: &mut dyn PatternVisitor,
) -> Result<(), StoreError> {
    for segment in segments {
        if visit_segment(segment, node_idx, visitor)?.is_break() {
            break;
        }
    }
    Ok(())
}

/// Returns the segments that are left without those of some digests; `None` if not all of those are
/// there.
pub(super) fn beyond(
    segments: Vec<Arc<Segment>>,
    known: &[ContentDigest],
) -> Option<Vec<Arc<Segment>>> {
    let is_known = are_known(&segments, known);
    let n_found = is_known.iter().filter(|is_known| **is_known).count();
    let with_known = segments.into_iter().zip(is_known);
    let beyond = with_known.filter_map(|(segment, is_known)| (!is_known).then_some(segment));
    (n_found == known.len()).then(|| beyond.collect())
}

/// Returns of each segment whether it is one of those of some digests.
pub(super) fn are_known(segments: &[Arc<Segment>], known: &[ContentDigest]) -> Vec<bool> {
    let mut known = known.to_vec();
    let is_known = |segment: &Arc<Segment>| {
        let digest = ContentDigest::from_bytes(segment.digest());
        // Each counts once: two segments may hold the same.
        let at = known.iter().position(|known| *known == digest);
        at.map(|at| known.swap_remove(at)).is_some()
    };
    segments.iter().map(is_known).collect()
}

/// Shows one segment as a source.
fn visit_segment(
    segment: &Arc<Segment>,
    node_idx: usize,
    visitor: &mut dyn PatternVisitor,
) -> Result<ControlFlow<()>, StoreError> {
    let n_patterns = segment.totals(node_idx).patterns;
    // A source has at least one pattern (see `PatternVisitor::source`).
    if n_patterns == 0 {
        return Ok(ControlFlow::Continue(()));
    }
    let names = names(segment, node_idx)?;
    let texts: Vec<&str> = segment.dictionary(node_idx)?.iter().collect();
    let symbols = SourceSymbols::new(&names, &texts);
    if visitor.source(&symbols, n_patterns).is_break() {
        return Ok(ControlFlow::Break(()));
    }
    let width = segment.width(node_idx);
    let mut numbers: Vec<u32> = Vec::new();
    segment.walk(node_idx, |name, record| {
        numbers.clear();
        numbers.extend(record.symbols(width));
        // Checked for all, so that a visitor may use the numbers as indices into what it made of
        // the source's symbols.
        if numbers
            .iter()
            .any(|&number| number as usize >= symbols.len())
        {
            return Err(segment.corrupt_block());
        }
        let extras = record.extras().ok_or_else(|| segment.corrupt_block())?;
        Ok(visitor.pattern(
            &symbols,
            &VisitedPattern {
                name,
                frequency: record.frequency,
                symbols: &numbers,
                first_seen: extras.first_seen,
                attributes: extras.attributes.as_deref(),
            },
        ))
    })
}

/// Returns the names of the node below's patterns by rank, then the foreign names: by number.
///
/// It takes one pass over the blocks, where looking up each child would read the file once for
/// every symbol.
fn names(segment: &Arc<Segment>, node_idx: usize) -> Result<Vec<PatternName>, StoreError> {
    let mut names = Vec::new();
    if let Some(below) = node_idx.checked_sub(1) {
        names.reserve_exact(segment.n_names(node_idx) as usize);
        segment.names_between(below, 0, u64::MAX, &mut BlockBuffer::default(), |name| {
            names.push(PatternName::from_bytes(*name));
        })?;
        let mut foreign = ForeignCursor::new(Arc::clone(segment), node_idx)?;
        while let Some(name) = foreign.name() {
            names.push(name);
            foreign.advance()?;
        }
    }
    Ok(names)
}
