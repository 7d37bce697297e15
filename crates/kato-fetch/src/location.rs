//! Locations of remote data, as a user writes them.

mod hub;
mod secrets;

use std::fmt;
use std::str::FromStr;

use percent_encoding::percent_decode_str;
use url::Url;

pub use self::hub::HubLocation;
use self::hub::parse_hub;
pub(crate) use self::secrets::{redacted, without_secrets};
use crate::FetchError;

/// Schemes of object stores; `az` and those after it are Azure's.
const STORE_SCHEMES: [&str; 8] = ["s3", "s3a", "gs", "az", "adl", "azure", "abfs", "abfss"];

/// Location of remote data: `hf://`, `http://`, `https://`, or an object store's (`s3://`, `gs://`,
/// `az://`, `abfs://` …).
///
/// A URL names one file. A location in an object store that ends in `/` stands for all files below
/// it, and one with `*`, `?`, `[` or `{` for those that match (`*` does not cross a `/`, `**`
/// does), unless there is an object or a folder of that very name. In a pattern `[*]`, `[?]`, `[[]`,
/// `[{]` and `[}]` are the characters themselves. Keys are written as they are, without escapes: `%20` is
/// three characters.
///
/// The text form of a URL holds its secrets, if it has any. Show [`redacted`](Self::redacted) instead.
///
/// # Examples
///
/// ```
/// use kato_fetch::Location;
///
/// let location: Location = "hf://Salesforce/wikitext/wikitext-103-raw-v1@main:test".parse()?;
/// let Location::Hub(hub) = &location else { unreachable!() };
/// assert_eq!((hub.dataset.as_str(), hub.split.as_deref()), ("Salesforce/wikitext", Some("test")));
/// assert_eq!(location.to_string(), "hf://Salesforce/wikitext/wikitext-103-raw-v1@main:test");
///
/// assert!(Location::is_location("s3://bucket/corpus/*.parquet"));
/// assert!(!Location::is_location("corpus/a.txt") && !Location::is_location("C:\\corpus"));
/// # Ok::<(), kato_fetch::FetchError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Location {
    /// A dataset of the Hugging Face Hub.
    Hub(HubLocation),
    /// One file on a web server.
    Http(Url),
    /// One or more objects of an object store.
    Store(Url),
}

impl Location {
    /// Returns whether `text` starts with a scheme handled here, and so is no path of the file
    /// system.
    #[must_use]
    pub fn is_location(text: &str) -> bool {
        text.split_once("://").is_some_and(|(scheme, _)| {
            let scheme = scheme.to_ascii_lowercase();
            matches!(scheme.as_str(), "hf" | "http" | "https") || is_store_scheme(&scheme)
        })
    }

    /// Returns the location without passwords and signatures, fit for logs.
    #[must_use]
    pub fn redacted(&self) -> String {
        match self {
            Self::Hub(hub) => hub.to_string(),
            Self::Http(url) => redacted(url),
            Self::Store(url) => store_text(url),
        }
    }
}

impl FromStr for Location {
    type Err = FetchError;

    fn from_str(text: &str) -> Result<Self, FetchError> {
        let text = text.trim();
        let Some((scheme, rest)) = text.split_once("://") else {
            return Err(invalid(
                text,
                "it has no scheme; write hf://, https://, s3://, gs:// or az://",
            ));
        };
        let scheme = scheme.to_ascii_lowercase();
        if scheme == "hf" {
            return parse_hub(text, rest).map(Self::Hub);
        }
        if is_store_scheme(&scheme) {
            // A key is taken as it is written: `Url` would read an escape, a fragment or a query
            // there.
            let escaped = rest
                .replace('%', "%25")
                .replace('?', "%3F")
                .replace('#', "%23");
            let url = parse_url(&format!("{scheme}://{escaped}"))?;
            if url.host_str().is_none_or(str::is_empty) {
                return Err(invalid(text, "it names no bucket"));
            }
            let key = rest.split_once('/').map_or("", |(_, key)| key);
            let is_kept = store_key(&url).is_some_and(|kept| kept == key);
            if !is_kept {
                return Err(invalid(
                    text,
                    "its key has a part `.` or `..`, or a control character, which no request can ask for",
                ));
            }
            return Ok(Self::Store(url));
        }
        match scheme.as_str() {
            "http" | "https" => parse_url(text).map(Self::Http),
            _ => Err(invalid(
                text,
                "unknown scheme; write hf://, https://, s3://, gs:// or az://",
            )),
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hub(hub) => hub.fmt(f),
            Self::Http(url) => url.fmt(f),
            Self::Store(url) => f.write_str(&store_text(url)),
        }
    }
}

/// Returns the key in the URL of a store, as the store has it and not as URLs write it.
pub(crate) fn store_key(url: &Url) -> Option<String> {
    let path = url.path();
    percent_decoded(path.strip_prefix('/').unwrap_or(path))
}

/// Returns `SCHEME://BUCKET` of the URL of a store.
pub(crate) fn store_bucket(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    // Azure writes `container@account`.
    let user = match url.username() {
        "" => String::new(),
        user => format!("{user}@"),
    };
    format!("{}://{user}{host}", url.scheme())
}

/// Returns the location of a store as it was written.
fn store_text(url: &Url) -> String {
    let key = store_key(url).unwrap_or_else(|| url.path().to_owned());
    let bucket = store_bucket(url);
    // Whether there was a slash behind the bucket makes no difference to what is listed, but to the
    // text.
    match url.path() {
        "" => bucket,
        _ => format!("{bucket}/{key}"),
    }
}

/// Returns whether a scheme, in lower case, is one of an object store.
pub(crate) fn is_store_scheme(scheme: &str) -> bool {
    STORE_SCHEMES.contains(&scheme)
}

/// Returns the error for a location that cannot be used. One that is a URL is shown without its
/// secrets.
pub(crate) fn invalid(location: &str, reason: impl Into<String>) -> FetchError {
    FetchError::InvalidLocation {
        location: without_secrets(location),
        reason: reason.into(),
    }
}

fn parse_url(text: &str) -> Result<Url, FetchError> {
    Url::parse(text).map_err(|error| invalid(text, error.to_string()))
}

/// Returns a text with its `%XX` escapes resolved; `None` if that is not UTF-8.
pub(crate) fn percent_decoded(text: &str) -> Option<String> {
    let decoded = percent_decode_str(text).decode_utf8().ok()?;
    Some(decoded.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_parse_is_shown_without_its_secrets() {
        for (text, shown) in [
            (
                "https://u:pw@host:99999/a?token=x#y",
                "https://host:99999/a",
            ),
            ("https://u:p@w@host:99999", "https://host:99999"),
            ("no url", "no url"),
            ("hf://a/b@refs/pr/1", "hf://a/b@refs/pr/1"),
        ] {
            assert_eq!(without_secrets(text), shown);
        }
        let error = "https://u:pw@host:99999/".parse::<Location>().unwrap_err();
        assert!(!error.to_string().contains("pw"), "{error}");
    }

    #[test]
    fn hub_locations_round_trip() {
        let check = |text: &str,
                     dataset: &str,
                     config: Option<&str>,
                     revision: Option<&str>,
                     split: Option<&str>| {
            let location: Location = text.parse().unwrap();
            let Location::Hub(hub) = &location else {
                panic!("{text}")
            };
            assert_eq!(
                (
                    hub.dataset.as_str(),
                    hub.config.as_deref(),
                    hub.revision.as_deref(),
                    hub.split.as_deref()
                ),
                (dataset, config, revision, split),
                "{text}"
            );
            assert_eq!(location.to_string().parse::<Location>().unwrap(), location);
        };
        check("hf://squad", "squad", None, None, None);
        check("hf://datasets/squad", "squad", None, None, None);
        check("hf://allenai/c4/en", "allenai/c4", Some("en"), None, None);
        check(
            "hf://datasets/allenai/c4/en:validation",
            "allenai/c4",
            Some("en"),
            None,
            Some("validation"),
        );
        check(
            "hf://a/b@refs/convert/parquet:test",
            "a/b",
            None,
            Some("refs/convert/parquet"),
            Some("test"),
        );
        check(
            "HF://a/b/20220301.simple@v1.0",
            "a/b",
            Some("20220301.simple"),
            Some("v1.0"),
            None,
        );
    }

    #[test]
    fn what_is_not_a_location_is_refused_in_words() {
        for text in [
            "",
            "a/b",
            "hf://",
            "hf:///",
            "hf://a//b",
            "hf://a/b/c/d",
            "hf://a/b@",
            "hf://a/b:",
            "hf://../b",
            "hf://a b",
            "ftp://x/y",
            "s3://",
            "s3:///key",
            "s3://bucket/a/../b",
            "s3://bucket/./b",
            "s3://bucket/a\nb",
            "https://",
            "hf://a/b@0123456789012345678901234567890123456789/data/x.parquet",
        ] {
            let error = text.parse::<Location>().unwrap_err();
            assert!(
                matches!(error, FetchError::InvalidLocation { .. }),
                "{text}: {error}"
            );
        }
    }

    #[test]
    fn urls_and_stores_round_trip() {
        for text in [
            "https://example.org/a.jsonl",
            "http://127.0.0.1:80/a?b=c",
            "s3://bucket/key",
            "gs://bucket/folder/",
            "az://container/a/*.txt",
            "s3://bucket/{a,b}/**/part-?.parquet",
            "s3://bucket",
            "s3://bucket/",
            "s3://bucket/a%20b/%41%zz %",
            "s3://bucket/a//b#c?d",
            "s3://bucket/ä \\[x]^`|\"<>",
            "abfs://container@account/a b",
        ] {
            let location: Location = text.parse().unwrap();
            assert_eq!(
                location.to_string().parse::<Location>().unwrap(),
                location,
                "{text}"
            );
        }
    }

    #[test]
    fn secrets_are_not_shown() {
        let check = |text: &str, expected: &str| {
            assert_eq!(text.parse::<Location>().unwrap().redacted(), expected);
        };
        check("https://me:secret@x.org/a.txt", "https://x.org/a.txt");
        check(
            "https://x.org/a.txt?X-Amz-Signature=1&X-Amz-Date=2",
            "https://x.org/a.txt",
        );
        check("https://x.org/a?file=b&sig=1#top", "https://x.org/a?file=b");
        check("https://x.org/a?file=b", "https://x.org/a?file=b");
    }

    #[test]
    fn only_two_hexadecimal_digits_are_an_escape() {
        for (text, expected) in [
            ("a%20b", Some("a b")),
            ("%c3%A9", Some("é")),
            ("100%", Some("100%")),
            ("%2", Some("%2")),
            ("%+1x", Some("%+1x")),
            ("%-1x", Some("%-1x")),
            ("%25%zz", Some("%%zz")),
            ("%ff", None),
        ] {
            assert_eq!(percent_decoded(text).as_deref(), expected, "{text}");
        }
    }
}
