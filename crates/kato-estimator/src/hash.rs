//! Hashes of tokens, of names and of text: what stands for a content while it is counted.

use std::hash::{BuildHasherDefault, Hasher};

/// A table by hashes, which are not hashed again.
pub(crate) type HashTable<V> = std::collections::HashMap<u64, V, BuildHasherDefault<Placed>>;

/// Takes a hash as it is.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Placed(u64);

impl Hasher for Placed {
    fn write(&mut self, bytes: &[u8]) {
        bytes
            .iter()
            .for_each(|&byte| self.write_u64(u64::from(byte)));
    }

    fn write_u64(&mut self, hash: u64) {
        // A table places by the low bits, which are all zero in a slice of a sketch.
        self.0 = hash.swap_bytes();
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Starts of hashes, digits of π: a run of tokens and a run of names never begin alike.
const TOKENS: u64 = 0x243F_6A88_85A3_08D3;
pub(crate) const NAMES: u64 = 0x1319_8A2E_0370_7344;

/// Returns the hash of a pattern of tokens.
pub(crate) fn hash_tokens(tokens: &[u32]) -> u64 {
    let hash = tokens
        .iter()
        .fold(TOKENS, |hash, &token| mix(hash, u64::from(token)));
    finish(hash, tokens.len())
}

/// Returns the hash of a pattern of names.
pub(crate) fn hash_names(names: &[u64]) -> u64 {
    let hash = names.iter().fold(NAMES, |hash, &name| mix(hash, name));
    finish(hash, names.len())
}

/// Returns the hash of one token.
pub(crate) fn hash_token(token: u32) -> u64 {
    finish(mix(TOKENS, u64::from(token)), 1)
}

/// Adds a value to a hash.
pub(crate) fn mix(hash: u64, value: u64) -> u64 {
    // Both halves of the product are used, so that every bit of the input reaches every bit of the
    // hash; the rotated hash keeps a product of 0 from erasing what came before.
    let product = u128::from(hash ^ value.wrapping_mul(0x9E37_79B9_7F4A_7C15))
        * u128::from(0xD6E8_FEB8_6659_FD93_u64 ^ value.rotate_left(32));
    (product as u64) ^ ((product >> 64) as u64) ^ hash.rotate_left(23)
}

/// Ends a hash by SplitMix64's last step.
pub(crate) fn finish(hash: u64, len: usize) -> u64 {
    // The sketch selects patterns by the lowest bits, which have to be as random as the others.
    let mut bits = hash ^ len as u64;
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

/// Start of hashes of text, digits of π as well.
const TEXT: u64 = 0xA409_3822_299F_31D0;

/// Returns the hash of a text.
pub(crate) fn hash_text(text: &[u8]) -> u64 {
    let (words, rest) = text.as_chunks::<8>();
    let hash = words
        .iter()
        .fold(TEXT, |hash, &word| mix(hash, u64::from_le_bytes(word)));
    let mut last = [0; 8];
    for (to, &from) in last.iter_mut().zip(rest) {
        *to = from;
    }
    // The length tells a rest of zeros from none.
    finish(mix(hash, u64::from_le_bytes(last)), text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_content_has_one_hash_and_other_content_another() {
        assert_eq!(hash_tokens(&[1, 2, 3]), hash_tokens(&[1, 2, 3]));
        let mut all: Vec<u64> = (0..40u32)
            .flat_map(|a| {
                (0..40).flat_map(move |b| [hash_tokens(&[a, b]), hash_tokens(&[a, b, 0])])
            })
            .collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 3_200);
    }

    #[test]
    fn a_text_is_told_from_its_beginnings_and_from_zeros_behind_it() {
        let text = "one two three four\0\0\0\0\0\0\0\0\0";
        let hashes: std::collections::HashSet<u64> = (0..=text.len())
            .map(|len| hash_text(&text.as_bytes()[..len]))
            .collect();
        assert_eq!(hashes.len(), text.len() + 1);
    }
}
