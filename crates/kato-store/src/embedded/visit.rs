//! Visits: showing a node's content to a visitor, segment by segment.

use std::ops::ControlFlow;
use std::sync::Arc;

use kato_model::PatternName;

use super::on_each::on_each;
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
    let known_as = known_as(&segments, known);
    let n_found = known_as.iter().flatten().count();
    let with_known = segments.into_iter().zip(known_as);
    let beyond = with_known.filter_map(|(segment, known_as)| known_as.is_none().then_some(segment));
    (n_found == known.len()).then(|| beyond.collect())
}

/// Returns the names of a node's patterns that were deleted of the segments of some digests since they had
/// these; `None` if not all of those are there.
pub(super) fn deleted_beyond(
    segments: &[Arc<Segment>],
    node_idx: usize,
    known: &[ContentDigest],
) -> Result<Option<Vec<PatternName>>, StoreError> {
    let known_as = known_as(segments, known);
    if known_as.iter().flatten().count() != known.len() {
        return Ok(None);
    }
    let names = on_each(segments.iter().zip(known_as), |(segment, known_as)| {
        let rows = known_as.map(|known| segment.deleted_since(node_idx, &known));
        segment.names_of_rows(node_idx, &rows.unwrap_or_default())
    })?;
    let mut names = names.concat();
    names.sort_unstable();
    names.dedup();
    Ok(Some(names))
}

/// Returns how many of a node's patterns were deleted of the segments of some digests since they had these.
pub(super) fn n_deleted_beyond(
    segments: &[Arc<Segment>],
    node_idx: usize,
    known: &[ContentDigest],
) -> u64 {
    let with_known = segments.iter().zip(known_as(segments, known));
    let deleted = with_known.filter_map(|(segment, known_as)| {
        Some(segment.deleted_since(node_idx, &known_as?).len() as u64)
    });
    deleted.sum()
}

/// Returns of each segment whether it is one of those of some digests.
pub(super) fn are_known(segments: &[Arc<Segment>], known: &[ContentDigest]) -> Vec<bool> {
    let known_as = known_as(segments, known);
    known_as.iter().map(Option::is_some).collect()
}

/// Returns by which of some digests each segment is known: its own, or one that it had before patterns
/// were deleted of it.
fn known_as(segments: &[Arc<Segment>], known: &[ContentDigest]) -> Vec<Option<ContentDigest>> {
    // Each counts once: two segments may hold the same.
    let mut left = known.to_vec();
    let mut take = |is_it: &dyn Fn(&ContentDigest) -> bool| {
        let at = left.iter().position(is_it);
        at.map(|at| left.swap_remove(at))
    };
    let mut known_as = Vec::with_capacity(segments.len());
    for segment in segments {
        let digest = segment.digest();
        known_as.push(take(&|known| *known == digest));
    }
    // Only then, so that none takes the digest that is another one's own.
    for (segment, known_as) in segments.iter().zip(&mut known_as) {
        if known_as.is_none() && !segment.deleted().is_empty() {
            *known_as = take(&|known| segment.had(known));
        }
    }
    known_as
}

/// Shows one segment as a source.
fn visit_segment(
    segment: &Arc<Segment>,
    node_idx: usize,
    visitor: &mut dyn PatternVisitor,
) -> Result<ControlFlow<()>, StoreError> {
    let n_patterns = segment.n_held(node_idx);
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
    segment.walk(node_idx, |_, name, record| {
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
        segment.names_between(
            below,
            0,
            u64::MAX,
            &mut BlockBuffer::default(),
            |_, name| {
                names.push(PatternName::from_bytes(*name));
            },
        )?;
        let mut foreign = ForeignCursor::new(Arc::clone(segment), node_idx)?;
        while let Some(name) = foreign.name() {
            names.push(name);
            foreign.advance()?;
        }
    }
    Ok(names)
}
