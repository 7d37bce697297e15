//! Remote files, and the listing of a location.

use std::cmp::Ordering;
use std::fmt;

use serde::{Deserialize, Serialize};
use url::Url;

use crate::location::percent_decoded;

/// Remote file, pinned as far as its server allows: another process can open it later, without
/// listing, and reads the same bytes or an error.
///
/// Equality is that of name, size and validator.
#[derive(Clone, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RemoteFile {
    /// Canonical name, never with secrets: `hf://OWNER/NAME@COMMIT/PATH`, a URL, or
    /// `s3://BUCKET/KEY`. Its extension says the format.
    pub name: String,
    /// Size in bytes, if the server says it.
    pub size: Option<u64>,
    /// Validator, which changes when the content does: the SHA-256 of a large file of the Hub, the
    /// Git object of a small one, an ETag, or `modified:DATE` where a server has nothing better.
    pub validator: Option<String>,
    /// Whether any range can be read; not known yet if `None`.
    pub has_ranges: Option<bool>,
    /// Media type that a web server says the file has, in lower case and without parameters; no
    /// part of equality.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// Name that a web server gives the file: that of `Content-Disposition`, else the end of the
    /// URL that it redirects to; no part of equality.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub served_name: Option<String>,
    /// The URL with its secrets, for this process only.
    #[serde(skip)]
    pub(crate) access: Option<Url>,
}

impl RemoteFile {
    /// Creates a file known by its name only: opening it asks the server for the rest.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            size: None,
            validator: None,
            has_ranges: None,
            content_type: None,
            served_name: None,
            access: None,
        }
    }

    /// Returns the last part of the path in the name, without query and fragment, as the format is
    /// told by it; empty where the name ends in a `/`.
    ///
    /// ```
    /// use kato_fetch::RemoteFile;
    ///
    /// let name = |name| RemoteFile::new(name).path_name();
    /// assert_eq!(name("https://x.org/a%20b.jsonl.gz?download=1#top"), "a b.jsonl.gz");
    /// assert_eq!(name("hf://me/corpus@0a1b/data/a?b.txt"), "a?b.txt");
    /// assert_eq!(name("s3://bucket/a/100%25.csv"), "100%25.csv");
    /// ```
    #[must_use]
    pub fn path_name(&self) -> String {
        let is_url = ["http://", "https://"].iter().any(|scheme| {
            let start = self.name.get(..scheme.len());
            start.is_some_and(|start| start.eq_ignore_ascii_case(scheme))
        });
        // Only in URLs do `?`, `#` and `%` mean something; in the names of objects and of files of
        // the Hub they stand for themselves.
        if is_url && let Ok(url) = Url::parse(&self.name) {
            return end_of_path(&url);
        }
        let path = self.name.split_once("://").map_or("", |(_, path)| path);
        path.rsplit_once('/').map_or("", |(_, end)| end).to_owned()
    }

    /// Sets the size; opening or reading the file fails if it has another one.
    #[must_use]
    pub fn with_size(mut self, size: u64) -> Self {
        self.size = Some(size);
        self
    }

    /// Sets the validator; opening or reading the file fails if it has another one.
    #[must_use]
    pub fn with_validator(mut self, validator: impl Into<String>) -> Self {
        self.validator = Some(validator.into());
        self
    }
}

impl PartialEq for RemoteFile {
    fn eq(&self, other: &Self) -> bool {
        // A listing that was stored and read again equals itself, although it has lost its secrets.
        (&self.name, self.size, &self.validator) == (&other.name, other.size, &other.validator)
    }
}

impl Eq for RemoteFile {}

impl fmt::Debug for RemoteFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteFile")
            .field("name", &self.name)
            .field("size", &self.size)
            .field("validator", &self.validator)
            .field("has_ranges", &self.has_ranges)
            .field("content_type", &self.content_type)
            .field("served_name", &self.served_name)
            .finish_non_exhaustive()
    }
}

/// Returns the last segment of a URL's path, decoded where that gives text.
pub(crate) fn end_of_path(url: &Url) -> String {
    let end = url.path().rsplit_once('/').map_or("", |(_, end)| end);
    percent_decoded(end).unwrap_or_else(|| end.to_owned())
}

/// The files of a location.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Listing {
    /// Data files, sorted by name, numbers in names by their value. Not empty.
    pub files: Vec<RemoteFile>,
    /// Paths of files beside them that are not data of this location, with the reason.
    pub ignored: Vec<(String, PassedOver)>,
    /// Commit that the names are pinned to, on the Hub.
    pub revision: Option<String>,
    /// Configuration that was taken, on the Hub.
    pub config: Option<String>,
    /// Split that was taken, on the Hub.
    pub split: Option<String>,
    /// Remarks for the user on how the files were chosen.
    pub notes: Vec<String>,
}

/// The reason why a listing passes over a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PassedOver {
    /// It has no bytes; some tools mark a folder so.
    Empty,
    /// The location's pattern does not match it.
    NotMatched,
    /// Its name begins with `/`, or has `//` or a part `..`: no request can ask for it.
    OddName,
    /// It is no data file of the split that is read, by the card or the layout of its dataset.
    NotInSplit,
}

/// Compares names as people do: `part-2` comes before `part-10`.
pub(crate) fn natural(a: &str, b: &str) -> Ordering {
    let (mut left, mut right) = (a, b);
    while let (Some(x), Some(y)) = (left.chars().next(), right.chars().next()) {
        let order = if x.is_ascii_digit() && y.is_ascii_digit() {
            let (m, n) = (number(&mut left), number(&mut right));
            // Without leading zeros the longer number is the larger one, however many digits there
            // are.
            (m.len(), m).cmp(&(n.len(), n))
        } else {
            left = &left[x.len_utf8()..];
            right = &right[y.len_utf8()..];
            x.cmp(&y)
        };
        if order.is_ne() {
            return order;
        }
    }
    // `01` and `1` are equal so far: the text decides, so that the order is total.
    left.len().cmp(&right.len()).then_with(|| a.cmp(b))
}

/// Takes the digits off the front, and returns them without leading zeros.
fn number<'a>(text: &mut &'a str) -> &'a str {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    *text = rest;
    digits.trim_start_matches('0')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_count_by_their_value() {
        let sorted = [
            "", "a", "a1", "a01", "a2", "a2b", "a10", "a10/1", "a10/2", "b", "ä",
        ];
        for (i, a) in sorted.iter().enumerate() {
            for (j, b) in sorted.iter().enumerate() {
                // Same number: plain order of the text.
                let expected = if (*a, *b) == ("a1", "a01") || (*a, *b) == ("a01", "a1") {
                    a.cmp(b)
                } else {
                    i.cmp(&j)
                };
                assert_eq!(natural(a, b), expected, "{a} {b}");
            }
        }
    }
}
