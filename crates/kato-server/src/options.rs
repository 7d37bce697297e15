//! The settings of a server.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::thread;
use std::time::Duration;

use kato_model::KatoGeneration;

use crate::auth::Tokens;
use crate::backups::BackupOptions;
use crate::budget::largest_share;
use crate::error::ServerError;
use crate::weight::BATCH_BYTE;
use crate::workers::MAX_WORKERS;

/// The settings of a server. They start from safe defaults; see the methods of
/// [`ServerBuilder`](crate::ServerBuilder).
#[derive(Debug, Clone)]
pub(crate) struct Options {
    pub(crate) addr: SocketAddr,
    pub(crate) tokens: Tokens,
    pub(crate) max_body_bytes: usize,
    pub(crate) max_request_memory: usize,
    pub(crate) max_answer_memory: usize,
    pub(crate) max_concurrent_requests: usize,
    pub(crate) max_connections: usize,
    pub(crate) max_event_clients: usize,
    pub(crate) event_timeout: Duration,
    pub(crate) workers: usize,
    pub(crate) prediction_timeout: Duration,
    pub(crate) read_timeout: Duration,
    pub(crate) write_timeout: Duration,
    pub(crate) shutdown_timeout: Duration,
    #[cfg(feature = "tls")]
    pub(crate) tls: Option<crate::tls::TlsFiles>,
    pub(crate) backups: BackupOptions,
    pub(crate) allowed: Allowed,
    pub(crate) cors: bool,
    pub(crate) docs: bool,
    pub(crate) extensions: bool,
    pub(crate) generation_2025_10: bool,
    /// The generation of the service, by which it answers.
    pub(crate) generation: KatoGeneration,
}

impl Default for Options {
    fn default() -> Self {
        let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        Self {
            addr: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8000),
            tokens: Tokens::default(),
            max_body_bytes: 100 << 20,
            max_request_memory: 512 << 20,
            max_answer_memory: 256 << 20,
            max_concurrent_requests: 4096,
            max_connections: 16_384,
            max_event_clients: 256,
            event_timeout: Duration::from_secs(60),
            // More than there are cores, because a worker may wait for a session that another one
            // holds.
            workers: (2 * cores).clamp(4, MAX_WORKERS),
            prediction_timeout: Duration::from_secs(60),
            read_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(60),
            shutdown_timeout: Duration::from_secs(30),
            #[cfg(feature = "tls")]
            tls: None,
            backups: BackupOptions::default(),
            allowed: Allowed::default(),
            cors: false,
            docs: true,
            extensions: true,
            generation_2025_10: true,
            generation: KatoGeneration::V3_10,
        }
    }
}

impl Options {
    /// Returns whether clients speak HTTPS to the server itself.
    pub(crate) fn is_https(&self) -> bool {
        #[cfg(feature = "tls")]
        let is_https = self.tls.is_some();
        #[cfg(not(feature = "tls"))]
        let is_https = {
            let _ = self;
            false
        };
        is_https
    }

    /// Returns the size up to which a batch of learns is read whatever its events are.
    pub(crate) fn max_batch_bytes(&self) -> usize {
        let room = largest_share(self.max_request_memory);
        self.max_body_bytes.min(room / BATCH_BYTE)
    }
}

/// Names of the server and origins of pages that the operator allows in addition to the server's
/// own.
#[derive(Debug, Clone, Default)]
pub(crate) struct Allowed {
    pub(crate) hosts: Vec<String>,
    pub(crate) origins: Vec<String>,
}

impl Allowed {
    /// Returns whether the operator has allowed the origin.
    pub(crate) fn has_origin(&self, origin: &str) -> bool {
        self.origins
            .iter()
            .any(|own| own.eq_ignore_ascii_case(origin))
    }

    /// Refuses what no request can be of.
    pub(crate) fn check(&self) -> Result<(), ServerError> {
        if let Some(origin) = self.origins.iter().find(|origin| !is_origin(origin)) {
            let origin = origin.clone();
            return Err(ServerError::Origin { origin });
        }
        if let Some(name) = self.hosts.iter().find(|name| !is_host(name)) {
            return Err(ServerError::Host { name: name.clone() });
        }
        Ok(())
    }
}

/// Returns whether a browser can send a text as the origin of a page.
fn is_origin(text: &str) -> bool {
    let Some((scheme, host)) = text.split_once("://") else {
        // That of pages without one, such as files.
        return text == "null";
    };
    // Browsers leave it out.
    let own_port = match scheme.to_ascii_lowercase().as_str() {
        "http" => ":80",
        "https" => ":443",
        _ => "://",
    };
    let colon = host.rfind(':').filter(|&at| !host[at..].ends_with(']'));
    let (host_alone, port) = host.split_at(colon.unwrap_or(host.len()));
    !scheme.is_empty() && !host.ends_with(own_port) && is_host(host_alone) && is_port(port)
}

/// Returns whether a text is nothing, or a colon and a port as browsers write it.
fn is_port(text: &str) -> bool {
    let number = text.strip_prefix(':').map(str::parse::<u16>);
    // Written again, since leading zeros and signs are read as well.
    number.map_or(text.is_empty(), |port| {
        port.is_ok_and(|port| format!(":{port}") == text)
    })
}

/// Returns whether a text can be the host of a request, which is compared without its port.
fn is_host(text: &str) -> bool {
    let name = match text.strip_prefix('[') {
        Some(address) => {
            let address = address.strip_suffix(']').map(str::parse::<Ipv6Addr>);
            return address.is_some_and(|address| address.is_ok());
        }
        None => text,
    };
    let is_of_name = |byte: u8| byte.is_ascii_graphic() && !b":/?#@*[]".contains(&byte);
    !name.is_empty() && name.bytes().all(is_of_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_and_hosts_that_no_request_can_have_are_refused() {
        let origins = |origin: &str| Allowed {
            origins: vec![origin.to_owned()],
            ..Allowed::default()
        };
        for origin in [
            "http://localhost:3000",
            "HTTPS://Kato.example",
            "https://[::1]",
            "https://[::1]:8443",
            "http://a.example:443",
            "app://page",
            "null",
        ] {
            assert!(origins(origin).check().is_ok(), "{origin}");
        }
        for origin in [
            "",
            "*",
            "kato.example",
            "https://",
            "://kato.example",
            "https://*.example",
            "https://kato.example/",
            "https://kato.example:443",
            "http://kato.example:80",
            "https://a.example https://b.example",
            "https://kato.example:",
            "https://kato.example:https",
            "https://kato.example:08443",
            "https://kato.example:65536",
            "https://[kato.example]",
        ] {
            let refused = origins(origin).check();
            assert!(
                matches!(refused, Err(ServerError::Origin { .. })),
                "{origin}"
            );
        }
        let hosts = |name: &str| Allowed {
            hosts: vec![name.to_owned()],
            ..Allowed::default()
        };
        for name in ["kato", "kato.example", "10.0.0.1", "[::1]"] {
            assert!(hosts(name).check().is_ok(), "{name}");
        }
        for name in [
            "",
            "kato:8000",
            "http://kato",
            "kato/",
            "*",
            "a b",
            "::1",
            "[kato]",
        ] {
            let refused = hosts(name).check();
            assert!(matches!(refused, Err(ServerError::Host { .. })), "{name}");
        }
    }
}
