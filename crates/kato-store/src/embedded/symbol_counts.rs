//! Counts of a node's symbols, derived from its patterns.
//!
//! KATO stores these counts; they are a pure function of patterns and frequencies, so storing them
//! would only add bytes to every commit, and they could disagree with the patterns. Text symbols
//! are counted in one pass. Pattern names are as many as the node below has patterns, so they are
//! counted range by range, in as many passes as keep each in memory.

use std::collections::{BTreeMap, VecDeque};
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use kato_model::{PatternName, Symbol};

use super::count::leading_range;
use super::query::fused;
use super::segment::{BlockBuffer, ForeignCursor, Segment};
use crate::StoreError;
use crate::contract::{Scan, SymbolCounts};

/// Number of names that are counted in one pass: about 64 MB of counts.
const RANGE_NAMES: u64 = 2_000_000;

/// Returns the counts of all symbols of a node: text in code-point order, then names in order.
pub(super) fn symbol_counts(
    segments: Vec<Arc<Segment>>,
    node_idx: usize,
) -> Result<Scan<'static, (Symbol, SymbolCounts)>, StoreError> {
    let mut ready: VecDeque<(Symbol, SymbolCounts)> = VecDeque::new();
    let (text, names_in_text) = count_text(&segments, node_idx)?;
    ready.extend(text);
    // An upper bound, as segments may share patterns: a range then holds fewer than planned.
    let n_names: u64 = segments
        .iter()
        .map(|segment| u64::from(segment.n_names(node_idx)))
        .sum();
    let n_ranges = n_names.div_ceil(RANGE_NAMES).max(1);
    let mut range = 0;
    Ok(fused(move || {
        loop {
            if let Some(symbol) = ready.pop_front() {
                return Ok(Some(symbol));
            }
            if range == n_ranges {
                return Ok(None);
            }
            let (first, last) = leading_range(range, n_ranges);
            ready = count_names(&segments, node_idx, first, last, &names_in_text)?;
            range += 1;
        }
    }))
}

type Counted = BTreeMap<Symbol, SymbolCounts>;

/// Counts what the dictionaries hold: text, and names of patterns that their segment does not hold.
fn count_text(
    segments: &[Arc<Segment>],
    node_idx: usize,
) -> Result<(Counted, Counted), StoreError> {
    let mut counted = Counted::new();
    for segment in segments {
        let dictionary = segment.dictionary(node_idx)?;
        let n_names = u64::from(segment.n_names(node_idx));
        let mut counts = vec![SymbolCounts::default(); dictionary.len()];
        count_symbols(
            segment,
            node_idx,
            n_names..n_names + dictionary.len() as u64,
            &mut counts,
        )?;
        // A text that only deleted patterns hold is no symbol any more.
        let is_whole = segment.deleted().is_empty();
        let texts = dictionary.iter().zip(counts);
        for (text, counts) in texts.filter(|(_, counts)| is_whole || counts.frequency > 0) {
            counted.entry(Symbol::from(text)).or_default().merge(counts);
        }
    }
    // `Symbol` orders text before names.
    let names = counted.split_off(&Symbol::Name(PatternName::from_bytes(
        [0; PatternName::BYTES],
    )));
    Ok((counted, names))
}

/// Counts the names whose leading bytes lie between `first` and `last`.
fn count_names(
    segments: &[Arc<Segment>],
    node_idx: usize,
    first: u64,
    last: u64,
    names_in_text: &Counted,
) -> Result<VecDeque<(Symbol, SymbolCounts)>, StoreError> {
    let mut counted: Vec<(PatternName, SymbolCounts)> = names_in_text
        .iter()
        .filter_map(|(symbol, &counts)| match symbol {
            Symbol::Name(name) if (first..=last).contains(&name.leading_u64()) => {
                Some((*name, counts))
            }
            _ => None,
        })
        .collect();
    // The lowest node has no children: all names that it uses are text in its dictionaries.
    let Some(below) = node_idx.checked_sub(1) else {
        return Ok(sum_by_name(counted));
    };
    for segment in segments {
        // Ranks follow the order of names, so the names of a range are consecutive numbers. Those of
        // deleted patterns belong to them: others refer to these.
        let mut start = None;
        let mut names = Vec::new();
        segment.names_between(
            below,
            first,
            last,
            &mut BlockBuffer::default(),
            |row, name| {
                start.get_or_insert(u64::from(row));
                names.push(PatternName::from_bytes(*name));
            },
        )?;
        counted.extend(count_range(segment, node_idx, start.unwrap_or(0), names)?);
        let mut cursor = ForeignCursor::from_leading(Arc::clone(segment), node_idx, first)?;
        let start = u64::from(segment.n_below(node_idx)) + u64::from(cursor.number());
        let mut names = Vec::new();
        while let Some(name) = cursor.name().filter(|name| name.leading_u64() <= last) {
            names.push(name);
            cursor.advance()?;
        }
        counted.extend(count_range(segment, node_idx, start, names)?);
    }
    Ok(sum_by_name(counted))
}

/// Counts names whose numbers follow each other from `start` on; those that are in no pattern are
/// left out.
fn count_range(
    segment: &Arc<Segment>,
    node_idx: usize,
    start: u64,
    names: Vec<PatternName>,
) -> Result<impl Iterator<Item = (PatternName, SymbolCounts)> + use<>, StoreError> {
    let mut counts = vec![SymbolCounts::default(); names.len()];
    let numbers = start..start + names.len() as u64;
    count_symbols(segment, node_idx, numbers, &mut counts)?;
    let counted = names.into_iter().zip(counts);
    // A pattern of the node below that nothing refers to is no symbol of this node.
    Ok(counted.filter(|(_, counts)| counts.frequency > 0))
}

/// Adds up equal names and returns them in order.
fn sum_by_name(mut counted: Vec<(PatternName, SymbolCounts)>) -> VecDeque<(Symbol, SymbolCounts)> {
    counted.sort_unstable_by_key(|&(name, _)| name);
    counted
        .chunk_by(|(a, _), (b, _)| a == b)
        .map(|same| {
            let mut sum = SymbolCounts::default();
            same.iter().for_each(|&(_, counts)| sum.merge(counts));
            (Symbol::Name(same[0].0), sum)
        })
        .collect()
}

/// Counts, over all patterns of a node, the symbols whose numbers lie in `range`.
fn count_symbols(
    segment: &Arc<Segment>,
    node_idx: usize,
    range: Range<u64>,
    counts: &mut [SymbolCounts],
) -> Result<(), StoreError> {
    if range.is_empty() {
        return Ok(());
    }
    let width = segment.width(node_idx);
    let mut symbols: Vec<u32> = Vec::new();
    let _ = segment.walk(node_idx, |_, _, record| {
        symbols.clear();
        symbols.extend(
            record
                .symbols(width)
                .filter(|&symbol| range.contains(&u64::from(symbol))),
        );
        // Sorted, because a symbol that a pattern holds several times counts once as its member.
        symbols.sort_unstable();
        for same in symbols.chunk_by(|a, b| a == b) {
            let idx = usize::try_from(u64::from(same[0]) - range.start)
                .expect("the caller has counts in memory for every number of the range");
            counts[idx].merge(SymbolCounts::for_pattern(
                record.frequency,
                same.len() as u64,
            ));
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(())
}
