//! MinHash signatures of sets of symbols, equal to those of Python's datasketch 1.7 with seed 1 and
//! its default hash.
//!
//! A signature has one value per hash function: the least hash of any symbol of the set. Two sets
//! agree in a value with about the probability of their Jaccard index. The hash functions are
//! h(x) = ((a·x + b) mod (2⁶¹ − 1)) mod 2³², where x is the first four bytes of SHA-1 and the
//! product wraps at 2⁶⁴, as it does there.

#![expect(
    clippy::cast_possible_truncation,
    reason = "the low half of the value is what the original takes"
)]

mod mersenne_twister;

use mersenne_twister::MersenneTwister;
use sha1::{Digest, Sha1};

use crate::cancel::{Cancel, Cancelled};

/// The Mersenne prime 2⁶¹ − 1.
const MODULUS: u64 = (1 << 61) - 1;

/// Most values of a signature: settings come from users, and each value costs memory and time
/// for every pattern.
const MOST_HASHES: usize = 1024;

/// The seed, which KATO leaves at datasketch's default.
const SEED: u32 = 1;

/// A family of hash functions.
#[derive(Debug, Clone)]
pub(crate) struct MinHasher {
    /// Factor and summand of each function.
    functions: Vec<(u64, u64)>,
}

impl MinHasher {
    /// Creates the first `num_hashes` functions of the family, at most 1024, which are the
    /// same for every number.
    pub(crate) fn new(num_hashes: usize) -> Self {
        let mut random = MersenneTwister::new(SEED);
        // Factor before summand, function by function: the order of draws decides the numbers.
        let mut function = || {
            let factor = 1 + random.at_most(MODULUS - 2);
            let summand = random.at_most(MODULUS - 1);
            (factor, summand)
        };
        Self {
            functions: (0..num_hashes.min(MOST_HASHES))
                .map(|_| function())
                .collect(),
        }
    }

    /// Computes the signature of a set of symbols.
    ///
    /// Order and repetition do not matter. The empty set has the greatest value everywhere.
    pub(crate) fn signature<'a>(
        &self,
        symbols: impl IntoIterator<Item = &'a str>,
        cancel: &Cancel,
    ) -> Result<Vec<u32>, Cancelled> {
        let mut signature = vec![u32::MAX; self.functions.len()];
        for symbol in symbols {
            cancel.check()?;
            let hash = hash(symbol);
            for (least, (factor, summand)) in signature.iter_mut().zip(&self.functions) {
                let value = hash.wrapping_mul(*factor).wrapping_add(*summand) % MODULUS;
                // The low half of the value, by design of the original.
                *least = (*least).min(value as u32);
            }
        }
        Ok(signature)
    }
}

/// Hashes a symbol to the first four bytes of its SHA-1, least significant first.
fn hash(symbol: &str) -> u64 {
    let [a, b, c, d, ..] = <[u8; 20]>::from(Sha1::digest(symbol));
    u64::from(u32::from_le_bytes([a, b, c, d]))
}

/// Returns whether two signatures are equal in all rows of at least one of the bands that
/// they are cut into.
pub(crate) fn shares_band(a: &[u32], b: &[u32], bands: usize, rows: usize) -> bool {
    // Without rows there is nothing to share; `chunks_exact` demands at least one.
    rows > 0
        && a.chunks_exact(rows)
            .zip(b.chunks_exact(rows))
            .take(bands)
            .any(|(a, b)| a == b)
}

/// Returns the share of equal values, an estimate of the Jaccard index of the two sets; 0 for
/// signatures without values.
pub(crate) fn estimated_jaccard(a: &[u32], b: &[u32]) -> f64 {
    if a.is_empty() {
        return 0.0;
    }
    let equal = a.iter().zip(b).filter(|(a, b)| a == b).count();
    equal as f64 / a.len() as f64
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;
    use crate::cancel::unwrap_uncancelled;

    #[derive(Deserialize)]
    struct Row {
        symbols: Vec<String>,
        num_hashes: usize,
        signature: Vec<u32>,
    }

    fn signature_of<'a>(num_hashes: usize, symbols: impl IntoIterator<Item = &'a str>) -> Vec<u32> {
        unwrap_uncancelled(MinHasher::new(num_hashes).signature(symbols, &Cancel::never()))
    }

    fn signature(symbols: &[&str]) -> Vec<u32> {
        signature_of(100, symbols.iter().copied())
    }

    #[test]
    fn signatures_are_those_of_datasketch() {
        for line in include_str!("../tests/data/minhash.jsonl").lines() {
            let row: Row = serde_json::from_str(line).unwrap();
            let symbols = row.symbols.iter().map(String::as_str);
            assert_eq!(
                signature_of(row.num_hashes, symbols),
                row.signature,
                "{:?}",
                row.symbols
            );
        }
    }

    #[test]
    fn a_signature_is_that_of_a_set() {
        assert_eq!(signature(&["a", "b"]), signature(&["b", "a", "b"]));
        assert_eq!(signature(&[]), [u32::MAX; 100]);
    }

    #[test]
    fn the_estimate_is_near_the_jaccard_index() {
        let symbols: Vec<String> = (0..90).map(|i| i.to_string()).collect();
        let of = |range: std::ops::Range<usize>| {
            signature_of(1000, symbols[range].iter().map(String::as_str))
        };
        let estimate = estimated_jaccard(&of(0..60), &of(30..90));
        assert!((estimate - 1.0 / 3.0).abs() < 0.06, "{estimate}");
        assert_eq!(estimated_jaccard(&of(0..60), &of(0..60)), 1.0);
        assert_eq!(estimated_jaccard(&[], &[]), 0.0);
    }

    #[test]
    fn no_setting_makes_a_signature_that_does_not_fit() {
        assert_eq!(signature_of(usize::MAX, ["a"]).len(), MOST_HASHES);
    }

    #[test]
    fn a_band_counts_only_whole_and_in_place() {
        let (a, b) = ([1, 2, 3, 4, 5], [0, 2, 3, 4, 5]);
        assert!(shares_band(&a, &b, 2, 2));
        assert!(!shares_band(&a, &b, 1, 2), "the first band differs");
        assert!(!shares_band(&a, &b, 20, 3), "the second band is not whole");
        assert!(!shares_band(&a, &a, 5, 0));
        assert!(!shares_band(&a, &a, 0, 1));
    }
}
