//! How long is waited, how much is believed, and where redirects may lead.

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
    /// Longest silence: until an answer begins, and between two pieces of it. A server that has not
    /// answered yet, other than an object store, has two thirds of it. Default: 30 s.
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

/// Bounds of what a server may send, whatever it says: what passes one is an error.
///
/// # Examples
///
/// ```
/// use kato_fetch::{Fetcher, TransferLimits};
///
/// let mut limits = TransferLimits::default();
/// limits.listing_bytes = 4 << 30;
/// let fetcher = Fetcher::builder().with_limits(limits).build()?;
/// # drop(fetcher);
/// # Ok::<(), kato_fetch::FetchError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TransferLimits {
    /// Largest single answer of an API, one page of a listing for example, decoded. Default:
    /// 32 MiB.
    pub answer_bytes: u64,
    /// Largest listing of one location, over all of its pages. Default: 256 MiB, about a million
    /// files.
    pub listing_bytes: u64,
    /// Largest size of a file that is believed. Default: 16 TiB.
    pub file_bytes: u64,
    /// Redirects that are followed one after the other. Default: 10.
    pub redirects: usize,
    /// Bytes a second below which a server that does send is too slow, on average over half of
    /// [`Timeouts::idle`] spent waiting. Default: 128.
    pub least_rate: u64,
}

impl Default for TransferLimits {
    fn default() -> Self {
        Self {
            answer_bytes: 32 << 20,
            listing_bytes: 256 << 20,
            file_bytes: 16 << 40,
            redirects: 10,
            least_rate: 128,
        }
    }
}

/// Whether redirects may lead to this machine, to its network neighbours and to addresses that are
/// not routed publicly.
///
/// A server on the Internet could otherwise make this machine ask services that only it can reach,
/// such as the one that hands out a cloud's credentials. Addresses count, not names: a name that
/// resolves to such an address is refused as well. Behind a proxy of the environment only addresses
/// that are written out can be judged, because it is the proxy that resolves names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum PrivateRedirects {
    /// Only from a server that is as near itself: one of this machine may lead to this machine, one
    /// of its network to the network, and neither to an address of the link, such as `169.254.169.254`.
    #[default]
    FromPrivate,
    /// From any server.
    Always,
    /// From none.
    Never,
}
