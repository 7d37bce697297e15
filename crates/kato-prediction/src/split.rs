//! The division of a pattern's events into past, present and future.

use std::ops::Range;

use crate::events::EventBounds;

/// The events of past, present and future, by number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Split {
    pub(crate) past: Range<usize>,
    pub(crate) present: Range<usize>,
    pub(crate) future: Range<usize>,
    /// Symbols of the present's events.
    pub(crate) present_symbols: Range<usize>,
}

impl Split {
    /// Divides the events of a pattern, as KATO from 5.x on does: the present are the events from the
    /// first to the last match.
    pub(crate) fn of_matches(
        n_symbols: usize,
        events: EventBounds<'_>,
        first: usize,
        last: usize,
    ) -> Self {
        let (start, end) = (events.event_of(first), events.event_of(last) + 1);
        Self {
            past: 0..start,
            present: start..end,
            future: end..events.len(n_symbols),
            present_symbols: events.range_of(first).start..events.range_of(last).end,
        }
    }

    /// Divides the events of a pattern, as KATO up to 4.x does.
    ///
    /// Whole events are taken until they cover the symbols before the match, then until they cover
    /// the match. If the past's last event holds the first match after all (`is_first_match` of a
    /// place in the pattern), it belongs to the present.
    ///
    /// `start..end` are the symbols from the first to the last match; `event_lengths` is `None`
    /// when every event holds one symbol.
    pub(crate) fn new(
        n_symbols: usize,
        event_lengths: Option<&[u32]>,
        start: usize,
        end: usize,
        is_first_match: impl Fn(usize) -> bool,
    ) -> Self {
        let Some(lengths) = event_lengths else {
            // The rules below, where an event and its symbol have one number.
            let first = start - usize::from(start > 0 && is_first_match(start - 1));
            return Self {
                past: 0..first,
                present: first..end,
                future: end..n_symbols,
                present_symbols: first..end,
            };
        };
        // Number of events, and their symbols, that it takes to cover so many symbols.
        let cover = |from: (usize, usize), target: usize| {
            let (mut n_events, mut covered) = from;
            while covered < target && n_events < lengths.len() {
                covered += lengths[n_events] as usize;
                n_events += 1;
            }
            (n_events, covered)
        };
        let (mut first, mut first_symbol) = cover((0, 0), start);
        let (last, last_symbol) = cover((first, first_symbol), end);
        // An event that the match cuts is in the past so far. KATO corrects that by looking for the
        // first matched symbol in it, which also moves an event that only holds an equal symbol.
        if first > 0 {
            let event = first_symbol - lengths[first - 1] as usize..first_symbol;
            if event.clone().any(is_first_match) {
                first -= 1;
                first_symbol = event.start;
            }
        }
        Self {
            past: 0..first,
            present: first..last,
            future: last..lengths.len(),
            present_symbols: first_symbol..last_symbol,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_cut_by_the_match_belongs_to_the_present() {
        // x [a b] c d against b c
        let split = Split::new(5, Some(&[1, 2, 1, 1]), 2, 4, |place| place == 2);
        assert_eq!(split.past, 0..1);
        assert_eq!(split.present, 1..3);
        assert_eq!(split.future, 3..4);
        assert_eq!(split.present_symbols, 1..4);
    }

    #[test]
    fn an_event_before_the_match_that_holds_the_first_match_belongs_to_the_present() {
        // a a b against a b: the block is the second a and b, and the first a is moved
        let split = Split::new(3, None, 1, 3, |place| place < 2);
        assert_eq!(
            (split.past, split.present, split.future),
            (0..0, 0..3, 3..3)
        );
    }

    #[test]
    fn one_symbol_events_split_as_events_of_length_one() {
        for (start, end) in [(0, 1), (1, 3), (2, 5), (0, 5)] {
            for first_match in 0..5 {
                let is_match = |place| place == first_match;
                assert_eq!(
                    Split::new(5, None, start, end, is_match),
                    Split::new(5, Some(&[1; 5]), start, end, is_match),
                );
            }
        }
    }
}
