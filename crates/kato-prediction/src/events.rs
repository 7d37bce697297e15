//! The events that hold the symbols of a sequence.

use std::ops::Range;

use crate::SymbolId;

/// Where the events of a sequence of symbols end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EventBounds<'a> {
    /// One for each event, ascending; `None` when every event holds one symbol.
    ends: Option<&'a [usize]>,
}

/// A sequence of symbols in events.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EventSymbols<'a> {
    pub(crate) symbols: &'a [SymbolId],
    pub(crate) events: EventBounds<'a>,
}

impl<'a> EventBounds<'a> {
    pub(crate) const fn new(ends: Option<&'a [usize]>) -> Self {
        Self { ends }
    }

    /// Returns the places of the event that holds a place.
    #[inline]
    pub(crate) fn range_of(self, at: usize) -> Range<usize> {
        let Some(ends) = self.ends else {
            return at..at + 1;
        };
        let event = self.event_of(at);
        let start = event.checked_sub(1).map_or(0, |before| ends[before]);
        // There is one, unless a pattern is damaged.
        start..ends.get(event).copied().unwrap_or(at + 1)
    }

    /// Returns the number of the event that holds a place.
    #[inline]
    pub(crate) fn event_of(self, at: usize) -> usize {
        match self.ends {
            None => at,
            Some(ends) => ends.partition_point(|&end| end <= at),
        }
    }

    /// Returns the number of events of a sequence of so many symbols.
    pub(crate) fn len(self, n_symbols: usize) -> usize {
        self.ends.map_or(n_symbols, <[usize]>::len)
    }
}

/// Replaces `ends` by where events of these lengths end.
pub(crate) fn read_ends(lengths: &[u32], ends: &mut Vec<usize>) {
    ends.clear();
    ends.extend(lengths.iter().scan(0, |end, &length| {
        *end += length as usize;
        Some(*end)
    }));
}

/// Returns the number of symbols in the events of these lengths from the one that holds the place `first` to
/// the one that holds `last`.
#[inline]
pub(crate) fn symbols_of_events(lengths: &[u32], first: usize, last: usize) -> usize {
    let (mut start, mut end) = (0, 0);
    for &length in lengths {
        if end <= first {
            start = end;
        }
        end += length as usize;
        if end > last {
            break;
        }
    }
    end - start
}
