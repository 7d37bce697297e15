//! Signatures: 32 bits beside a rank in a list, which tell what else the pattern may hold.
//!
//! A list says of its patterns that they hold a symbol or a pair. The signature says where, and has a few
//! bits of each of the other symbols. So a walk along a list passes over most patterns that score
//! too low without reading them, which would mean waiting for memory for each.

#![expect(
    clippy::cast_possible_truncation,
    reason = "patterns that are signed are no longer than `LONGEST_SIGNED`"
)]

/// Most symbols of a pattern that has signatures.
pub const LONGEST_SIGNED: usize = 9;

/// Ranks of a list without signatures, at most: so few are read as soon as they are passed over.
pub const LONGEST_UNSIGNED_LIST: usize = 128;

/// Most bits of one symbol; more would only make the tables by which they are looked up larger.
const MOST_HASH_BITS: u32 = 10;

/// How the signatures of a list are laid out: by the length of its patterns, and by how many
/// neighbours the list itself stands for.
///
/// The lowest bits are the place of the first of those neighbours; then come the hashes of the other
/// symbols, in order. The hash of a symbol is the highest bits of its number times 0x9E3779B1,
/// modulo 2³².
///
/// ```
/// use kato_prediction::frozen::SignatureShape;
///
/// let shape = SignatureShape::new(3, 2).expect("patterns of three symbols have signatures");
/// // The list of the pair (7, 9), which stands at place 1; the other symbol is 5.
/// assert_eq!(shape.sign(&[5, 7, 9], 1), 1 | shape.hash(5) << 1);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignatureShape {
    length: u32,
    n_known: u32,
    place_bits: u32,
    hash_bits: u32,
}

impl SignatureShape {
    /// Creates the shape for patterns of a length in lists that stand for so many neighbours; `None` if
    /// such patterns have no signatures.
    #[must_use]
    pub const fn new(length: usize, n_known: usize) -> Option<Self> {
        if n_known == 0 || length < n_known || length > LONGEST_SIGNED {
            return None;
        }
        let (length, n_known) = (length as u32, n_known as u32);
        let place_bits = u32::BITS - (length - n_known).leading_zeros();
        let hash_bits = match length - n_known {
            0 => 0,
            n_others => (u32::BITS - place_bits) / n_others,
        };
        Some(Self {
            length,
            n_known,
            place_bits,
            hash_bits: if hash_bits < MOST_HASH_BITS {
                hash_bits
            } else {
                MOST_HASH_BITS
            },
        })
    }

    /// Returns the signature of a pattern, given by its symbols' numbers, for a list whose symbols
    /// begin at a place.
    #[must_use]
    pub fn sign(self, symbols: &[u32], place: usize) -> u32 {
        self.sign_hashes(self.hashes(symbols), place)
    }

    /// Returns the hashes of a pattern's symbols, given by their numbers, one after the other.
    #[inline]
    pub(crate) fn hashes(self, symbols: &[u32]) -> u64 {
        let symbols = symbols.iter().take(LONGEST_SIGNED);
        let hashes = (0..).zip(symbols).map(|(n, &symbol)| {
            // No pattern of the shape has more than fit.
            let hash = u64::from(self.hash(symbol));
            hash.checked_shl(n * self.hash_bits).unwrap_or(0)
        });
        hashes.fold(0, |all, hash| all | hash)
    }

    /// Returns the signature of a pattern with these hashes for a list whose symbols begin at a place.
    #[inline]
    pub(crate) fn sign_hashes(self, hashes: u64, place: usize) -> u32 {
        let n_bits = |n_symbols: u32| n_symbols * self.hash_bits;
        let end_of_known = n_bits(place as u32 + self.n_known);
        let before = hashes & !u64::MAX.unbounded_shl(n_bits(place as u32));
        let behind = hashes
            .unbounded_shr(end_of_known)
            .unbounded_shl(n_bits(place as u32));
        place as u32 | ((before | behind) as u32) << self.place_bits
    }

    /// Returns the hash of a symbol.
    #[must_use]
    pub const fn hash(self, symbol: u32) -> u32 {
        match self.hash_bits {
            0 => 0,
            bits => symbol.wrapping_mul(0x9E37_79B1) >> (u32::BITS - bits),
        }
    }

    pub(crate) const fn length(self) -> usize {
        self.length as usize
    }

    pub(crate) const fn n_known(self) -> usize {
        self.n_known as usize
    }

    /// Returns the number of hashes that there are.
    pub(crate) const fn n_hashes(self) -> usize {
        1 << self.hash_bits
    }

    /// Returns the place of the list's symbols.
    #[inline]
    pub(crate) const fn place(self, signature: u32) -> usize {
        (signature & ((1 << self.place_bits) - 1)) as usize
    }

    /// Adds up a number for each of the other symbols, by its hash, of which there are
    /// [`n_hashes`](Self::n_hashes).
    #[inline]
    pub(crate) fn sum_of_others(self, signature: u32, of_hash: &[u8]) -> u32 {
        let (mut hashes, mut sum) = (signature >> self.place_bits, 0);
        for _ in self.n_known..self.length {
            let hash = hashes as usize & (self.n_hashes() - 1);
            sum += of_hash.get(hash).map_or(0, |&number| u32::from(number));
            hashes >>= self.hash_bits;
        }
        sum
    }

    /// Returns the hash of the n-th of the other symbols; below [`n_hashes`](Self::n_hashes).
    #[inline]
    pub(crate) const fn other(self, signature: u32, n: usize) -> usize {
        let shift = self.place_bits + n as u32 * self.hash_bits;
        (signature >> shift) as usize & (self.n_hashes() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_signed_is_read() {
        for length in 1..=LONGEST_SIGNED {
            for n_known in 1..=length.min(2) {
                let shape = SignatureShape::new(length, n_known).unwrap();
                let symbols: Vec<u32> = (0..length as u32).map(|n| n * 7_919 + 1).collect();
                for place in 0..=length - n_known {
                    let signature = shape.sign(&symbols, place);
                    assert_eq!(shape.place(signature), place);
                    let low_bits: Vec<u8> = (0..shape.n_hashes()).map(|hash| hash as u8).collect();
                    let others = (0..length - n_known).map(|n| shape.other(signature, n) as u8);
                    let expected: u32 = others.map(u32::from).sum();
                    assert_eq!(shape.sum_of_others(signature, &low_bits), expected);
                    let others = (0..length).filter(|at| !(place..place + n_known).contains(at));
                    for (n, at) in others.enumerate() {
                        let hash = shape.hash(symbols[at]) as usize;
                        assert_eq!(
                            shape.other(signature, n),
                            hash,
                            "{length} {n_known} {place}"
                        );
                    }
                }
            }
        }
        assert_eq!(SignatureShape::new(LONGEST_SIGNED + 1, 1), None);
        assert_eq!(SignatureShape::new(1, 2), None);
    }
}
