//! Decimal text to floating point, correctly rounded.
//!
//! Vectors in text have few digits. When those, read as an integer, and the power of ten that
//! divides them are both exact in the target type, one division rounds once, so it is right. That
//! takes about half the time of a general parser, which takes the rest: long numbers, exponents,
//! `inf` and `nan`.

use fast_float2::FastFloat;

/// Floating-point type in which small integers and small powers of ten are exact.
pub(crate) trait Exact: FastFloat + 'static {
    /// Integer up to which every one is exact.
    const MAX_INTEGER: u64;
    /// The powers 10⁰, 10¹ …, as far as they are exact.
    const POWERS_OF_TEN: &'static [Self];

    /// Returns `integer` over `power`, rounded once.
    fn quotient(integer: u64, power: Self, is_negative: bool) -> Self;
}

/// Digits of which no number overflows 64 bits.
const MAX_DIGITS: usize = 19;

/// Returns the number at the beginning of `text`, and how many bytes it takes; `None` if there is
/// none.
#[inline]
pub(crate) fn decimal_prefix<T: Exact>(text: &[u8]) -> Option<(T, usize)> {
    short_prefix(text).or_else(|| fast_float2::parse_partial(text).ok())
}

/// Returns the number at the beginning of `text` if one division gives it, rounded correctly.
#[inline]
fn short_prefix<T: Exact>(text: &[u8]) -> Option<(T, usize)> {
    let is_negative = text.first() == Some(&b'-');
    let start = usize::from(is_negative);
    let (integer, mut end) = digits(text, start, 0);
    let mut n_digits = end - start;
    let (mut integer, mut n_decimals) = (integer, 0);
    if text.get(end) == Some(&b'.') {
        let point = end + 1;
        (integer, end) = digits(text, point, integer);
        n_decimals = end - point;
        n_digits += n_decimals;
    }
    let is_short = (1..=MAX_DIGITS).contains(&n_digits) && integer <= T::MAX_INTEGER;
    // An exponent moves the point, which only the general parser knows.
    if !is_short || matches!(text.get(end), Some(b'e' | b'E')) {
        return None;
    }
    let power = *T::POWERS_OF_TEN.get(n_decimals)?;
    Some((T::quotient(integer, power, is_negative), end))
}

/// Appends the digits from `at` on to `integer`; returns where they end as well. The integer means
/// nothing above [`MAX_DIGITS`] digits.
#[inline]
fn digits(text: &[u8], mut at: usize, mut integer: u64) -> (u64, usize) {
    while let Some(&byte) = text.get(at) {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        // It may overflow: the caller refuses that many digits afterwards, which costs less than a
        // check for each.
        integer = integer.wrapping_mul(10).wrapping_add(u64::from(digit));
        at += 1;
    }
    (integer, at)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str) {
        let is_whole = |end: usize| end == text.len();
        let single = decimal_prefix::<f32>(text.as_bytes()).filter(|&(_, end)| is_whole(end));
        let double = decimal_prefix::<f64>(text.as_bytes()).filter(|&(_, end)| is_whole(end));
        let bits = |number: f64| (!number.is_nan()).then(|| number.to_bits());
        assert_eq!(
            single.map(|(number, _)| bits(number.into())),
            text.parse::<f32>().ok().map(|number| bits(number.into())),
            "{text} as f32"
        );
        assert_eq!(
            double.map(|(number, _)| bits(number)),
            text.parse::<f64>().ok().map(bits),
            "{text} as f64"
        );
    }

    #[test]
    fn numbers_are_those_of_the_standard_library() {
        for text in [
            "0",
            "-0",
            "-0.0",
            "1",
            "+1",
            "-0.15243",
            ".5",
            "5.",
            "-.5",
            "+.5e-3",
            "1e5",
            "1E+5",
            "1.5e-45",
            "16777216",
            "16777217",
            "16777219",
            "0.16777217",
            "9007199254740993",
            "0.1",
            "0.10000000149011612",
            "3.4028235e38",
            "3.4028236e38",
            "1e39",
            "1e400",
            "-1e-400",
            "1e-46",
            "5e-324",
            "inf",
            "-inf",
            "nan",
            "00000000000000000000000000001.5",
            "0.00000000000000000000000000000001",
            "123456789012345678901234567890",
            "0.000000000000000000000000000000000000000000001401298464324817",
            "",
            "-",
            ".",
            "+",
            "e",
            "1e",
            "1_0",
            "0x10",
            "--1",
            "1.2.3",
            " 1",
            "1 ",
        ] {
            check(text);
        }
    }

    #[test]
    fn a_number_ends_where_its_text_does() {
        assert_eq!(decimal_prefix::<f32>(b"0.25 0.5"), Some((0.25, 4)));
        assert_eq!(decimal_prefix::<f32>(b"7"), Some((7.0, 1)));
        assert_eq!(decimal_prefix::<f64>(b"1.5e2\t"), Some((150.0, 5)));
        assert_eq!(decimal_prefix::<f32>(b"word"), None);
    }

    proptest! {
        #[test]
        fn any_decimal_is_rounded_correctly(text in r"[+-]?[0-9]{0,12}(\.[0-9]{0,25})?([eE][+-]?[0-9]{1,3})?") {
            check(&text);
        }

        #[test]
        fn what_was_printed_comes_back(single in any::<f32>(), double in any::<f64>()) {
            check(&single.to_string());
            check(&double.to_string());
            check(&format!("{single:.6}"));
            check(&format!("{double:e}"));
        }
    }
}
