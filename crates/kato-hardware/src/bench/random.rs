//! Bytes that do not compress, the same for equal seeds.

use kato_random::SplitMix64;

/// Fills memory with random bytes.
pub(crate) fn fill(bytes: &mut [u8], random: &mut SplitMix64) {
    for chunk in bytes.chunks_mut(8) {
        let word = random.next_u64().to_le_bytes();
        chunk.copy_from_slice(&word[..chunk.len()]);
    }
}
