//! Remote corpora behind a local server.

use std::time::Duration;

use kato_fetch::defaults::DEFAULT_RETRY;
use kato_fetch::{Fetcher, FetcherBuilder, RetryPolicy};
use kato_hub_standin::HubStandin;
use kato_loader::StreamingDatasetLoaderBuilder;

use crate::support::builder;

/// Tries so often, without pauses to speak of.
pub(crate) fn retry(attempts: u32) -> RetryPolicy {
    DEFAULT_RETRY
        .with_attempts(attempts)
        .with_first_wait(Duration::from_micros(100))
        .with_longest_wait(Duration::from_millis(1))
        .with_jitter_seed(1)
}

pub(crate) fn fetcher(standin: &HubStandin) -> FetcherBuilder {
    Fetcher::builder()
        .with_hub_endpoint(standin.url())
        .with_retry(retry(5))
        .with_store_option("AWS_ENDPOINT_URL", standin.s3_url())
        .with_store_option("AWS_ALLOW_HTTP", "true")
        .with_store_option("AWS_ACCESS_KEY_ID", "id")
        .with_store_option("AWS_SECRET_ACCESS_KEY", "key")
}

/// A loader of a location.
pub(crate) fn remote(standin: &HubStandin, location: &str) -> StreamingDatasetLoaderBuilder {
    let fetcher = fetcher(standin).build().unwrap();
    builder().with_input(location).with_fetcher(fetcher)
}
