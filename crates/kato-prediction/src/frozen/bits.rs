//! Numbers of so many bits each, one behind the other.

/// Appends numbers from the lowest bits of the first byte on; what is left of the last byte is 0.
///
/// `n_bits` are those of each, at most 56: with what the byte before left they are in one word.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the bits above the lowest byte come later"
)]
pub(super) fn append(numbers: impl Iterator<Item = u64>, n_bits: u32, out: &mut Vec<u8>) {
    let (mut bits, mut n_held) = (0_u64, 0);
    for number in numbers {
        bits |= number << n_held;
        n_held += n_bits;
        while n_held >= u8::BITS {
            out.push(bits as u8);
            bits >>= u8::BITS;
            n_held -= u8::BITS;
        }
    }
    if n_held > 0 {
        out.push(bits as u8);
    }
}
