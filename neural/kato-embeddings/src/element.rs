//! The two types of numbers that vectors are made of.

use std::fmt::Debug;

use bytemuck::Pod;

use crate::decimal::{Exact, decimal_prefix};

/// Number of a vector: `f32` or `f64`.
///
/// Text is rounded correctly to either. `f32` halves memory; `f64` is what Python's `float()`
/// gives, and what KATO names vectors by (see
/// [`EmbeddingsBuilder::with_doubles`](crate::EmbeddingsBuilder::with_doubles)). The trait is
/// sealed: there are no others.
pub trait Element: Number {}

impl Element for f32 {}
impl Element for f64 {}

/// What this crate requires of a number. Not exported, which seals [`Element`].
pub trait Number: Pod + Into<f64> + PartialOrd + Debug + Send + Sync + 'static {
    /// Name of the type, which is part of what decides the content of a cache.
    const NAME: &'static str;

    /// Returns the number at the beginning of `text`, and how many bytes it takes.
    fn read_prefix(text: &[u8]) -> Option<(Self, usize)>;

    /// Returns whether it is neither infinite nor NaN.
    fn is_finite(self) -> bool {
        let wide: f64 = self.into();
        wide.is_finite()
    }
}

impl Number for f32 {
    const NAME: &'static str = "f32";

    fn read_prefix(text: &[u8]) -> Option<(Self, usize)> {
        decimal_prefix(text)
    }
}

impl Number for f64 {
    const NAME: &'static str = "f64";

    fn read_prefix(text: &[u8]) -> Option<(Self, usize)> {
        decimal_prefix(text)
    }
}

// 10¹⁰ is 2¹⁰ · 5¹⁰, and 5¹⁰ fits the 24 bits of the mantissa; 5¹¹ does not.
impl Exact for f32 {
    const MAX_INTEGER: u64 = 1 << Self::MANTISSA_DIGITS;
    const POWERS_OF_TEN: &'static [Self] =
        &[1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10];

    fn quotient(integer: u64, power: Self, is_negative: bool) -> Self {
        let quotient = integer as Self / power;
        if is_negative { -quotient } else { quotient }
    }
}

// 5²² fits the 53 bits of the mantissa; 5²³ does not.
impl Exact for f64 {
    const MAX_INTEGER: u64 = 1 << Self::MANTISSA_DIGITS;
    const POWERS_OF_TEN: &'static [Self] = &[
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
        1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
    ];

    fn quotient(integer: u64, power: Self, is_negative: bool) -> Self {
        let quotient = integer as Self / power;
        if is_negative { -quotient } else { quotient }
    }
}
