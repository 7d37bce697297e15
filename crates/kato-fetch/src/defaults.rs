//! What a fetcher does when its builder is not told otherwise.

use std::time::Duration;

use kato_advice::retry::{Jitter, RetryPolicy};

/// URL of the public Hub.
pub const DEFAULT_HUB_ENDPOINT: &str = "https://huggingface.co";
/// Default number of requests that may be under way at a time.
pub const DEFAULT_MAX_REQUESTS: usize = 16;
/// Default number of bytes that a [`FileStream`](crate::FileStream) reads ahead.
pub const DEFAULT_READ_AHEAD_BYTES: usize = 8 << 20;
/// Default policy of retries: up to 8 attempts within 5 minutes, with waits of up to 250 ms before
/// the second attempt and 20 s later on, drawn evenly from nothing to that ([`Jitter::Full`]). A
/// server that asks for it is given up to the whole 5 minutes.
///
/// More patient than [`RetryPolicy::default`], because a download may outlast a server's outage,
/// and more spread, because many readers share the servers.
pub const DEFAULT_RETRY: RetryPolicy = RetryPolicy::new()
    .with_attempts(8)
    .with_first_wait(Duration::from_millis(250))
    .with_longest_wait(Duration::from_secs(20))
    .with_longest_asked_wait(Duration::from_secs(300))
    .with_patience(Duration::from_secs(300))
    .with_jitter(Jitter::Full);
