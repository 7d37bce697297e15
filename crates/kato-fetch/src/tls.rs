//! TLS with the root certificates of the system.

use std::sync::Arc;

use rustls::ClientConfig;
use rustls_platform_verifier::Verifier;

use crate::FetchError;

/// Returns the TLS configuration of all connections.
pub(crate) fn client_config() -> Result<ClientConfig, FetchError> {
    // Named outright: a process-wide default provider belongs to the program, not to a library.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = Verifier::new(Arc::clone(&provider)).map_err(|error| unusable(&error))?;
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| unusable(&error))?;
    Ok(builder
        // rustls calls any verifier of one's own dangerous; this one is the operating system's.
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth())
}

/// Returns the error for a system without usable TLS.
fn unusable(error: &rustls::Error) -> FetchError {
    FetchError::InvalidSetting {
        setting: "build",
        reason: format!("TLS is not available: {error}"),
    }
}
