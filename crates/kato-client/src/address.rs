//! The address of a server, and what is asked for below it.

use std::fmt;

use hyper::Uri;
use hyper::http::uri::{Authority, PathAndQuery, Scheme};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::ClientError;

/// What ids, names and values may hold that would say something else in a path or a query.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b':')
    .remove(b'_')
    .remove(b'|')
    .remove(b'~');

/// The address of a server: `http` or `https`, a host, and the path that its endpoints lie below.
#[derive(Debug, Clone)]
pub(crate) struct Address {
    scheme: Scheme,
    authority: Authority,
    /// Without the last slash.
    path: String,
    text: String,
}

impl Address {
    /// Parses the address of a server. A query and a fragment are no part of it.
    pub(crate) fn parse(text: &str) -> Result<Self, ClientError> {
        let text = text.trim();
        // Nothing that could be a host is shown in an error before it is known to hold no password.
        let unusable = |reason: &str| ClientError::Config {
            field: "base_url",
            reason: reason.to_owned(),
        };
        if !text.is_ascii() {
            return Err(unusable(
                "write it in ASCII, a host as xn--… where it has other letters",
            ));
        }
        let expected = "give http:// or https:// and a host, as in http://localhost:8000";
        let parts = text
            .parse::<Uri>()
            .map_err(|_| unusable(expected))?
            .into_parts();
        let (Some(scheme), Some(authority)) = (parts.scheme, parts.authority) else {
            return Err(unusable(expected));
        };
        if scheme != Scheme::HTTP && scheme != Scheme::HTTPS || authority.host().is_empty() {
            return Err(unusable(expected));
        }
        // An address is shown in errors and logs, and returned by `KatoClient::base_url`.
        if authority.as_str().contains('@') {
            return Err(unusable(
                "credentials do not belong into an address: use with_bearer_token or with_header",
            ));
        }
        // What is no port would be passed over, and another server asked: that of the usual port.
        if authority.as_str() != authority.host() && authority.port_u16().is_none() {
            return Err(unusable(
                "what is behind the last colon is no port: give a number up to 65535",
            ));
        }
        if cfg!(not(feature = "https")) && scheme == Scheme::HTTPS {
            return Err(unusable(
                "this build speaks no https: build kato-client with its feature `https`, or give http://",
            ));
        }
        let path = parts.path_and_query.as_ref().map_or("", PathAndQuery::path);
        let text = format!("{scheme}://{authority}{path}");
        let path = path.trim_end_matches('/').to_owned();
        Ok(Self {
            scheme,
            authority,
            path,
            text,
        })
    }

    /// Returns whether connections are to be made with TLS.
    #[cfg(feature = "https")]
    pub(crate) fn is_secure(&self) -> bool {
        self.scheme == Scheme::HTTPS
    }

    /// Returns the address as a text, which holds no credentials.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns what lies below the address. Segments may hold any characters.
    pub(crate) fn below(&self, segments: &[&str]) -> Target {
        let mut path = self.path.clone();
        for segment in segments {
            path.push('/');
            path.extend(utf8_percent_encode(segment, ENCODED));
        }
        Target {
            scheme: self.scheme.clone(),
            authority: self.authority.clone(),
            path,
            query: String::new(),
        }
    }
}

/// What a request asks for.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    scheme: Scheme,
    authority: Authority,
    path: String,
    query: String,
}

impl Target {
    /// Adds a parameter of the query.
    pub(crate) fn push_query(&mut self, name: &str, value: &str) {
        self.query
            .push(if self.query.is_empty() { '?' } else { '&' });
        self.query.extend(utf8_percent_encode(name, ENCODED));
        self.query.push('=');
        self.query.extend(utf8_percent_encode(value, ENCODED));
    }

    /// Returns the path, without the query.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Returns the address to ask.
    pub(crate) fn uri(&self) -> Result<Uri, ClientError> {
        self.with_scheme(self.scheme.as_str())
    }

    /// Returns the address of a WebSocket.
    #[cfg(feature = "events")]
    pub(crate) fn socket_uri(&self) -> Result<Uri, ClientError> {
        self.with_scheme(if self.scheme == Scheme::HTTPS {
            "wss"
        } else {
            "ws"
        })
    }

    fn with_scheme(&self, scheme: &str) -> Result<Uri, ClientError> {
        Uri::builder()
            .scheme(scheme)
            .authority(self.authority.clone())
            .path_and_query(format!("{self}{}", self.query))
            .build()
            // The only way to fail that encoding leaves.
            .map_err(|_| ClientError::Config {
                field: "path",
                reason: "ids and values are longer than an address can be".to_owned(),
            })
    }
}

/// Shows the path.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.path.is_empty() {
            "/"
        } else {
            &self.path
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_kept_as_it_was_given_but_for_its_query() {
        for (given, kept, asked) in [
            (
                "http://localhost:8000",
                "http://localhost:8000/",
                "http://localhost:8000/sessions/a",
            ),
            (
                " http://h/kato/?q#f",
                "http://h/kato/",
                "http://h/kato/sessions/a",
            ),
            (
                "http://[::1]:8000/kato",
                "http://[::1]:8000/kato",
                "http://[::1]:8000/kato/sessions/a",
            ),
        ] {
            let address = Address::parse(given).unwrap();
            assert_eq!(address.as_str(), kept);
            let target = address.below(&["sessions", "a"]);
            assert_eq!(target.uri().unwrap(), asked);
        }
    }

    #[test]
    fn ids_and_values_may_hold_any_characters() {
        let mut target = Address::parse("http://h")
            .unwrap()
            .below(&["n", "a/b?c#d ü%"]);
        target.push_query("q", "x&y=z +");
        target.push_query("r", "PTRN|1");
        let expected = "http://h/n/a%2Fb%3Fc%23d%20%C3%BC%25?q=x%26y%3Dz%20%2B&r=PTRN|1";
        assert_eq!(target.uri().unwrap(), expected);
    }

    #[test]
    fn https_is_spoken_or_its_feature_is_named() {
        match Address::parse("https://h:8443/kato") {
            Ok(address) => assert_eq!(address.as_str(), "https://h:8443/kato"),
            Err(error) => assert!(error.to_string().contains("its feature `https`"), "{error}"),
        }
        assert_eq!(Address::parse("https://h").is_ok(), cfg!(feature = "https"));
    }

    #[test]
    fn what_is_no_address_is_refused_with_what_is_expected() {
        for (given, reason) in [
            ("localhost:8000", "give http://"),
            ("localhost", "give http://"),
            ("ftp://h/", "give http://"),
            ("http://", "give http://"),
            ("http://bücher.example/", "xn--"),
            ("http://user:secret@h/", "with_bearer_token"),
            ("http://h:99999/", "no port"),
            ("http://h:80a/", "no port"),
            ("http://h:/", "no port"),
            ("http://[::1]:x/", "no port"),
        ] {
            let error = Address::parse(given).unwrap_err().to_string();
            assert!(error.contains(reason), "{given}: {error}");
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
