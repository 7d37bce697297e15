//! A posting, and the order in which postings are written.

#![expect(
    clippy::cast_possible_truncation,
    reason = "what is cut out of a number was packed into it"
)]

/// A posting, whose order is that of the lists: by symbol, by the symbol that follows (0 where none is
/// asked for), by rank; then a bit that is 0 where the pattern begins with the symbol of a list that asks for
/// that, and last the signature.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Posting(u128);

impl Posting {
    pub(super) fn new([first, second]: [u32; 2], rank: u32, begins: bool, signature: u32) -> Self {
        let symbols = u128::from(first) << 32 | u128::from(second);
        // Ranks have 31 bits.
        let place = symbols << 31 | u128::from(rank);
        Self((place << 1 | u128::from(!begins)) << 32 | u128::from(signature))
    }

    pub(super) fn signature(self) -> u32 {
        self.0 as u32
    }

    pub(super) fn rank(self) -> u32 {
        (self.0 >> 33) as u32 & u32::MAX >> 1
    }

    /// Returns whether the pattern begins with the symbol.
    pub(super) fn begins(self) -> bool {
        self.0 >> 32 & 1 == 0
    }

    pub(super) fn symbols(self) -> u64 {
        (self.0 >> 64) as u64
    }

    pub(super) fn first(self) -> u32 {
        (self.0 >> 96) as u32
    }

    pub(super) fn second(self) -> u32 {
        (self.0 >> 64) as u32
    }

    /// Returns symbols and rank.
    pub(super) fn place(self) -> u128 {
        self.0 >> 33
    }

    /// Joins two postings of one place: of several signatures the least, however they were sorted.
    pub(super) fn joined(self, other: Self) -> Self {
        let of_both = self.place() << 33 | (self.0 & other.0 & 1 << 32);
        Self(of_both | u128::from(self.signature().min(other.signature())))
    }
}
