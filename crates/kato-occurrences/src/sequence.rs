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

    /// Returns the symbol at a place, and how often it comes in front of it.
    pub(crate) fn get(&self, at: u64) -> (u32, u64) {
        let (mut node, mut at) = (0, at);
        loop {
            let of = &self.code.nodes[node];
            let (bit, set) = self.bits.get(of.start.wrapping_add(at));
            let set = set.wrapping_sub(of.set_before);
            at = if bit { set } else { at.wrapping_sub(set) };
            match of.child(bit) {
                Child::Node(child) => node = child,
                Child::Symbol(symbol) => return (symbol, at),
            }
        }
    }

    /// Returns how often a symbol comes in front of each of two places, the first of which is not behind
    /// the second. Where it does not come between them, both are equal and mean nothing else.
    pub(crate) fn ranks(&self, symbol: u32, mut low: u64, mut high: u64) -> (u64, u64) {
        let (bits, length) = self.code.word(symbol);
        let mut node = 0;
        for place in 0..length {
            if low >= high {
                break;
            }
            let of = &self.code.nodes[node];
            let bit = bits >> place & 1 == 1;
            let step = |at: &mut u64| {
                let set = self.bits.rank(of.start.wrapping_add(*at));
                let set = set.wrapping_sub(of.set_before);
                *at = if bit { set } else { at.wrapping_sub(set) };
            };
            step(&mut low);
            step(&mut high);
            if let Child::Node(child) = of.child(bit) {
                node = child;
            }
        }
        (low, high)
    }
}
