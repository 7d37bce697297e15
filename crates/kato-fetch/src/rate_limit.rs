//! How long a server that limits its clients asks them to wait.

use std::time::{Duration, SystemTime};

use kato_advice::retry::retry_after;
use reqwest::header::{HeaderMap, RETRY_AFTER};

use crate::client::text;

/// Times from which on a number of seconds is taken for a point in time: no server asks anybody to
/// wait for a year.
const YEAR: u64 = 365 * 24 * 3600;

/// Returns the wait that the headers of a refusal ask for: by `Retry-After`, else by the fields of
/// rate limits in their present and their former spellings.
pub(crate) fn asked_wait(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let said = text(headers, RETRY_AFTER.as_str()).and_then(|value| retry_after(&value, now));
    said.or_else(|| longest_reset(headers))
        .or_else(|| former_reset(headers, now))
}

/// Returns the longest reset of the policies that are used up, in `RateLimit: "api";r=0;t=41`.
fn longest_reset(headers: &HeaderMap) -> Option<Duration> {
    let values = headers
        .get_all("ratelimit")
        .iter()
        .filter_map(|value| value.to_str().ok());
    let policies = values.flat_map(|value| value.split(','));
    policies.filter_map(reset).max().map(Duration::from_secs)
}

/// Returns the seconds until one policy allows more; `None` if it still does.
fn reset(policy: &str) -> Option<u64> {
    let parameter = |wanted: &str| {
        // `;` separates parameters, in one former spelling also `r=0, t=41`.
        policy.split(';').find_map(|part| {
            let (name, value) = part.split_once('=')?;
            (name.trim() == wanted).then(|| value.trim().parse::<u64>().ok())?
        })
    };
    // Without a remainder nothing says that the policy is not the one that refuses.
    let is_used_up = parameter("r").is_none_or(|left| left == 0);
    is_used_up.then(|| parameter("t")).flatten()
}

/// Returns the reset of the fields that servers used before there was a standard.
fn former_reset(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let names = ["ratelimit-reset", "x-ratelimit-reset", "x-rate-limit-reset"];
    let value = names.iter().find_map(|name| text(headers, name))?;
    let seconds: u64 = value.parse().ok()?;
    // Some write how long it takes, others when it is over.
    if seconds < YEAR {
        return Some(Duration::from_secs(seconds));
    }
    let at = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))?;
    let wait = at.duration_since(now).unwrap_or_default();
    (wait.as_secs() < YEAR).then_some(wait)
}

#[cfg(test)]
mod tests {
    use reqwest::header::{HeaderName, HeaderValue};

    use super::*;

    #[test]
    fn a_limit_says_its_time_in_many_ways() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        let check = |fields: &[(&str, &str)], expected: Option<u64>| {
            let headers: HeaderMap = fields
                .iter()
                .map(|(name, value)| {
                    let name: HeaderName = name.parse().unwrap();
                    (name, HeaderValue::from_str(value).unwrap())
                })
                .collect();
            let expected = expected.map(Duration::from_secs);
            assert_eq!(asked_wait(&headers, now), expected, "{fields:?}");
        };
        check(&[("RateLimit", "\"api\";r=0;t=41")], Some(41));
        check(&[("RateLimit", "\"api\"; r=0; t=41")], Some(41));
        check(
            &[("Retry-After", "7"), ("RateLimit", "\"api\";r=0;t=41")],
            Some(7),
        );
        check(
            &[(
                "RateLimit",
                "\"api\";r=0;t=3, \"pages\";r=0;t=9, \"resolvers\";r=5;t=300",
            )],
            Some(9),
        );
        check(&[("RateLimit", "\"api\";t=41")], Some(41));
        check(&[("RateLimit", "\"api\";r=12;t=41")], None);
        check(&[("RateLimit", "\"api\";r=0;t=-1")], None);
        check(&[("RateLimit", "nonsense")], None);
        check(&[("RateLimit-Reset", "41")], Some(41));
        check(&[("X-RateLimit-Reset", "1700000041")], Some(41));
        check(&[("X-RateLimit-Reset", "1699999999")], Some(0));
        check(&[("X-RateLimit-Reset", "99999999999999999999")], None);
        check(&[("X-RateLimit-Reset", "18446744073709551615")], None);
        check(&[], None);
    }
}
