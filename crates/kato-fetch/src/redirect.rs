//! Redirects: where they lead, and where they may not.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{HeaderMap, LOCATION};
use url::{Host, Url};

use crate::FetchError;
use crate::location::redacted;

/// Returns where the redirect of `from` leads, on the way from `first`.
pub(crate) fn next_hop(first: &Url, from: &Url, headers: &HeaderMap) -> Result<Url, FetchError> {
    let bad = |reason: String| refused(first, reason);
    let location = headers
        .get(LOCATION)
        .ok_or_else(|| bad("without saying where to".to_owned()))?;
    // Bytes outside ASCII are not allowed here; where a server sends them, they are UTF-8.
    let location = String::from_utf8_lossy(location.as_bytes());
    let mut next = from
        .join(location.trim())
        .map_err(|error| bad(format!("to no URL ({error})")))?;
    next.set_fragment(None);
    // Without encryption anyone on the way could read the signature in the new URL, or send other
    // bytes.
    let downgrade = from.scheme() == "https" && next.scheme() != "https";
    if downgrade || !matches!(next.scheme(), "http" | "https") {
        return Err(bad(format!("to `{}:`, which is not safe", next.scheme())));
    }
    Ok(next)
}

/// Returns the error for a redirect that is not followed.
pub(crate) fn refused(from: &Url, reason: String) -> FetchError {
    FetchError::Redirect {
        url: redacted(from),
        reason,
    }
}

/// Returns the error for a redirect to an address that its server may not lead to.
pub(crate) fn too_near(url: &Url, address: IpAddr) -> FetchError {
    refused(
        url,
        format!(
            "to {address}, an address of this machine or its network to which this server may not lead (`PrivateRedirects`)"
        ),
    )
}

/// From where an address can be reached. A server may lead to addresses of its own kind and of those
/// behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reach {
    /// From the same wire, where clouds hand out the credentials of their machines.
    Link,
    /// From this machine.
    Machine,
    /// From its network.
    Network,
    /// From everywhere.
    Public,
}

impl Reach {
    /// Returns that of an address.
    pub(crate) fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => Self::of_v4(address),
            IpAddr::V6(address) => match embedded(address) {
                Some(inner) => Self::of_v4(inner),
                None => Self::of_v6(address),
            },
        }
    }

    /// Returns that of a server that has answered: by the address in its URL, or by the one that was
    /// connected to.
    pub(crate) fn of_server(url: &Url, connected: Option<SocketAddr>) -> Self {
        match (literal(url), connected) {
            (Some(address), _) => Self::of(address),
            (None, Some(connected)) => Self::of(connected.ip()),
            (None, None) => Self::Public,
        }
    }

    fn of_v4(address: Ipv4Addr) -> Self {
        match () {
            () if address.is_link_local() => Self::Link,
            () if address.is_loopback() || address.octets()[0] == 0 => Self::Machine,
            () if is_public_v4(address) => Self::Public,
            () => Self::Network,
        }
    }

    fn of_v6(address: Ipv6Addr) -> Self {
        match () {
            () if address.is_unicast_link_local() || address == METADATA_V6 => Self::Link,
            () if address.is_loopback() || address.is_unspecified() => Self::Machine,
            () if is_public_v6(address) => Self::Public,
            () => Self::Network,
        }
    }
}

/// Address at which a cloud hands out credentials, though it is none of the link.
const METADATA_V6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x0254);

/// Returns the address in a URL, if it is written out.
pub(crate) fn literal(url: &Url) -> Option<IpAddr> {
    match url.host()? {
        Host::Ipv4(address) => Some(IpAddr::V4(address)),
        Host::Ipv6(address) => Some(IpAddr::V6(address)),
        // What it stands for is this machine, whoever resolves it (RFC 6761, 6.3).
        Host::Domain(name) => {
            let name = name.trim_end_matches('.').to_ascii_lowercase();
            let is_local = name == "localhost" || name.ends_with(".localhost");
            is_local.then_some(IpAddr::V4(Ipv4Addr::LOCALHOST))
        }
    }
}

/// Returns whether an address is outside the blocks that IANA lists as not globally reachable.
fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let special = a == 0
        || address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation()
        || address.is_multicast()
        || a >= 240
        // Shared between a provider and its customers, protocol assignments, and benchmarks.
        || (a == 100 && (64..128).contains(&b))
        || (a, b, c) == (192, 0, 0)
        || (a == 198 && (b == 18 || b == 19));
    !special
}

/// Returns whether an address without one of IPv4 in it is globally reachable.
fn is_public_v6(address: Ipv6Addr) -> bool {
    let first = address.segments()[0];
    let special = address.is_unspecified()
        || address.is_loopback()
        || address.is_multicast()
        || address.is_unique_local()
        || address.is_unicast_link_local()
        || (first & 0xffc0) == 0xfec0
        || address.segments()[..2] == [0x2001, 0x0db8];
    !special
}

/// Returns the address of IPv4 that packets to this one go to in the end.
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let segments = address.segments();
    let from = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        Ipv4Addr::new(a, b, c, d)
    };
    match segments {
        [0, 0, 0, 0, 0, 0xffff, high, low] => Some(from(high, low)),
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => Some(from(high, low)),
        [0x2002, high, low, ..] => Some(from(high, low)),
        // The former form, without `::` and `::1`.
        [0, 0, 0, 0, 0, 0, high, low] if high != 0 => Some(from(high, low)),
        _ => None,
    }
}

/// Resolver that leaves out addresses that are nearer than it is told.
#[derive(Debug)]
pub(crate) struct AtLeast(pub(crate) Reach);

/// A name that has no other address than one that is too near.
#[derive(Debug, thiserror::Error)]
#[error("the name has no address that is as far as it must be, but {0}")]
pub(crate) struct TooNear(pub(crate) IpAddr);

impl Resolve for AtLeast {
    fn resolve(&self, name: Name) -> Resolving {
        let least = self.0;
        Box::pin(async move {
            let found: Vec<SocketAddr> =
                tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            let (far, near): (Vec<_>, Vec<_>) = found
                .into_iter()
                .partition(|address| Reach::of(address.ip()) >= least);
            match (far.is_empty(), near.first()) {
                (true, Some(near)) => Err(TooNear(near.ip()).into()),
                _ => Ok(Box::new(far.into_iter()) as Addrs),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_reachable_by_everybody_is_not_public() {
        for (address, expected) in [
            ("8.8.8.8", true),
            ("172.15.0.1", true),
            ("172.16.0.1", false),
            ("172.31.255.255", false),
            ("172.32.0.1", true),
            ("10.1.2.3", false),
            ("192.168.0.1", false),
            ("127.0.0.1", false),
            ("127.255.0.9", false),
            ("169.254.169.254", false),
            ("0.0.0.0", false),
            ("0.1.2.3", false),
            ("100.63.0.1", true),
            ("100.64.0.1", false),
            ("100.127.0.1", false),
            ("100.128.0.1", true),
            ("192.0.0.1", false),
            ("192.0.2.1", false),
            ("198.18.0.1", false),
            ("224.0.0.1", false),
            ("240.0.0.1", false),
            ("255.255.255.255", false),
            ("2606:4700::1111", true),
            ("::", false),
            ("::1", false),
            ("fe80::1", false),
            ("fd00::1", false),
            ("fec0::1", false),
            ("ff02::1", false),
            ("2001:db8::1", false),
            ("::ffff:127.0.0.1", false),
            ("::ffff:8.8.8.8", true),
            ("::127.0.0.1", false),
            ("64:ff9b::a00:1", false),
            ("64:ff9b::808:808", true),
            ("2002:7f00:1::", false),
        ] {
            let found = Reach::of(address.parse().unwrap());
            assert_eq!(found == Reach::Public, expected, "{address}");
        }
    }

    #[test]
    fn some_addresses_are_nearer_than_others() {
        for (address, expected) in [
            ("169.254.169.254", Reach::Link),
            ("fe80::1", Reach::Link),
            ("fd00:ec2::254", Reach::Link),
            ("::ffff:169.254.169.254", Reach::Link),
            ("127.8.8.8", Reach::Machine),
            ("0.0.0.0", Reach::Machine),
            ("::1", Reach::Machine),
            ("10.0.0.1", Reach::Network),
            ("fd00::1", Reach::Network),
            ("8.8.8.8", Reach::Public),
        ] {
            assert_eq!(Reach::of(address.parse().unwrap()), expected, "{address}");
        }
        assert!(Reach::Link < Reach::Machine && Reach::Machine < Reach::Network);
        assert!(Reach::Network < Reach::Public);
    }

    #[test]
    fn addresses_are_seen_in_every_spelling() {
        for (url, expected) in [
            ("http://127.0.0.1/", Reach::Machine),
            ("http://2130706433/", Reach::Machine),
            ("http://0x7f.1/", Reach::Machine),
            ("http://[::1]/", Reach::Machine),
            ("http://[::ffff:10.0.0.1]/", Reach::Network),
            ("http://localhost:80/", Reach::Machine),
            ("http://a.LOCALHOST./", Reach::Machine),
            ("http://example.org/", Reach::Public),
            ("http://8.8.8.8/", Reach::Public),
        ] {
            let url: Url = url.parse().unwrap();
            assert_eq!(Reach::of_server(&url, None), expected, "{url}");
        }
        let named: Url = "http://example.org/".parse().unwrap();
        let connected = "10.0.0.1:80".parse().ok();
        assert_eq!(Reach::of_server(&named, connected), Reach::Network);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let resolve = |least| {
            let found = AtLeast(least).resolve("localhost".parse().unwrap());
            runtime.block_on(found)
        };
        let found = resolve(Reach::Network).err();
        let found = found.map(|error| error.downcast::<TooNear>());
        assert!(matches!(found, Some(Ok(found)) if found.0.is_loopback()));
        assert!(resolve(Reach::Machine).is_ok());
    }
}
