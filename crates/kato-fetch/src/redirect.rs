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

/// Returns the error for a redirect of a public server to an address that is not.
pub(crate) fn to_private(url: &Url, address: IpAddr) -> FetchError {
    refused(
        url,
        format!(
            "to {address}, which is this machine or its own network, where no other server may lead (`PrivateRedirects`)"
        ),
    )
}

/// Returns the address in a URL, if it is written out and not public.
pub(crate) fn private_literal(url: &Url) -> Option<IpAddr> {
    let address = match url.host()? {
        Host::Ipv4(address) => IpAddr::V4(address),
        Host::Ipv6(address) => IpAddr::V6(address),
        // What it stands for is this machine, whoever resolves it (RFC 6761, 6.3).
        Host::Domain(name) => {
            let name = name.trim_end_matches('.').to_ascii_lowercase();
            let is_local = name == "localhost" || name.ends_with(".localhost");
            return is_local.then_some(IpAddr::V4(Ipv4Addr::LOCALHOST));
        }
    };
    (!is_public(address)).then_some(address)
}

/// Returns whether a server that has answered is a public one: by the address in its URL, or by the
/// one that was connected to.
pub(crate) fn is_public_server(url: &Url, connected: Option<SocketAddr>) -> bool {
    private_literal(url).is_none() && connected.is_none_or(|address| is_public(address.ip()))
}

/// Returns whether an address is one that everybody can reach.
pub(crate) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => match embedded(address) {
            Some(inner) => is_public_v4(inner),
            None => is_public_v6(address),
        },
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

/// Resolver that leaves out addresses that are not public.
#[derive(Debug)]
pub(crate) struct PublicOnly;

/// A name that has no public address, but another one.
#[derive(Debug, thiserror::Error)]
#[error("the name has only addresses like {0}, which are not public")]
pub(crate) struct NotPublic(pub(crate) IpAddr);

impl Resolve for PublicOnly {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found: Vec<SocketAddr> =
                tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            let (public, others): (Vec<_>, Vec<_>) = found
                .into_iter()
                .partition(|address| is_public(address.ip()));
            match (public.is_empty(), others.first()) {
                (true, Some(other)) => Err(NotPublic(other.ip()).into()),
                _ => Ok(Box::new(public.into_iter()) as Addrs),
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
            assert_eq!(is_public(address.parse().unwrap()), expected, "{address}");
        }
    }

    #[test]
    fn addresses_are_seen_in_every_spelling() {
        for (url, is_private) in [
            ("http://127.0.0.1/", true),
            ("http://2130706433/", true),
            ("http://0x7f.1/", true),
            ("http://[::1]/", true),
            ("http://[::ffff:10.0.0.1]/", true),
            ("http://localhost:80/", true),
            ("http://a.LOCALHOST./", true),
            ("http://example.org/", false),
            ("http://8.8.8.8/", false),
        ] {
            let url: Url = url.parse().unwrap();
            assert_eq!(private_literal(&url).is_some(), is_private, "{url}");
        }
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        // A name without another address.
        let found = runtime.block_on(PublicOnly.resolve("localhost".parse().unwrap()));
        let error = found.err().map(|error| error.downcast::<NotPublic>());
        assert!(matches!(error, Some(Ok(found)) if found.0.is_loopback()));
        let named: Url = "http://example.org/".parse().unwrap();
        assert!(is_public_server(&named, None));
        assert!(!is_public_server(&named, "10.0.0.1:80".parse().ok()));
    }
}
