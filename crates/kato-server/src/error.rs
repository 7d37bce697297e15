//! Errors of a server as a whole.

use std::io;
use std::net::SocketAddr;

use kato_advice::{ErrorClass, ErrorKind};
use kato_service::ServiceError;

/// The reason why a server did not start or did not end well.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// The address cannot be listened on.
    #[error("listen on {addr}: choose an address of this machine and a port that is free")]
    Bind {
        /// The address that was to be listened on.
        addr: SocketAddr,
        /// The error of the system.
        source: io::Error,
    },
    /// A token is empty or has other characters than visible ASCII ones.
    #[error("accept bearer token number {idx} (from 0): it must be visible ASCII characters")]
    Token {
        /// Position among the tokens, from 0.
        idx: usize,
    },
    /// No browser sends such an origin, so it would let no page in.
    #[error(
        "{origin:?} is no origin: write scheme and host as browsers send them, without a path and without the \
         scheme's own port, such as https://kato.example"
    )]
    Origin {
        /// What was to be allowed.
        origin: String,
    },
    /// No request names such a host.
    #[error(
        "{name:?} is no name of a host: write it without scheme, port and path, such as kato.example"
    )]
    Host {
        /// What was to be allowed.
        name: String,
    },
    /// There may not be so many threads.
    #[error("{workers} workers are too many: use at most {most}")]
    Workers {
        /// Workers asked for.
        workers: usize,
        /// The limit.
        most: usize,
    },
    /// The certificate or its key cannot be used.
    #[cfg(feature = "tls")]
    #[error("read {}: it must be a PEM file, of a certificate and those that lead to its root or of the certificate's key", path.display())]
    Tls {
        /// Path of the file.
        path: std::path::PathBuf,
        /// The reason why it cannot be used.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Requests were answered, but the service could not be closed.
    #[error("close the service")]
    Close(#[source] ServiceError),
}

impl ServerError {
    /// Returns what a caller can do about it.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        self.kind().class()
    }

    /// Returns what has happened, without its text.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Bind { source, .. } => ErrorKind::of_io(source.kind()),
            Self::Close(error) => error.kind(),
            Self::Token { .. } | Self::Origin { .. } | Self::Host { .. } | Self::Workers { .. } => {
                ErrorKind::InvalidArgument
            }
            #[cfg(feature = "tls")]
            Self::Tls { source, .. } => ErrorKind::of_causes(&**source),
        }
    }
}
