//! Locations of the Hugging Face Hub.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::invalid;
use crate::FetchError;

/// Dataset of the Hub, written `hf://DATASET[/CONFIG][@REVISION][:SPLIT]`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct HubLocation {
    /// `owner/name`, or `name`. `a/b` may also turn out to be configuration `b` of dataset `a`,
    /// when listed.
    pub dataset: String,
    /// Configuration; the default one if `None`.
    pub config: Option<String>,
    /// Branch, tag, commit, or a reference such as `refs/pr/1`; the newest commit if `None`.
    pub revision: Option<String>,
    /// Split; `train` if `None`.
    pub split: Option<String>,
}

impl HubLocation {
    /// Creates the location of a dataset's default configuration, newest revision and split
    /// `train`.
    #[must_use]
    pub fn new(dataset: impl Into<String>) -> Self {
        Self {
            dataset: dataset.into(),
            config: None,
            revision: None,
            split: None,
        }
    }
}

impl fmt::Display for HubLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "hf://{}", self.dataset)?;
        let parts = [
            ('/', &self.config),
            ('@', &self.revision),
            (':', &self.split),
        ];
        for (mark, part) in parts {
            if let Some(part) = part {
                write!(f, "{mark}{part}")?;
            }
        }
        Ok(())
    }
}

/// Parses what follows `hf://` in `text`.
pub(super) fn parse_hub(text: &str, rest: &str) -> Result<HubLocation, FetchError> {
    // The parts are cut off from the end: a revision may hold slashes (`refs/pr/1`), but Git allows
    // no `:` in it, so the last one begins the split.
    let (rest, split) = cut(rest.rsplit_once(':'), rest);
    let (rest, revision) = cut(rest.split_once('@'), rest);
    // The Hub's own client writes `hf://datasets/OWNER/NAME`.
    let path = rest.strip_prefix("datasets/").unwrap_or(rest);
    for (what, part) in [("revision", &revision), ("split", &split)] {
        if part
            .as_deref()
            .is_some_and(|part| part.is_empty() || part.chars().any(char::is_whitespace))
        {
            return Err(invalid(
                text,
                format!("the {what} is empty or holds blanks"),
            ));
        }
    }
    let segments: Vec<&str> = path.split('/').collect();
    if segments.iter().any(|segment| !is_plain(segment)) {
        return Err(invalid(
            text,
            "write hf://DATASET[/CONFIG][@REVISION][:SPLIT] with letters, digits, `.`, `_`, `-` and `=`",
        ));
    }
    let (dataset, config) = match segments.as_slice() {
        [name] => ((*name).to_owned(), None),
        [owner, name] => (format!("{owner}/{name}"), None),
        [owner, name, config] => (format!("{owner}/{name}"), Some((*config).to_owned())),
        _ => {
            return Err(invalid(
                text,
                "more than OWNER/NAME/CONFIG; write hf://OWNER/NAME/CONFIG",
            ));
        }
    };
    // Taken for a revision, the name of a listed file would fail only at the Hub, as a missing
    // revision.
    if revision.as_deref().is_some_and(names_a_file) {
        return Err(invalid(
            text,
            "this is the name of one file; open it as a file",
        ));
    }
    Ok(HubLocation {
        dataset,
        config,
        revision,
        split,
    })
}

/// Returns the two parts of a split text, or the whole where the mark does not occur.
fn cut<'a>(parts: Option<(&'a str, &str)>, whole: &'a str) -> (&'a str, Option<String>) {
    parts.map_or((whole, None), |(rest, part)| (rest, Some(part.to_owned())))
}

/// Returns whether a path segment can be part of a dataset's name: not empty, no `.` or `..`, and
/// without characters that a URL would encode.
fn is_plain(segment: &str) -> bool {
    !segment.is_empty()
        && segment != "."
        && segment != ".."
        && segment
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '=' | '+'))
}

/// Returns whether a revision is a commit with a path behind it.
fn names_a_file(revision: &str) -> bool {
    revision.split_once('/').is_some_and(|(commit, _)| {
        // A commit's SHA-1 in hexadecimal.
        commit.len() == 40 && commit.bytes().all(|b| b.is_ascii_hexdigit())
    })
}
