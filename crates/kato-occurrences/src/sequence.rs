//! A sequence of symbols as bits under their [code](crate::code): which symbol is at a place, and how
//! often a symbol comes in front of one.

use kato_columns::CheckedBytes;
use kato_columns::files::{ColumnWriter, FileError};

use crate::bits::{Bits, BitsWriter};
use crate::code::{Child, Code};

/// Writes a sequence; it is left in another order.
pub(crate) fn write(
    code: &Code,
    symbols: &mut [u32],
    column: ColumnWriter,
) -> Result<ColumnWriter, FileError> {
    let mut bits = BitsWriter::new(column);
    let mut ones = Vec::new();
    // Nodes with the part of the sequence that is below them, and their depth.
    let mut open = vec![(0, 0..symbols.len(), 0)];
    while let Some((node, part, depth)) = open.pop() {
        ones.clear();
        let below = &mut symbols[part.clone()];
        let mut n_zeros = 0;
        for idx in 0..below.len() {
            let symbol = below[idx];
            let bit = code.word(symbol).0 >> depth & 1 == 1;
            bits.push(bit)?;
            match bit {
                true => ones.push(symbol),
                false => {
                    below[n_zeros] = symbol;
                    n_zeros += 1;
                }
            }
        }
        below[n_zeros..].copy_from_slice(&ones);
        let middle = part.start + n_zeros;
        // The side of the zeros is taken next, as it comes last.
        for (bit, part) in [(true, middle..part.end), (false, part.start..middle)] {
            if let Child::Node(child) = code.nodes[node].child(bit) {
                open.push((child, part, depth + 1));
            }
        }
    }
    bits.finish()
}

/// A sequence of symbols.
#[derive(Debug)]
pub(crate) struct Sequence {
    code: Code,
    bits: Bits,
}

impl Sequence {
    pub(crate) const fn new(code: Code, bits: CheckedBytes) -> Self {
        let bits = Bits::new(bits);
        Self { code, bits }
    }

    /// Returns the symbols at places, each of which becomes how often its symbol comes in front of it.
    pub(crate) fn get_each(&self, places: &mut [u64]) -> Vec<u32> {
        let mut at = vec![Child::Node(0); places.len()];
        let mut symbols = vec![0; places.len()];
        let mut n_left = places.len();
        while n_left > 0 {
            let known = at.iter().zip(&*places);
            known.for_each(|(&child, &place)| self.fetch(child, &[place]));
            for (idx, (child, place)) in at.iter_mut().zip(&mut *places).enumerate() {
                let Child::Node(node) = *child else { continue };
                let of = &self.code.nodes[node];
                let (bit, set) = self.bits.get(of.start.wrapping_add(*place));
                let set = set.wrapping_sub(of.set_before);
                *place = if bit { set } else { place.wrapping_sub(set) };
                *child = of.child(bit);
                if let Child::Symbol(symbol) = *child {
                    symbols[idx] = symbol;
                    n_left -= 1;
                }
            }
        }
        symbols
    }

    /// Has memory send what is asked of a node at some places, so that it comes while others are looked at:
    /// one question leads to the next, and each alone would wait.
    #[inline]
    fn fetch(&self, child: Child, places: &[u64]) {
        if let Child::Node(node) = child {
            let start = self.code.nodes[node].start;
            for &place in places {
                self.bits.fetch(start.wrapping_add(place));
            }
        }
    }

    /// Begins to count a symbol in front of each of two places, the first of which is not behind the second.
    pub(crate) fn counting(&self, symbol: u32, low: u64, high: u64) -> Counting {
        let (bits, n_left) = self.code.word(symbol);
        Counting {
            low,
            high,
            at: Child::Node(0),
            bits,
            n_left,
        }
    }

    /// Counts each symbol in front of its places. Where it does not come between them, both numbers are equal
    /// and mean nothing else.
    pub(crate) fn count_each(&self, counted: &mut [Counting]) {
        while counted.iter().any(Counting::is_open) {
            for open in counted.iter().filter(|counting| counting.is_open()) {
                self.fetch(open.at, &[open.low, open.high]);
            }
            for open in counted.iter_mut().filter(|counting| counting.is_open()) {
                self.step(open);
            }
        }
    }

    #[inline]
    fn step(&self, open: &mut Counting) {
        let Child::Node(node) = open.at else { return };
        let of = &self.code.nodes[node];
        let bit = open.bits & 1 == 1;
        let (low, high) = (
            of.start.wrapping_add(open.low),
            of.start.wrapping_add(open.high),
        );
        let (low, high) = self.bits.ranks(low, high);
        let of_symbol = |place: u64, set: u64| {
            let set = set.wrapping_sub(of.set_before);
            if bit { set } else { place.wrapping_sub(set) }
        };
        open.low = of_symbol(open.low, low);
        open.high = of_symbol(open.high, high);
        open.at = of.child(bit);
        open.bits >>= 1;
        open.n_left -= 1;
    }
}

/// A symbol that is counted in front of two places, which become how often it comes there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counting {
    pub(crate) low: u64,
    pub(crate) high: u64,
    at: Child,
    /// What is left of the symbol's bits, the first one lowest.
    bits: u64,
    n_left: u32,
}

impl Counting {
    const fn is_open(&self) -> bool {
        self.n_left > 0 && self.low < self.high
    }
}
