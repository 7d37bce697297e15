//! Says whether something that has failed may be tried again, and after how long.
//!
//! Start with [`RetryPolicy`], which has the number of attempts, the waits between them and the patience
//! for all of them together. Waits double up to a bound, [`Jitter`] spreads them so that callers which
//! failed together do not come back together, and what a server asks for, as [`retry_after`] reads it, is
//! honoured up to a bound of its own. A [`Backoff`] holds the waits of a policy for all who follow it,
//! seeded by [`random_seed`] where nothing else is wanted, and a [`Retry`] the failures of one operation.
//!
//! Everything here is a computation: nothing sleeps, connects or reads a clock, so it serves async and
//! blocking callers alike. Equal seeds give equal waits, which makes tests repeatable, and no input
//! panics: neither the longest `Duration` nor any number of failures nor any header.
//!
//! ```
//! use std::time::{Duration, Instant, UNIX_EPOCH};
//! use kato_advice::retry::{Backoff, Retry, RetryPolicy, retry_after};
//!
//! // One for all who follow the policy.
//! let policy = RetryPolicy::default().with_attempts(5).with_patience(Duration::from_secs(30));
//! let backoff = Backoff::new(policy, 7);
//!
//! // One for each operation. Here its first attempt has failed, and then its second.
//! let now = Instant::now();
//! let mut retry = Retry::from_start(now);
//! let wait = retry.next_wait(&backoff, now, None).expect("there are more attempts");
//! assert!(wait > Duration::from_millis(50) && wait <= Duration::from_millis(100));
//!
//! let asked = retry_after("2", UNIX_EPOCH);
//! assert_eq!(retry.next_wait(&backoff, now, asked), Some(Duration::from_secs(2)));
//! ```

mod attempts;
mod backoff;
mod policy;
mod retry_after;

pub use attempts::Retry;
pub use backoff::{Backoff, random_seed};
pub use policy::{Jitter, RetryPolicy};
pub use retry_after::retry_after;
