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

/// Returns the spans of a text in their order.
pub(crate) fn spans(units: &[Unit], tokens: &[u32]) -> Result<Vec<Span>, OccurrencesError> {
    let mut found: Vec<Span> = Vec::new();
    let mut end = tokens.len();
    while end > 0 {
        let (start, count) = reach(units, &tokens[..end])?;
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
            Some(first) => end = last_end(units, tokens, first, end - 1)?,
            None => break,
        }
    }
    found.reverse();
    Ok(found)
}

/// Returns the largest end, up to `most`, of a span from `first` on that the documents hold; `first` where
/// they do not even hold its token.
fn last_end(
    units: &[Unit],
    tokens: &[u32],
    first: usize,
    most: usize,
) -> Result<usize, OccurrencesError> {
    let holds = |end: usize| Ok::<_, OccurrencesError>(reach(units, &tokens[..end])?.0 <= first);
    // Mostly it is near: steps from the end double until it is passed, and are halved from then on.
    let (mut beyond, mut step) = (most + 1, 1);
    let mut held = loop {
        let end = beyond.saturating_sub(step).max(first);
        if end == first || holds(end)? {
            break end;
        }
        beyond = end;
        step *= 2;
    };
    while beyond - held > 1 {
        let middle = held.midpoint(beyond);
        match holds(middle)? {
            true => held = middle,
            false => beyond = middle,
        }
    }
    Ok(held)
}

/// Returns where the longest span that ends with a text begins, and how often the documents hold it.
fn reach(units: &[Unit], tokens: &[u32]) -> Result<(usize, u64), OccurrencesError> {
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

fn reach_in(unit: &Unit, tokens: &[u32]) -> (usize, u64) {
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
