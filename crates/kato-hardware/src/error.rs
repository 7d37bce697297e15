//! Errors of requests.

/// A request that cannot be carried out. What cannot be *measured* is no error but
/// [`Finding::Unknown`](crate::figure::Finding::Unknown).
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum HardwareError {
    /// A setting is out of its range.
    #[error("{setting} is {given}: give {expected}")]
    OutOfRange {
        /// Name of the setting.
        setting: &'static str,
        /// The value that was given.
        given: String,
        /// The values that are valid.
        expected: &'static str,
    },
}
