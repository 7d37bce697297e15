//! Connections to a server: TCP, and TLS above it where the address asks for it.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::Uri;
use hyper_util::client::legacy::connect::HttpConnector;
use tower_service::Service;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

#[cfg(feature = "https")]
type Inner = hyper_rustls::HttpsConnector<HttpConnector>;
#[cfg(not(feature = "https"))]
type Inner = HttpConnector;

/// A connection.
pub(crate) type Connection = <Inner as Service<Uri>>::Response;

/// Makes connections, each within a time that TLS is a part of.
#[derive(Debug, Clone)]
pub(crate) struct Connector {
    inner: Inner,
    timeout: Duration,
}

impl Connector {
    /// Creates a connector.
    pub(crate) fn new(
        timeout: Duration,
        #[cfg(feature = "https")] tls: rustls::ClientConfig,
    ) -> Self {
        let mut http = HttpConnector::new();
        http.set_nodelay(true);
        // Shared out among the addresses of a host, of which one may not answer.
        http.set_connect_timeout(Some(timeout));
        // Which addresses may be asked is decided by `Address`.
        http.enforce_http(false);
        Self {
            #[cfg(feature = "https")]
            inner: Inner::from((http, tls)),
            #[cfg(not(feature = "https"))]
            inner: http,
            timeout,
        }
    }

    /// Returns the longest time to make a connection.
    #[cfg(feature = "events")]
    pub(crate) const fn timeout(&self) -> Duration {
        self.timeout
    }
}

impl Service<Uri> for Connector {
    type Response = Connection;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connecting = tokio::time::timeout(self.timeout, self.inner.call(uri));
        Box::pin(async move {
            let late = |_| io::Error::new(io::ErrorKind::TimedOut, "no connection in time");
            let connected = connecting.await.map_err(late)?;
            connected.map_err(boxed)
        })
    }
}

/// Without TLS it has a type of its own.
fn boxed(error: impl Into<BoxError>) -> BoxError {
    error.into()
}
