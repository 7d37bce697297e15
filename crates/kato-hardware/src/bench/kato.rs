//! A KATO server: the latency of round trips that learn nothing.

use serde::{Deserialize, Serialize};

use crate::figure::{Finding, Measured};

/// Figures of a KATO server. Only its health is asked for: nothing is learned, and no session is
/// opened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct KatoResults {
    /// A request for the server's health and its answer, over a connection kept open.
    pub health_latency: Measured,
}

impl KatoResults {
    pub(crate) fn unknown(reason: &str) -> Self {
        Self {
            health_latency: Finding::unknown(reason),
        }
    }

    pub(crate) fn entries(&self) -> Vec<(&'static str, &Measured)> {
        vec![("health round trip", &self.health_latency)]
    }
}

#[cfg(feature = "kato")]
pub(crate) use measured::measure;

#[cfg(not(feature = "kato"))]
pub(crate) fn measure(_: &crate::Allowance, _: &str) -> KatoResults {
    KatoResults::unknown("built without the feature `kato`: build with it")
}

#[cfg(feature = "kato")]
mod measured {
    use std::error::Error;
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use reqwest::{Client, Url};
    use rustls::ClientConfig;
    use rustls_platform_verifier::Verifier;
    use serde_json::Value;

    use super::KatoResults;
    use crate::Allowance;
    use crate::figure::{Measured, MeasurementMethod};
    use crate::meter::{Meter, figure};

    /// Round trips after which the distribution is known well enough.
    const MAX_SAMPLES: usize = 2_000;
    /// Longest time of a health check; a longer one is not worth waiting for.
    const TIMEOUT: Duration = Duration::from_secs(2);

    /// Measures the server.
    pub(crate) fn measure(allowance: &Allowance, url: &str) -> KatoResults {
        KatoResults {
            health_latency: figure(allowance, |allowance| round_trips(allowance, url)),
        }
    }

    /// Measures health checks over one connection, one after the other.
    fn round_trips(allowance: &Allowance, url: &str) -> Result<Measured, String> {
        let expected = "give http://host:port";
        let mut url = Url::parse(url).map_err(|error| {
            format!("the KATO server's address cannot be read ({error}): {expected}")
        })?;
        url.path_segments_mut()
            .map_err(|()| format!("the KATO server's address has no path: {expected}"))?
            // The address may end in a slash.
            .pop_if_empty()
            .push("health");
        let client = client(url.scheme() == "https", TIMEOUT.min(allowance.remaining()))?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| format!("no runtime can be started ({error})"))?;
        runtime.block_on(async {
            // The first one opens the connection, so it is not measured.
            ask(&client, &url).await?;
            let meter = Meter::start();
            let mut seconds = Vec::new();
            while seconds.is_empty() || (seconds.len() < MAX_SAMPLES && !allowance.is_over()) {
                let start = Instant::now();
                ask(&client, &url).await?;
                seconds.push(start.elapsed().as_secs_f64());
            }
            Ok(meter.latency(MeasurementMethod::Direct, &seconds))
        })
    }

    /// Asks for the server's health.
    ///
    /// # Errors
    ///
    /// When the answer is not that of a KATO server in good health: how long a failure takes says
    /// nothing.
    async fn ask(client: &Client, url: &Url) -> Result<(), String> {
        let response = client
            .get(url.clone())
            .send()
            .await
            .map_err(|error| failure_reason(&error))?;
        let status = response.status();
        // The whole body, because it is part of the round trip.
        let body = response
            .bytes()
            .await
            .map_err(|error| failure_reason(&error))?;
        if !status.is_success() {
            return Err(format!(
                "the KATO server answered {status} to a health check: see its log"
            ));
        }
        let health: Option<Value> = serde_json::from_slice(&body).ok();
        match health
            .as_ref()
            .and_then(|health| health.get("status")?.as_str())
        {
            // Its storage fails, so its round trips are not those of work. A degraded one works.
            Some("unhealthy") => {
                Err("the KATO server says that it is unhealthy: see its log".to_owned())
            }
            Some(_) => Ok(()),
            None => Err("what answers there is no KATO server: see the address".to_owned()),
        }
    }

    /// Returns the reason of a failure: the innermost cause, which says most, and never the
    /// address, which may hold a password.
    fn failure_reason(error: &reqwest::Error) -> String {
        let mut cause: &dyn Error = error;
        while let Some(inner) = cause.source() {
            cause = inner;
        }
        if error.is_timeout() {
            "the KATO server does not answer in time: see whether it hangs".to_owned()
        } else if error.is_connect() {
            format!("the KATO server cannot be reached ({cause}): start it, or see the address")
        } else {
            let what = if error.source().is_some() {
                cause.to_string()
            } else {
                "request".to_owned()
            };
            format!("the KATO server broke off ({what}): see its log")
        }
    }

    /// Creates the client.
    fn client(needs_tls: bool, timeout: Duration) -> Result<Client, String> {
        let mut builder = Client::builder()
            .timeout(timeout)
            // A redirect would be timed as part of the round trip.
            .redirect(reqwest::redirect::Policy::none())
            // So would a retry.
            .retry(reqwest::retry::never())
            .tcp_nodelay(true)
            .no_proxy();
        builder = builder.tls_backend_preconfigured(tls(needs_tls)?);
        builder
            .build()
            .map_err(|error| format!("no HTTP client can be made: {}", error.without_url()))
    }

    /// Returns the TLS settings, with the roots of the system where they are needed: machines
    /// without any can still use plain HTTP.
    fn tls(needs_roots: bool) -> Result<ClientConfig, String> {
        let unusable = |error: rustls::Error| format!("TLS is not available: {error}");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(unusable)?;
        if !needs_roots {
            let none = rustls::RootCertStore::empty();
            return Ok(builder.with_root_certificates(none).with_no_client_auth());
        }
        let verifier = Verifier::new(provider).map_err(unusable)?;
        Ok(builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth())
    }
}
