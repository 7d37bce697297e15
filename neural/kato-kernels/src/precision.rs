//! Says in which precision factors of products are, and rounds to it.

/// Precision of the factors of a product. Sums, states and results are f32 in both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Precision {
    /// 24 bits of significand.
    #[default]
    F32,
    /// 8 bits of significand (bfloat16), rounded to the nearest, ties to even.
    Bf16,
}

/// Rounds to bf16, and returns its bits. A NaN stays one.
#[inline(always)]
pub(crate) const fn bf16_bits(value: f32) -> u32 {
    let bits = value.to_bits();
    // Half of the last kept bit, less one where that bit is even.
    let rounded = bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) >> 16;
    // Rounding could carry a NaN's payload over into the sign.
    let quiet = (bits >> 16) | 0x40;
    if bits & 0x7fff_ffff > 0x7f80_0000 {
        quiet
    } else {
        rounded
    }
}

/// Puts two values into a pair of bf16, the first in the low half.
#[inline(always)]
pub(crate) const fn pair(first: f32, second: f32) -> u32 {
    bf16_bits(first) | (bf16_bits(second) << 16)
}

/// Rounds to bf16 and back.
///
/// ```
/// assert_eq!(kato_kernels::round_to_bf16(1.0 + 1.0 / 512.0), 1.0);
/// assert_eq!(kato_kernels::round_to_bf16(-2.5), -2.5);
/// ```
#[must_use]
pub const fn round_to_bf16(value: f32) -> f32 {
    f32::from_bits(bf16_bits(value) << 16)
}
