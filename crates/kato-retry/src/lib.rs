//! When to try again: pauses that double up to a bound, spread by jitter, that honour a server's `Retry-After`.
//!
//! Everything here is a computation: nothing sleeps, connects or reads a clock, so it fits async and blocking callers, and tests with a
//! fixed seed. Whether a request may be repeated, and how often, is for the caller to say.
//!
//! ```
//! use std::time::{Duration, UNIX_EPOCH};
//! use kato_retry::{Backoff, Jitter, retry_after};
//!
//! let backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(5), Jitter::Half, 7);
//! let pause = backoff.pause(3, None);
//! assert!(pause > Duration::from_millis(200) && pause <= Duration::from_millis(400));
//!
//! let wish = retry_after("2", UNIX_EPOCH);
//! assert_eq!(backoff.pause(1, wish), Duration::from_secs(2));
//! ```

mod backoff;
mod retry_after;

pub use backoff::{Backoff, Jitter, random_seed};
pub use retry_after::retry_after;
