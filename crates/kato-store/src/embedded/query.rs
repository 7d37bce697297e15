//! Look-ups and scans over segments.

use std::sync::Arc;

use kato_model::{AttributeLimits, PatternName, Symbol, VectorName};

use super::merge_runs::RunMerge;
use super::segment::{Extras, RawRecord, Segment};
use super::vectors::MergedVectors;
use crate::contract::Scan;
use crate::{StoreError, StoredPattern};

/// Finds a pattern and adds up what the segments hold of it.
pub(super) fn pattern(
    segments: &[Arc<Segment>],
    node_idx: usize,
    limits: &AttributeLimits,
    name: &PatternName,
) -> Result<Option<StoredPattern>, StoreError> {
    let mut found: Option<(Vec<Symbol>, u64, Extras)> = None;
    for segment in segments {
        let part = segment.find(node_idx, name, |_, record| {
            // The name fixes the content, so the symbols of the first segment that has the pattern
            // are those of all.
            let symbols = if found.is_none() {
                symbols(segment, node_idx, record)?
            } else {
                Vec::new()
            };
            Ok((
                symbols,
                record.frequency,
                record.extras().ok_or_else(|| segment.corrupt_block())?,
            ))
        })?;
        match (&mut found, part) {
            (_, None) => {}
            (none @ None, part) => *none = part,
            (Some((_, frequency, extras)), Some((_, more, other))) => {
                *frequency = frequency.saturating_add(more);
                extras.merge(other, limits);
            }
        }
    }
    Ok(found
        .map(|(symbols, frequency, extras)| to_stored_pattern(*name, symbols, frequency, extras)))
}

/// Returns all patterns of a node in name order.
pub(super) fn scan(
    segments: &[Arc<Segment>],
    node_idx: usize,
    limits: AttributeLimits,
) -> Result<Scan<'static, StoredPattern>, StoreError> {
    let mut merge = RunMerge::new(segments, node_idx);
    Ok(fused(move || {
        let Some(group) = merge.next_group()? else {
            return Ok(None);
        };
        let (segment, record) = group.content()?;
        let symbols = symbols(segment, node_idx, record)?;
        let (frequency, extras) = group.counts(&limits)?;
        Ok(Some(to_stored_pattern(
            group.name, symbols, frequency, extras,
        )))
    }))
}

/// Returns name and frequency of all patterns of a node in name order.
pub(super) fn scan_frequencies(
    segments: &[Arc<Segment>],
    node_idx: usize,
) -> Result<Scan<'static, (PatternName, u64)>, StoreError> {
    let mut merge = RunMerge::new(segments, node_idx);
    Ok(fused(move || {
        let Some(group) = merge.next_group()? else {
            return Ok(None);
        };
        Ok(Some((group.name, group.frequency()?)))
    }))
}

/// Returns the vectors of a node in name order.
pub(super) fn vectors(
    segments: &[Arc<Segment>],
    node_idx: usize,
) -> Result<Scan<'static, (VectorName, Vec<f64>)>, StoreError> {
    let mut vectors = MergedVectors::new(segments, node_idx)?;
    Ok(fused(move || vectors.next_vector()))
}

/// Returns the id of the document that was this sample; the smallest if there are several,
/// whichever came first.
pub(super) fn document(
    segments: &[Arc<Segment>],
    document_idx: u64,
) -> Result<Option<String>, StoreError> {
    let mut first: Option<String> = None;
    for segment in segments {
        let documents = segment.documents()?;
        // Documents ascend by sample and then by id, so the first of a sample is the segment's
        // smallest.
        let found = documents.partition_point(|&(idx, _)| idx < document_idx);
        if let Some((_, id)) = documents
            .into_iter()
            .nth(found)
            .filter(|&(idx, _)| idx == document_idx)
        {
            first = Some(first.map_or(id.clone(), |other| other.min(id)));
        }
    }
    Ok(first)
}

/// Returns the symbols of a record, ranks, foreign names and literals resolved.
fn symbols(
    segment: &Segment,
    node_idx: usize,
    record: RawRecord<'_>,
) -> Result<Vec<Symbol>, StoreError> {
    let (n_below, n_names) = (segment.n_below(node_idx), segment.n_names(node_idx));
    record
        .symbols(segment.width(node_idx))
        .map(|symbol| match symbol.checked_sub(n_names) {
            None => match symbol.checked_sub(n_below) {
                // Numbers below `n_below` exist only above the lowest node, so there is a node
                // below.
                None => segment.name_of_rank(node_idx - 1, symbol),
                Some(foreign) => segment.foreign_name(node_idx, foreign),
            }
            .map(Symbol::Name),
            Some(literal) => {
                let text = segment
                    .dictionary(node_idx)?
                    .get(literal as usize)
                    .ok_or_else(|| segment.corrupt_block())?;
                // The text may be the name of a pattern that this segment does not hold.
                Ok(Symbol::from(text))
            }
        })
        .collect()
}

/// Creates the pattern that a look-up or a scan returns.
fn to_stored_pattern(
    name: PatternName,
    symbols: Vec<Symbol>,
    frequency: u64,
    extras: Extras,
) -> StoredPattern {
    let mut pattern = StoredPattern::new(name, symbols, frequency);
    pattern.first_seen = extras.first_seen;
    if let Some(attributes) = extras.attributes {
        pattern.event_lengths = attributes.event_lengths;
        pattern.metadata = attributes.metadata;
        pattern.emotives = attributes.emotives;
        pattern.affinity = attributes.affinity;
    }
    pattern
}

/// Creates an iterator that ends after its first error.
pub(super) fn fused<T: 'static>(
    mut next: impl FnMut() -> Result<Option<T>, StoreError> + Send + 'static,
) -> Scan<'static, T> {
    let mut done = false;
    Box::new(std::iter::from_fn(move || {
        if done {
            return None;
        }
        let item = next().transpose();
        // After an error the cursors need not stand at the same name any more.
        done = !matches!(item, Some(Ok(_)));
        item
    }))
}
