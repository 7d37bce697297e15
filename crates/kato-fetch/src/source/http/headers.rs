//! What the head of an answer says of a file: its ranges, its length, its version.

use reqwest::header::{
    ACCEPT_RANGES, CONTENT_LENGTH, CONTENT_RANGE, ETAG, HeaderMap, LAST_MODIFIED,
};

use crate::client::text;
use crate::source::encoding::is_chunked;

/// Returns whether a server says that it has ranges.
pub(super) fn claims_ranges(headers: &HeaderMap) -> bool {
    text(headers, ACCEPT_RANGES.as_str()).is_some_and(|units| units.eq_ignore_ascii_case("bytes"))
}

/// Returns the strongest validator that a server names.
pub(super) fn validator(headers: &HeaderMap) -> Option<String> {
    text(headers, ETAG.as_str())
        .or_else(|| text(headers, LAST_MODIFIED.as_str()).map(|date| format!("modified:{date}")))
}

/// Returns an ETag as the Hub's lists of files have it.
pub(super) fn unquoted(etag: &str) -> String {
    etag.trim_start_matches("W/").trim_matches('"').to_owned()
}

/// Returns the length that is announced. Beside chunks it means nothing (RFC 9112, 6.3).
pub(super) fn content_length(headers: &HeaderMap) -> Option<u64> {
    let length = || text(headers, CONTENT_LENGTH.as_str())?.parse().ok();
    (!is_chunked(headers)).then(length).flatten()
}

/// Value of `Content-Range`: `bytes 5-9/100` is the range `5..10` of 100.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ContentRange {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) total: Option<u64>,
}

impl ContentRange {
    /// Returns the range in the headers of an answer, if it has a valid one.
    pub(super) fn of(headers: &HeaderMap) -> Option<Self> {
        Self::parse(&text(headers, CONTENT_RANGE.as_str())?)
    }

    /// Parses a value, which must be a range that is not empty and lies within its total.
    fn parse(value: &str) -> Option<Self> {
        let (range, total) = unit_of_bytes(value)?.split_once('/')?;
        let (first, last) = range.split_once('-')?;
        let (start, last): (u64, u64) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        let total = match total.trim() {
            "*" => None,
            total => Some(total.parse().ok()?),
        };
        let end = last.checked_add(1)?;
        (start < end && total.is_none_or(|total| end <= total)).then_some(Self {
            start,
            end,
            total,
        })
    }
}

/// Returns the size in `Content-Range: bytes */100`, which comes with status 416.
pub(super) fn unsatisfied_size(headers: &HeaderMap) -> Option<u64> {
    unit_of_bytes(&text(headers, CONTENT_RANGE.as_str())?)?
        .strip_prefix("*/")?
        .parse()
        .ok()
}

/// Returns what follows the unit, if that is bytes, in whatever case (RFC 9110, 14.1).
fn unit_of_bytes(value: &str) -> Option<&str> {
    let (unit, range) = value.split_once(' ')?;
    unit.eq_ignore_ascii_case("bytes")
        .then(|| range.trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_ranges_are_read_strictly() {
        let check = |value: &str, expected: Option<(u64, u64, Option<u64>)>| {
            let expected = expected.map(|(start, end, total)| ContentRange { start, end, total });
            assert_eq!(ContentRange::parse(value), expected, "{value}");
        };
        check("bytes 5-9/100", Some((5, 10, Some(100))));
        check("bytes 0-0/*", Some((0, 1, None)));
        check("Bytes 5-9/100", Some((5, 10, Some(100))));
        for bad in [
            "bytes 9-5/100",
            "bytes 5-100/100",
            "bytes 5-9",
            "5-9/100",
            "bytes a-9/100",
            "bytes 0-18446744073709551615/*",
            "bytes */9",
        ] {
            check(bad, None);
        }
    }
}
