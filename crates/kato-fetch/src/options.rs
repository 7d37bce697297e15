//! Timeouts.

use std::time::Duration;

/// Times that a fetcher waits before it takes a server for dead.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use kato_fetch::Timeouts;
///
/// let mut brisk = Timeouts::default();
/// brisk.idle = Duration::from_secs(5);
/// assert_eq!(brisk.connect, Duration::from_secs(10));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timeouts {
    /// Time for a connection to be made. Default: 10 s.
    pub connect: Duration,
    /// Longest silence: until an answer begins, and between two pieces of it. Default: 30 s.
    pub idle: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            idle: Duration::from_secs(30),
        }
    }
}
