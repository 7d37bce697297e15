//! Classes of patterns by length and shape: pages hold one class, so that one bound holds
//! for all of a page.

use std::ops::RangeInclusive;

use crate::SymbolId;

/// Greatest length that has a class of its own.
const EXACT: usize = 32;

/// Number of classes of each doubling above [`EXACT`].
const STEPS: usize = 4;

/// The properties that the patterns of a page have in common.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct PageClass {
    pub(crate) lengths: LengthClass,
    /// Every event holds one symbol, and no two neighbours are equal, as in nearly all patterns of
    /// text. Then one matching block is all of the present.
    pub(crate) is_plain: bool,
}

impl PageClass {
    /// Returns the class of a pattern.
    ///
    /// `event_lengths` is `None` when every event holds one symbol.
    pub(crate) fn new(symbols: &[SymbolId], event_lengths: Option<&[u32]>) -> Self {
        Self {
            lengths: LengthClass::from_length(symbols.len()),
            is_plain: event_lengths.is_none() && symbols.windows(2).all(|pair| pair[0] != pair[1]),
        }
    }
}

/// A range of pattern lengths: one length up to 32, a quarter of an octave above.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct LengthClass(usize);

impl LengthClass {
    /// Returns the class that a length belongs to.
    pub(crate) fn from_length(length: usize) -> Self {
        if length <= EXACT {
            return Self(length);
        }
        // The quotient is at least 1, so it has a logarithm.
        let octave = (length / EXACT).ilog2() as usize;
        let step = (EXACT / STEPS) << octave;
        // Numbers up to `EXACT` are those of the single lengths, so classes ascend with lengths.
        Self(EXACT + octave * STEPS + (length - (EXACT << octave)) / step + 1)
    }

    /// Returns the lengths of the class; the first is the shortest that a member can have.
    pub(crate) fn lengths(&self) -> RangeInclusive<usize> {
        if self.0 <= EXACT {
            return self.0..=self.0;
        }
        // The inverse of `from_length`.
        let place = self.0 - EXACT - 1;
        let (octave, part) = (place / STEPS, place % STEPS);
        let step = (EXACT / STEPS) << octave;
        let first = (EXACT << octave) + part * step;
        // The length at the bottom of the first octave has a class of its own.
        let shortest = if first == EXACT { EXACT + 1 } else { first };
        shortest..=first + step - 1
    }

    /// Returns the one length of all members, if there is just one.
    pub(crate) fn exact(&self) -> Option<usize> {
        (self.0 <= EXACT).then_some(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_lies_in_its_class_and_classes_ascend() {
        for length in 0..100_000 {
            let class = LengthClass::from_length(length);
            assert!(class.lengths().contains(&length), "{length} {class:?}");
            assert!(class <= LengthClass::from_length(length + 1));
        }
    }

    #[test]
    fn short_lengths_have_classes_of_their_own() {
        assert_eq!(LengthClass::from_length(5).lengths(), 5..=5);
        assert_eq!(LengthClass::from_length(33).lengths(), 33..=39);
        assert_eq!(LengthClass::from_length(40).lengths(), 40..=47);
        assert_eq!(LengthClass::from_length(1000).lengths(), 896..=1023);
    }
}
