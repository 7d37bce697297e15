//! The type of every fact and figure: a value, or the reason why it is unknown.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A value that was found out, or the reason why it was not.
///
/// There is no default and no zero for what was not found: a caller has to look. Its JSON is that
/// of the value, or `{"unknown": "reason"}`.
///
/// ```
/// use kato_hardware::figure::Finding;
///
/// let free: Finding<u64> = Finding::unknown("the directory cannot be read: give one that can");
/// assert_eq!(free.known(), None);
/// assert!(free.reason().is_some_and(|reason| reason.contains("give one")));
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Finding<T> {
    // Before `Known`, because the first variant that fits is read, and a value may accept any
    // object.
    /// Not found out.
    Unknown {
        /// The reason, mostly with what to do about it.
        #[serde(rename = "unknown")]
        reason: String,
    },
    /// Found out.
    Known(T),
}

impl<T> Finding<T> {
    /// Creates an unknown finding with this reason.
    pub fn unknown(reason: impl Into<String>) -> Self {
        Self::Unknown {
            reason: reason.into(),
        }
    }

    /// Returns the value, if it was found out.
    pub fn known(&self) -> Option<&T> {
        match self {
            Self::Known(value) => Some(value),
            Self::Unknown { .. } => None,
        }
    }

    /// Returns the reason why it was not found out, if it was not.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Known(_) => None,
            Self::Unknown { reason } => Some(reason),
        }
    }

    /// Applies a function to the value; the reason of an unknown finding stays.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Finding<U> {
        match self {
            Self::Known(value) => Finding::Known(f(value)),
            Self::Unknown { reason } => Finding::Unknown { reason },
        }
    }

    /// Creates a finding from an optional value, with the reason for `None`.
    pub(crate) fn from_option(value: Option<T>, reason: &str) -> Self {
        value.map_or_else(|| Self::unknown(reason), Self::Known)
    }
}

impl<T, E: fmt::Display> From<Result<T, E>> for Finding<T> {
    fn from(result: Result<T, E>) -> Self {
        match result {
            Ok(value) => Self::Known(value),
            Err(error) => Self::unknown(error.to_string()),
        }
    }
}

impl<T: fmt::Display> fmt::Display for Finding<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(value) => value.fmt(f),
            Self::Unknown { reason } => write!(f, "unknown: {reason}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_the_value_or_the_reason_and_reads_back() {
        let findings: [Finding<Option<u64>>; 3] = [
            Finding::Known(Some(5)),
            Finding::Known(None),
            Finding::unknown("no such file"),
        ];
        let json = serde_json::to_string(&findings).unwrap();
        assert_eq!(json, r#"[5,null,{"unknown":"no such file"}]"#);
        let back: [Finding<Option<u64>>; 3] = serde_json::from_str(&json).unwrap();
        assert_eq!(back, findings);
    }
}
