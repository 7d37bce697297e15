//! The longest spans of a text that documents hold.

use std::ops::Range;

use crate::OccurrencesError;
use crate::unit::{Rows, Unit};

/// A span of a text that the documents hold, and that is part of no longer one that they hold.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Span {
    /// Its tokens, by their numbers in the text.
    pub tokens: Range<usize>,
    /// How often the documents hold it.
    pub count: u64,
}

/// Where the longest span with some end begins, and how often the documents hold it.
type Reach = (usize, u64);

/// Returns the spans of a text in their order.
pub(crate) fn spans(units: &[Unit], tokens: &[u32]) -> Result<Vec<Span>, OccurrencesError> {
    let mut found: Vec<Span> = Vec::new();
    let (mut end, mut known) = (tokens.len(), None);
    while end > 0 {
        let (start, count) = match known.take() {
            Some(known) => known,
            None => reach(units, &tokens[..end])?,
        };
        if start == end {
            // A token that is nowhere.
            end -= 1;
            continue;
        }
        found.push(Span {
            tokens: start..end,
            count,
        });
        // The next span begins in front of this one and ends before it does.
        match start.checked_sub(1) {
            Some(first) => (end, known) = last_end(units, tokens, first, end - 1)?,
            None => break,
        }
    }
    found.reverse();
    Ok(found)
}

/// Returns the largest end, up to `most`, of a span that the documents hold from `first` on or from further in
/// front, and its reach; `first` itself where they do not even hold its token.
fn last_end(
    units: &[Unit],
    tokens: &[u32],
    first: usize,
    most: usize,
) -> Result<(usize, Option<Reach>), OccurrencesError> {
    let held_to = |end: usize| {
        let reached = reach(units, &tokens[..end])?;
        Ok::<_, OccurrencesError>((reached.0 <= first).then_some(reached))
    };
    // Mostly it is near: steps from the end double until it is passed, and are halved from then on.
    let (mut beyond, mut step) = (most + 1, 1);
    let mut held = loop {
        let end = beyond.saturating_sub(step).max(first);
        if end == first {
            break (first, None);
        }
        if let Some(reached) = held_to(end)? {
            break (end, Some(reached));
        }
        beyond = end;
        step *= 2;
    };
    while beyond - held.0 > 1 {
        let middle = held.0.midpoint(beyond);
        match held_to(middle)? {
            Some(reached) => held = (middle, Some(reached)),
            None => beyond = middle,
        }
    }
    Ok(held)
}

/// Returns where the longest span that ends with a text begins, and how often the documents hold it.
fn reach(units: &[Unit], tokens: &[u32]) -> Result<Reach, OccurrencesError> {
    let mut longest = (tokens.len(), 0);
    for unit in units {
        let (start, count) = unit.read(|| reach_in(unit, tokens))?;
        longest = match start.cmp(&longest.0) {
            std::cmp::Ordering::Less => (start, count),
            std::cmp::Ordering::Equal => (start, longest.1 + count),
            std::cmp::Ordering::Greater => longest,
        };
    }
    Ok(longest)
}

fn reach_in(unit: &Unit, tokens: &[u32]) -> Reach {
    let mut rows: Option<Rows> = None;
    for (start, &token) in tokens.iter().enumerate().rev() {
        let more = unit.symbol(token).map(|symbol| match rows {
            None => unit.rows_of(symbol),
            Some(rows) => unit.extend(rows, symbol),
        });
        match more.filter(|more| more.len() > 0) {
            Some(more) => rows = Some(more),
            None => return (start + 1, rows.map_or(0, Rows::len)),
        }
    }
    (0, rows.map_or(0, Rows::len))
}
