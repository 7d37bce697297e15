//! The error of parsing an option's name.

/// A name that is none of an option's values.
///
/// ```
/// use kato_learner::segment::Delimiter;
///
/// let error = "line".parse::<Delimiter>().unwrap_err();
/// assert!(error.to_string().starts_with("unknown delimiter `line`: expected one of sentence, word,"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown {option} `{given}`: expected one of {}", .expected.join(", "))]
pub struct UnknownOption {
    /// What the name should have named, such as `delimiter`.
    pub option: &'static str,
    /// The name as given.
    pub given: String,
    /// Every name that would have been accepted.
    pub expected: &'static [&'static str],
}
