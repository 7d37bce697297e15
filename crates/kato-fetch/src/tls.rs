//! TLS with the roots of the system.

use std::sync::Arc;

use rustls::ClientConfig;
use rustls_platform_verifier::Verifier;

use crate::FetchError;

pub(crate) fn client_config() -> Result<ClientConfig, FetchError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = Verifier::new(Arc::clone(&provider)).map_err(|error| unusable(&error))?;
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| unusable(&error))?;
    Ok(builder
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth())
}

fn unusable(error: &rustls::Error) -> FetchError {
    FetchError::InvalidSetting {
        setting: "build",
        reason: format!("TLS is not available: {error}"),
    }
}
