//! Permutations that are functions of a key: looked up at any place, never stored.

/// A bijection of `0..len`, chosen by a key.
///
/// A balanced Feistel network over the smallest even number of bits that holds `len`, applied again
/// while the result lies outside (cycle walking: fewer than four rounds of it on average). Luby and
/// Rackoff, *How to construct pseudorandom permutations from pseudorandom functions*, SIAM J.
/// Comput. 17 (1988); Black and Rogaway, *Ciphers with arbitrary finite domains*, CT-RSA 2002. Four
/// rounds mix well beyond what an order of reading needs; it is no cipher.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Permutation {
    len: u64,
    half_bits: u32,
    keys: [u64; N_ROUNDS],
}

const N_ROUNDS: usize = 4;

impl Permutation {
    /// Creates the permutation of `0..len` for the key that `parts` make up.
    pub(crate) fn new(len: u64, parts: &[u64]) -> Self {
        let bits = u64::BITS - len.saturating_sub(1).leading_zeros();
        let mut keys = [0; N_ROUNDS];
        for (round, key) in (0..).zip(&mut keys) {
            *key = hash(parts.iter().copied().chain([round]));
        }
        // Both halves have the same number of bits, so the network covers at most four times the
        // range, and walking ends soon. One bit each is the least that a round can work with.
        Self {
            len,
            half_bits: bits.div_ceil(2).max(1),
            keys,
        }
    }

    /// Returns the number that stands at a place; `place` lies below `len`.
    pub(crate) fn at(&self, place: u64) -> u64 {
        debug_assert!(
            place < self.len,
            "only places within the range are asked for"
        );
        let mut value = self.encrypt(place);
        // Cycle walking: the network is a bijection, so the walk from a number within the range
        // comes back into the range, at latest at that number itself.
        while value >= self.len {
            value = self.encrypt(value);
        }
        value
    }

    /// Applies the Feistel network once: a bijection of all numbers of `2 * half_bits` bits.
    fn encrypt(&self, value: u64) -> u64 {
        let mask = (1 << self.half_bits) - 1;
        let (mut left, mut right) = (value >> self.half_bits, value & mask);
        for key in self.keys {
            (left, right) = (right, left ^ (mix(right ^ key) & mask));
        }
        (left << self.half_bits) | right
    }
}

/// Returns the first 8 bytes of the BLAKE3 of numbers, little-endian: every choice of an order is
/// made with it.
pub(crate) fn hash(parts: impl IntoIterator<Item = u64>) -> u64 {
    let mut hasher = blake3::Hasher::new();
    // Every number has eight bytes, so no two lists of numbers run together.
    for part in parts {
        hasher.update(&part.to_le_bytes());
    }
    let mut first = [0; 8];
    first.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
    u64::from_le_bytes(first)
}

/// Mixes the bits of a number, by the finalizer of MurmurHash3 with Stafford's constants (variant
/// 13): a bijection in which every input bit reaches every output bit.
pub(crate) fn mix(mut value: u64) -> u64 {
    value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_number_comes_once(len in 1..3000u64, key: u64) {
            let permutation = Permutation::new(len, &[key]);
            let mut seen: Vec<u64> = (0..len).map(|place| permutation.at(place)).collect();
            seen.sort_unstable();
            prop_assert_eq!(seen, (0..len).collect::<Vec<_>>());
        }

        #[test]
        fn huge_ranges_stay_in_range(len in 1..u64::MAX / 2, key: u64, place: u64) {
            prop_assert!(Permutation::new(len, &[key]).at(place % len) < len);
        }
    }

    #[test]
    fn the_order_never_changes() {
        // Knowledge bases and checkpoints depend on it.
        let order = |len, key| {
            (0..len)
                .map(|place| Permutation::new(len, &[key]).at(place))
                .collect::<Vec<_>>()
        };
        assert_eq!(order(10, 7), PINNED);
        assert_ne!(order(10, 7), order(10, 8));
    }

    const PINNED: [u64; 10] = [8, 2, 7, 5, 9, 1, 4, 6, 3, 0];
}
