//! The longest spans of a text that documents hold.

use std::ops::Range;

use crate::OccurrencesError;
use crate::reach::{Held, longest};
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

/// A span with its rows in each unit, none where the unit does not hold it.
#[derive(Debug)]
pub(crate) struct HeldSpan {
    pub(crate) span: Span,
    pub(crate) rows: Vec<Rows>,
}

/// Returns the spans of a text in their order.
pub(crate) fn spans(units: &[Unit], tokens: &[u32]) -> Result<Vec<HeldSpan>, OccurrencesError> {
    // A unit is read in one go: to ask whether its files were written to takes as long as finding a span.
    let held = units.iter().map(|unit| unit.read(|| longest(unit, tokens)));
    let held: Vec<Vec<Held>> = held.collect::<Result<_, _>>()?;
    let mut all: Vec<&Range<usize>> = held.iter().flatten().map(|held| &held.tokens).collect();
    all.sort_unstable_by_key(|tokens| (tokens.start, std::cmp::Reverse(tokens.end)));
    let mut last_end = 0;
    // One that is part of another begins behind it or with it, and ends before it or with it.
    all.retain(|tokens| {
        let is_longest = tokens.end > last_end;
        last_end = last_end.max(tokens.end);
        is_longest
    });
    let of_span = |tokens: &Range<usize>| {
        let rows = held.iter().map(|held| rows_of(held, tokens));
        let rows: Vec<Rows> = rows.collect();
        let count = rows.iter().map(|rows| rows.len()).sum();
        let tokens = tokens.clone();
        let span = Span { tokens, count };
        HeldSpan { span, rows }
    };
    Ok(all.into_iter().map(of_span).collect())
}

/// Returns the rows of a span that no unit holds as part of a longer one.
fn rows_of(held: &[Held], tokens: &Range<usize>) -> Rows {
    let place = held.partition_point(|held| held.tokens.start < tokens.start);
    match held.get(place) {
        Some(held) if held.tokens == *tokens => held.rows,
        _ => Rows { start: 0, end: 0 },
    }
}
