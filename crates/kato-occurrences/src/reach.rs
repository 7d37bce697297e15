//! How far the sequences of a text that one unit holds reach back from each of their ends.

use std::ops::Range;

use crate::unit::{Rows, Unit};

/// Tokens up to which sequences are lengthened together, as most end before; those of a text that the unit holds
/// as it is would be lengthened for nothing.
const TOGETHER: usize = 12;

/// A span of a text that a unit holds, and that is part of no longer one that it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) tokens: Range<usize>,
    pub(crate) rows: Rows,
}

/// The longest sequence with some end, as far as it is known.
#[derive(Debug, Clone, Copy)]
struct Reach {
    start: usize,
    rows: Rows,
    is_longest: bool,
}

/// The sequences of a text.
struct Reaches<'a> {
    unit: &'a Unit,
    /// Of the text, `None` where the unit does not hold the token.
    symbols: Vec<Option<u32>>,
    /// By the last token.
    of_last: Vec<Reach>,
}

/// Returns the longest spans in the order of the text.
pub(crate) fn longest(unit: &Unit, tokens: &[u32]) -> Vec<Held> {
    let mut reaches = Reaches::new(unit, tokens);
    let mut found: Vec<Held> = Vec::new();
    let mut end = tokens.len();
    while end > 0 {
        let Reach { start, rows, .. } = reaches.of(end);
        if start == end {
            // A token that is nowhere.
            end -= 1;
            continue;
        }
        found.push(Held {
            tokens: start..end,
            rows,
        });
        // The next span begins in front of this one and ends before it does.
        match start.checked_sub(1) {
            Some(first) => end = reaches.last_end(first, end - 1),
            None => break,
        }
    }
    found.reverse();
    found
}

impl<'a> Reaches<'a> {
    fn new(unit: &'a Unit, tokens: &[u32]) -> Self {
        let symbols = tokens.iter().map(|&token| unit.symbol(token));
        let symbols: Vec<Option<u32>> = symbols.collect();
        let of_last = symbols.iter().enumerate().map(|(last, symbol)| Reach {
            start: last + usize::from(symbol.is_none()),
            rows: symbol.map_or(Rows { start: 0, end: 0 }, |symbol| unit.rows_of(symbol)),
            is_longest: symbol.is_none(),
        });
        let mut reaches = Self {
            unit,
            of_last: of_last.collect(),
            symbols,
        };
        let mut open: Vec<usize> = (0..tokens.len()).collect();
        for _ in 1..TOGETHER {
            open.retain(|&last| !reaches.of_last[last].is_longest);
            reaches.lengthen(&open);
        }
        reaches
    }

    /// Lengthens the sequences of these last tokens by one in front, if the unit holds that.
    fn lengthen(&mut self, lasts: &[usize]) {
        let (mut longer, mut of) = (Vec::new(), Vec::new());
        for &last in lasts {
            let reach = &mut self.of_last[last];
            let before = reach.start.checked_sub(1);
            match before.and_then(|before| self.symbols[before]) {
                Some(symbol) => {
                    longer.push((reach.rows, symbol));
                    of.push(last);
                }
                None => reach.is_longest = true,
            }
        }
        self.unit.extend_each(&mut longer);
        for (last, (rows, _)) in of.into_iter().zip(longer) {
            let reach = &mut self.of_last[last];
            if rows.len() > 0 {
                reach.start -= 1;
                reach.rows = rows;
            } else {
                reach.is_longest = true;
            }
        }
    }

    /// Returns the longest sequence with an end.
    fn of(&mut self, end: usize) -> Reach {
        let last = end - 1;
        while !self.of_last[last].is_longest {
            self.lengthen(&[last]);
        }
        self.of_last[last]
    }

    /// Returns the largest end, up to `most`, of a span that the unit holds from `first` on or from further in
    /// front; `first` itself where it does not even hold its token.
    fn last_end(&mut self, first: usize, most: usize) -> usize {
        // Mostly it is near: steps from the end double until it is passed, and are halved from then on.
        let (mut beyond, mut step) = (most + 1, 1);
        let mut held = loop {
            let end = beyond.saturating_sub(step).max(first);
            if end == first || self.of(end).start <= first {
                break end;
            }
            beyond = end;
            step *= 2;
        };
        while beyond - held > 1 {
            let middle = held.midpoint(beyond);
            match self.of(middle).start <= first {
                true => held = middle,
                false => beyond = middle,
            }
        }
        held
    }
}
