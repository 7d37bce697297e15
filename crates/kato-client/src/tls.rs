//! TLS: the roots of the system and those of the caller, the same for HTTP and WebSocket.

use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;

use crate::ClientError;

/// Creates the configuration for `https` addresses, or an empty one, which lets no TLS connection
/// succeed, where none is needed.
pub(crate) fn client_config(
    secure: bool,
    extra_roots: &[Vec<u8>],
) -> Result<ClientConfig, ClientError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| unusable(&error))?;
    let roots = certificates(extra_roots)?;
    // The system's roots are not loaded for plain http: a machine without any can still use it.
    if !secure {
        return Ok(builder
            .with_root_certificates(RootCertStore::empty())
            .with_no_client_auth());
    }
    let verifier =
        Verifier::new_with_extra_roots(roots, provider).map_err(|error| unusable(&error))?;
    Ok(builder
        // The name of every way to set a verifier; this one checks certificates as the system does.
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth())
}

/// Parses certificates; each text must hold at least one.
fn certificates(pems: &[Vec<u8>]) -> Result<Vec<CertificateDer<'static>>, ClientError> {
    let mut certificates = Vec::new();
    for pem in pems {
        let before = certificates.len();
        for certificate in CertificateDer::pem_slice_iter(pem) {
            certificates.push(certificate.map_err(|error| ClientError::Config {
                field: "root_certificate",
                reason: format!("not PEM: {error}"),
            })?);
        }
        if certificates.len() == before {
            return Err(ClientError::Config {
                field: "root_certificate",
                reason: "no certificate in the PEM text".to_owned(),
            });
        }
    }
    Ok(certificates)
}

/// Creates the error of roots that cannot be used.
fn unusable(error: &rustls::Error) -> ClientError {
    ClientError::Config {
        field: "root_certificate",
        reason: error.to_string(),
    }
}
