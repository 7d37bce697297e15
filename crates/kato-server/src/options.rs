//! The settings of a server.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::thread;
use std::time::Duration;

use kato_model::KatoGeneration;

use crate::auth::Tokens;
use crate::backups::BackupOptions;
use crate::budget::largest_share;
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
}
