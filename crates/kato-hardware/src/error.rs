//! What cannot be asked for.

/// What cannot be asked for. What cannot be *measured* is no error: it is [`Finding::Unknown`](crate::Finding::Unknown).
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum HardwareError {
    /// A setting is out of its range.
    #[error("{setting} is {given}: give {expected}")]
    OutOfRange {
        /// Name of the setting.
        setting: &'static str,
        /// What was given.
        given: String,
        /// What would do.
        expected: &'static str,
    },
}
