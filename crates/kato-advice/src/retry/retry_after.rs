//! Reads the `Retry-After` header.

use std::time::{Duration, SystemTime};

/// Returns the delay that a server asks for, by the value of its `Retry-After` header.
///
/// The value is a number of whole seconds, or an HTTP date, which is compared with `now`: one in
/// the past gives zero. Anything else gives `None`. White space around the value is ignored.
///
/// ```
/// use std::time::{Duration, UNIX_EPOCH};
/// use kato_advice::retry::retry_after;
///
/// let now = UNIX_EPOCH + Duration::from_secs(784_111_777);
/// assert_eq!(retry_after("120", now), Some(Duration::from_secs(120)));
/// assert_eq!(retry_after("Sun, 06 Nov 1994 08:49:47 GMT", now), Some(Duration::from_secs(10)));
/// assert_eq!(retry_after("soon", now), None);
/// ```
#[must_use]
pub fn retry_after(value: &str, now: SystemTime) -> Option<Duration> {
    let value = value.trim();
    // RFC 9110, section 10.2.3: delay-seconds, or an HTTP date in any of its three forms. Digits
    // alone: `parse` would take a sign before them as well.
    if value.bytes().all(|byte| byte.is_ascii_digit()) {
        return value.parse::<u64>().ok().map(Duration::from_secs);
    }
    let at = httpdate::parse_http_date(value).ok()?;
    // The difference is an error where the date has passed: there is nothing left to wait for.
    Some(at.duration_since(now).unwrap_or(Duration::ZERO))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn seconds_and_dates_are_read() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        let check = |text: &str, expected: Option<u64>| {
            assert_eq!(
                retry_after(text, now),
                expected.map(Duration::from_secs),
                "{text}"
            );
        };
        check("3", Some(3));
        check(" 120 ", Some(120));
        check("Sun, 06 Nov 1994 08:49:47 GMT", Some(10));
        check("Sun, 06 Nov 1994 08:49:07 GMT", Some(0));
        check("soon", None);
        check("-1", None);
        check("+5", None);
        check("5s", None);
        check("18446744073709551616", None);
        check("", None);
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(text in ".{0,40}") {
            let _ = retry_after(&text, SystemTime::UNIX_EPOCH);
        }

        #[test]
        fn a_date_that_is_written_is_read(seconds in 1u64..10_000_000) {
            let at = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
            let text = httpdate::fmt_http_date(at);
            prop_assert_eq!(retry_after(&text, SystemTime::UNIX_EPOCH), Some(Duration::from_secs(seconds)));
        }
    }
}
