//! Protection against web pages: programs may use the server, a page of another origin that
//! somebody near the server happens to visit may not.
//!
//! A browser sends requests for any page to any address that it reaches, this machine's own
//! included. Its headers reveal that: `Origin` and `Sec-Fetch-Site` name another page, and `Host`
//! holds the name by which the server was asked, which is a foreign one if the domain of a page was
//! made to lead here (DNS rebinding). No page has the token, so a server that requires one needs
//! none of these checks.

use std::net::IpAddr;

use axum::http::{HeaderMap, Method, StatusCode, Uri, header};

use crate::compat::json::excerpt_of_text;
use crate::options::Options;
use crate::refusal::Refusal;

/// Refuses requests that a browser sent for a page of another origin.
pub(crate) fn check(
    options: &Options,
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
) -> Result<(), Refusal> {
    if options.cors || options.tokens.are_required() {
        return Ok(());
    }
    // A value that is not ASCII becomes `…`, which is no name of any server and so is refused.
    let named = headers.get_all(header::HOST).iter();
    let named = named.map(|host| host.to_str().unwrap_or("…"));
    let asked = uri.authority().map(|authority| authority.as_str());
    // All `Host` headers, and the authority of an absolute target as well: a second name must not
    // be a way around the check of the first. A request without any name passes, because browsers
    // always send one.
    for host in named.chain(asked) {
        if !is_own(options, host) {
            return Err(refusal(&format!(
                "the server is not asked by the name {:?}, as a page elsewhere could be: use its address or localhost, or have its operator allow the name",
                excerpt_of_text(host)
            )));
        }
    }
    // After the names, because `is_same` compares the origin with `Host`: a page of a rebound
    // domain would pass here as one of the server's own.
    let origin = headers.get(header::ORIGIN);
    if let Some(origin) = origin {
        let origin = origin.to_str().unwrap_or("…");
        if !options.allowed.has_origin(origin) && !is_same(origin, headers) {
            return Err(refusal(&format!(
                "pages of {:?} may not use the server; its operator can allow the origin",
                excerpt_of_text(origin)
            )));
        }
    } else if is_of_another_page(method, headers) {
        // Browsers send no `Origin` for images, scripts and the like.
        return Err(refusal(
            "pages elsewhere may not use the server; its operator can allow their origin",
        ));
    }
    Ok(())
}

/// Creates the refusal of a request by a page.
fn refusal(detail: &str) -> Refusal {
    Refusal::new(StatusCode::FORBIDDEN, detail)
}

/// Returns whether the server was asked by a name of its own. Addresses are such names: no page has
/// a domain that is an address.
fn is_own(options: &Options, host: &str) -> bool {
    let name = without_port(host);
    let is = |own: &str| own.eq_ignore_ascii_case(name);
    if is("localhost") || options.allowed.hosts.iter().any(|own| is(own)) {
        return true;
    }
    let address = name.trim_start_matches('[').trim_end_matches(']');
    let listening = options.addr.ip();
    // A server on a loopback address is reached by loopback addresses only. One that listens
    // elsewhere may be reached by addresses that it does not know, such as a translated one.
    address.parse::<IpAddr>().is_ok_and(|address| {
        // An IPv4 address may come in its IPv6 form, `::ffff:127.0.0.1`.
        let address = address.to_canonical();
        address.is_loopback() || address == listening || !listening.is_loopback()
    })
}

/// Returns a name or address without the port behind it.
fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        // What follows the last colon of a bare `[::1]` is no port, because of the bracket.
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

/// Returns whether the page is one of this server's own.
fn is_same(origin: &str, headers: &HeaderMap) -> bool {
    // Either scheme: behind a proxy that ends TLS, pages come by https and requests by http.
    let of_page = origin
        .strip_prefix("http://")
        .or_else(|| origin.strip_prefix("https://"));
    let host = headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok());
    of_page
        .zip(host)
        .is_some_and(|(page, host)| page.eq_ignore_ascii_case(host))
}

/// Returns whether the browser says that another page sent the request, other than by a link that
/// somebody followed.
fn is_of_another_page(method: &Method, headers: &HeaderMap) -> bool {
    let is = |name: &str, values: &[&str]| {
        let value = headers.get(name).and_then(|value| value.to_str().ok());
        value.is_some_and(|value| values.contains(&value))
    };
    // What a link leads to is shown to the person, not to the page. Only GET counts: a form that a
    // page submits is a navigation, too.
    let follows_link = is("sec-fetch-mode", &["navigate"]) && method == Method::GET;
    is("sec-fetch-site", &["cross-site", "same-site"]) && !follows_link
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owns(addr: &str, hosts: &[&str]) -> Vec<bool> {
        let mut options = Options {
            addr: addr.parse().unwrap(),
            ..Options::default()
        };
        options.allowed.hosts = vec!["kato.example".to_owned()];
        hosts.iter().map(|host| is_own(&options, host)).collect()
    }

    #[test]
    fn names_of_the_server_are_its_addresses_localhost_and_what_is_allowed() {
        let own = [
            "localhost",
            "LOCALHOST:1",
            "127.0.0.1",
            "127.0.0.1:8000",
            "127.1.2.3:9",
            "[::1]",
            "[::1]:8000",
            "[::ffff:127.0.0.1]:8000",
            "kato.example",
            "Kato.Example:443",
        ];
        let foreign = [
            "",
            ":8000",
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example:8000",
            "kato.example.evil",
            "127.0.0.1@evil",
            "evil:80:80",
            "0",
            "…",
        ];
        let elsewhere = ["192.168.1.7:8000", "[fe80::1]:8000", "0.0.0.0:8000"];
        for addr in ["127.0.0.1:8000", "[::1]:8000"] {
            assert_eq!(owns(addr, &own), [true; 10], "{addr}");
            assert_eq!(owns(addr, &foreign), [false; 10], "{addr}");
            assert_eq!(owns(addr, &elsewhere), [false; 3], "{addr}");
        }
        for addr in ["0.0.0.0:8000", "192.168.1.7:8000"] {
            assert_eq!(owns(addr, &own), [true; 10], "{addr}");
            assert_eq!(owns(addr, &foreign), [false; 10], "{addr}");
            assert_eq!(owns(addr, &elsewhere), [true; 3], "{addr}");
        }
    }
}
