//! What the tests share.

use std::io::Read as _;
use std::path::Path;
use std::time::Duration;

use kato_fetch::defaults::DEFAULT_RETRY;
use kato_fetch::{
    Fetcher, FetcherBuilder, Listing, RangeReader, RemoteFile, RetryPolicy, Timeouts,
};
use kato_hub_standin::{Fault, HubStandin, PlainFile};

/// Bytes without a period that a mistake could hide in.
pub(crate) fn noise(len: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut bytes = Vec::with_capacity(len + 8);
    while bytes.len() < len {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(len);
    bytes
}

/// A server of one file, `a`.
pub(crate) fn serving(content: impl Into<Vec<u8>>) -> HubStandin {
    let file = PlainFile::new(content);
    HubStandin::builder().file("a", file).start().unwrap()
}

/// Tries often, without pauses to speak of.
pub(crate) fn eager() -> RetryPolicy {
    DEFAULT_RETRY
        .with_attempts(5)
        .with_first_wait(Duration::from_micros(100))
        .with_longest_wait(Duration::from_millis(1))
        .with_jitter_seed(1)
}

pub(crate) fn builder(standin: &HubStandin) -> FetcherBuilder {
    Fetcher::builder()
        .with_hub_endpoint(standin.url())
        .with_retry(eager())
        .with_store_option("AWS_ENDPOINT_URL", standin.s3_url())
        .with_store_option("AWS_ALLOW_HTTP", "true")
        .with_store_option("AWS_ACCESS_KEY_ID", "id")
        .with_store_option("AWS_SECRET_ACCESS_KEY", "key")
}

pub(crate) fn fetcher(standin: &HubStandin) -> Fetcher {
    builder(standin).build().unwrap()
}

/// Keeps what it reads in a folder.
pub(crate) fn cached(standin: &HubStandin, folder: &Path) -> Fetcher {
    let caching = builder(standin).with_cache(folder, 1 << 30);
    caching.build().unwrap()
}

/// Short only where silence is what is tested, so that a busy machine is not taken for a silent
/// server.
pub(crate) fn timeouts(fault: &Fault) -> Timeouts {
    let mut timeouts = Timeouts::default();
    if matches!(fault, Fault::Stall | Fault::StallAfter(_)) {
        timeouts.idle = Duration::from_millis(400);
    }
    timeouts
}

pub(crate) fn list(fetcher: &Fetcher, location: &str) -> Listing {
    fetcher.list(&location.parse().unwrap()).unwrap()
}

pub(crate) fn open(fetcher: &Fetcher, location: &str) -> RangeReader {
    fetcher.open(&list(fetcher, location).files[0]).unwrap()
}

pub(crate) fn read_all(reader: &RangeReader, from: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.stream(from).read_to_end(&mut bytes)?;
    Ok(bytes)
}

pub(crate) fn names(files: &[RemoteFile]) -> Vec<&str> {
    files.iter().map(|file| file.name.as_str()).collect()
}
