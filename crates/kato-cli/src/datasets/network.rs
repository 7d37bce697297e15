//! The cost of reading over the network.

use indicatif::HumanBytes;
use serde::Serialize;

use crate::numbers::counted;
use crate::remote::FetchFigures;

/// The requests and bytes of one program run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Network {
    /// HTTP requests, redirects and repetitions included.
    pub(crate) requests: u64,
    /// Transfers that were begun again.
    pub(crate) retries: u64,
    /// Bytes of files received.
    pub(crate) bytes_received: u64,
    /// Bytes that the cache had.
    pub(crate) cache_bytes: u64,
}

impl From<FetchFigures> for Network {
    fn from(figures: FetchFigures) -> Self {
        Self {
            requests: figures.requests,
            retries: figures.retries,
            bytes_received: figures.bytes_received,
            cache_bytes: figures.cache_bytes,
        }
    }
}

impl Network {
    /// Describes the cost; repetitions and the cache only where there were any.
    pub(super) fn in_words(self) -> String {
        let mut text = format!(
            "{}, {} received",
            counted(self.requests, "request"),
            HumanBytes(self.bytes_received)
        );
        if self.retries > 0 {
            text += &format!(", {} begun again", counted(self.retries, "transfer"));
        }
        if self.cache_bytes > 0 {
            text += &format!(", {} from the cache", HumanBytes(self.cache_bytes));
        }
        text
    }
}
