//! Lower-case hexadecimal text of a SHA-1 digest.

/// Bytes in a SHA-1 digest.
pub(crate) const DIGEST_LEN: usize = 20;
/// Hexadecimal digits of a SHA-1 digest.
pub(crate) const HEX_LEN: usize = 2 * DIGEST_LEN;

/// Returns the 40 lower-case digits of a digest.
///
/// Names are written by the million, so this works on eight digits at a time, each in a byte of a
/// word.
#[inline]
pub(crate) fn encode(digest: &[u8; DIGEST_LEN]) -> [u8; HEX_LEN] {
    let mut text = [0; HEX_LEN];
    let words = text.as_chunks_mut().0.iter_mut().zip(digest.as_chunks().0);
    words.for_each(|(digits, bytes)| {
        *digits = eight_digits(u32::from_be_bytes(*bytes)).to_be_bytes()
    });
    text
}

/// Returns the digits of a number as text, the first in the highest byte.
#[inline]
const fn eight_digits(number: u32) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    // Move the highest half, then quarter, then eighth of the bits apart, until every digit has a
    // byte.
    let mut digits = number as u64;
    digits = (digits | digits << 16) & 0x0000_ffff_0000_ffff;
    digits = (digits | digits << 8) & 0x00ff_00ff_00ff_00ff;
    digits = (digits | digits << 4) & 0x0f0f_0f0f_0f0f_0f0f;
    // A digit above 9 carries into the upper half of its byte when 6 is added.
    let is_letter = (digits + 6 * ONES) >> 4 & ONES;
    // Letters follow the digits with a gap between `9` and `a`. No byte carries into the next, as
    // none gets beyond `f`.
    digits + b'0' as u64 * ONES + is_letter * (b'a' - b'9' - 1) as u64
}

/// Returns the digest written as exactly 40 lower-case digits, or `None` for any other text.
///
/// Names are read by the million, so digits are looked up, and whether all are digits is asked once.
pub(crate) fn decode(text: &str) -> Option<[u8; DIGEST_LEN]> {
    let text: &[u8; HEX_LEN] = text.as_bytes().try_into().ok()?;
    let (mut digest, mut all) = ([0; DIGEST_LEN], 0);
    for (byte, [high, low]) in digest.iter_mut().zip(text.as_chunks::<2>().0) {
        let (high, low) = (VALUES[usize::from(*high)], VALUES[usize::from(*low)]);
        all |= high | low;
        *byte = high << 4 | low;
    }
    (all < 16).then_some(digest)
}

/// The values of lower-case hexadecimal digits by byte; 255 for what is none.
const VALUES: [u8; 256] = {
    let (mut values, mut digit) = ([u8::MAX; 256], 0);
    while digit < 16 {
        values[b"0123456789abcdef"[digit as usize] as usize] = digit;
        digit += 1;
    }
    values
};
