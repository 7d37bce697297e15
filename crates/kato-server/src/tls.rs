//! HTTPS: loading the certificate and its key, and the handshake of a connection.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::time;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::error::ServerError;
use crate::stall::StallGuard;

/// The files of a certificate, with those that lead to its root, and of its key; both PEM.
#[derive(Debug, Clone)]
pub(crate) struct TlsFiles {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

/// Completes handshakes with clients.
#[derive(Clone)]
pub(crate) struct Tls(TlsAcceptor);

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls")
    }
}

impl TlsFiles {
    /// Reads the files.
    pub(crate) fn read(&self) -> Result<Tls, ServerError> {
        let certificates = certificates(&self.certificate)?;
        let key = PrivateKeyDer::from_pem_file(&self.key).map_err(fault(&self.key))?;
        // A provider of its own, so that the server does not depend on a default that the program
        // has or has not installed.
        let versions = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(fault(&self.certificate))?;
        let mut config = versions
            .with_no_client_auth()
            .with_single_cert(certificates, key)
            .map_err(fault(&self.key))?;
        // The server speaks nothing else, and a client must not choose HTTP/2.
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Tls(TlsAcceptor::from(Arc::new(config))))
    }
}

/// Reads the certificates of a file; at least one.
fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, ServerError> {
    let certificates = CertificateDer::pem_file_iter(path).map_err(fault(path))?;
    let certificates = certificates
        .collect::<Result<Vec<_>, _>>()
        .map_err(fault(path))?;
    if certificates.is_empty() {
        let nothing = io::Error::new(io::ErrorKind::InvalidData, "it holds no certificate");
        return Err(fault(path)(nothing));
    }
    Ok(certificates)
}

/// Returns a function that makes an error about a file.
fn fault<E: Into<Box<dyn std::error::Error + Send + Sync>>>(
    path: &Path,
) -> impl FnOnce(E) -> ServerError {
    let path = path.to_owned();
    move |source| ServerError::Tls {
        path,
        source: source.into(),
    }
}

impl Tls {
    /// Completes the handshake within the time.
    pub(crate) async fn accept(
        &self,
        stream: StallGuard,
        within: Duration,
    ) -> io::Result<TlsStream<StallGuard>> {
        // A client that opens a connection and says nothing would hold one of the places for ever.
        let handshake = time::timeout(within, self.0.accept(stream)).await;
        handshake.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
    }
}
