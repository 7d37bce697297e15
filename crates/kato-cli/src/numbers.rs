//! Numbers on the command line that lie within bounds.

use std::fmt::Display;
use std::num::{IntErrorKind, ParseIntError};
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

pub(crate) use kato_advice::counted;
use kato_hardware::prediction::Workload;

/// Parses a share of more than nothing and less than all.
///
/// # Errors
///
/// When the text is no such number.
pub(crate) fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok();
    let share = share.filter(|share| *share > 0.0 && *share < 1.0);
    share.ok_or_else(|| "give a number above 0 and below 1".to_owned())
}

/// Parses a rate, which is above 0.
///
/// # Errors
///
/// When the text is no such number.
pub(crate) fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok();
    let rate = rate.filter(|rate: &f64| rate.is_finite() && *rate > 0.0);
    rate.ok_or_else(|| "give a number above 0".to_owned())
}

/// Parses an amount, which may be 0.
///
/// # Errors
///
/// When the text is no such number.
pub(crate) fn amount(text: &str) -> Result<f64, String> {
    let amount = text.parse().ok();
    let amount = amount.filter(|amount: &f64| amount.is_finite() && *amount >= 0.0);
    amount.ok_or_else(|| "give a number of 0 or more".to_owned())
}

/// Parses a time, which may be 0.
///
/// # Errors
///
/// When the text is no time.
pub(crate) fn time(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text).map_err(|_| "give a time, such as 90s, 30min or 24h".to_owned())
}

/// Parses a time of more than nothing.
///
/// # Errors
///
/// When the text is no such time.
pub(crate) fn time_above_zero(text: &str) -> Result<Duration, String> {
    let time = time(text).ok().filter(|time| !time.is_zero());
    time.ok_or_else(|| "give a time above 0, such as 90s, 30min or 24h".to_owned())
}

/// Parses a number of 1 or more.
///
/// # Errors
///
/// When the text is no such number.
pub(crate) fn from_one<N>(text: &str) -> Result<N, String>
where
    N: FromStr<Err = ParseIntError> + PartialOrd + From<u8>,
{
    match text.parse() {
        Ok(number) if number >= N::from(1) => Ok(number),
        Err(error) if *error.kind() == IntErrorKind::PosOverflow => {
            Err("that is too large".to_owned())
        }
        _ => Err("give a whole number from 1".to_owned()),
    }
}

/// Parses the symbols of the longest n-gram.
///
/// # Errors
///
/// When the text is no number of them.
pub(crate) fn ngram_order(text: &str) -> Result<usize, String> {
    within(text, 1..=16)
}

/// Parses a number of levels.
///
/// # Errors
///
/// When the text is no number of them.
pub(crate) fn depth(text: &str) -> Result<usize, String> {
    within(text, 1..=64)
}

/// Parses the symbols of a pattern.
///
/// # Errors
///
/// When the text is no number of them.
pub(crate) fn chunk_size(text: &str) -> Result<usize, String> {
    within(text, 2..=10_000)
}

/// Parses the documents of a training whose speed is predicted.
///
/// # Errors
///
/// When the text is no number of them.
pub(crate) fn documents(text: &str) -> Result<u64, String> {
    within(text, Workload::DATASET_SIZES)
}

/// Parses the tokens of a document of such a training.
///
/// # Errors
///
/// When the text is no number of them.
pub(crate) fn tokens_a_document(text: &str) -> Result<u64, String> {
    within(text, Workload::TOKENS_PER_SAMPLE)
}

/// Parses a number that lies in a range.
fn within<N: FromStr + PartialOrd + Display>(
    text: &str,
    range: RangeInclusive<N>,
) -> Result<N, String> {
    let number = text.parse().ok().filter(|number| range.contains(number));
    number.ok_or_else(|| told(range.start(), range.end()))
}

/// Returns the text of the error.
fn told(least: impl Display, most: impl Display) -> String {
    format!("give a whole number from {least} to {most}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lies_within_is_taken() {
        assert_eq!(share("0.05"), Ok(0.05));
        for text in ["0", "1", "-0.1", "1.5", "nan", "inf", "some", ""] {
            assert!(share(text).is_err(), "{text}");
        }
        assert_eq!((rate("0.5"), amount("0")), (Ok(0.5), Ok(0.0)));
        for text in ["0", "-1", "nan", "inf", "some", ""] {
            assert!(rate(text).is_err(), "{text}");
            assert!(text == "0" || amount(text).is_err(), "{text}");
        }
        assert_eq!(ngram_order("16"), Ok(16));
        assert_eq!(depth("64"), Ok(64));
        assert_eq!((from_one("1"), from_one("7")), (Ok(1_u32), Ok(7_u64)));
        assert_eq!(
            from_one::<u32>("4294967296"),
            Err("that is too large".to_owned())
        );
        for text in ["0", "65", "-1", "1.5", ""] {
            assert!(text == "65" || from_one::<u64>(text).is_err(), "{text}");
            assert!(depth(text).is_err() && ngram_order(text).is_err(), "{text}");
        }
    }
}
