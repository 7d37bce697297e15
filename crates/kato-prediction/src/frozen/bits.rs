//! Numbers of so many bits each, one behind the other.

/// Appends numbers from the lowest bits of the first byte on; what is left of the last byte is 0.
///
/// `n_bits` are those of each, at most 64.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the bits above the lowest word come later"
)]
pub(super) fn append(numbers: impl Iterator<Item = u64>, n_bits: u32, out: &mut Vec<u8>) {
    let (mut bits, mut n_held) = (0_u128, 0);
    // Not `for`, so that numbers that are made block by block are taken block by block.
    numbers.for_each(|number| {
        bits |= u128::from(number) << n_held;
        n_held += n_bits;
        if n_held >= u64::BITS {
            out.extend((bits as u64).to_le_bytes());
            bits >>= u64::BITS;
            n_held -= u64::BITS;
        }
    });
    out.extend(&(bits as u64).to_le_bytes()[..n_held.div_ceil(u8::BITS) as usize]);
}
