//! The HTTP client of this crate as stores' code calls it.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use futures_util::{StreamExt as _, TryStreamExt as _};
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
};

use super::super::within;
use super::meaning::pass;
use super::odd_keys;
use crate::FetchError;
use crate::client::{Client, utf8};
use crate::error::is_transient_status;
use crate::figures::add;
use crate::rate_limit::asked_wait;

/// Hosts at which clouds hand out credentials to their own machines.
const METADATA_HOSTS: [&str; 3] = [
    "169.254.169.254",
    "[fd00:ec2::254]",
    "metadata.google.internal",
];
/// Time in which they answer. Where there is no such machine nothing answers at all.
const METADATA_TIME: Duration = Duration::from_secs(1);
/// Connector that gives all stores the one HTTP client.
#[derive(Debug)]
pub(super) struct Connector {
    pub(super) client: Arc<Client>,
    pub(super) metadata_endpoint: Option<String>,
    pub(super) odd: Arc<Mutex<Vec<String>>>,
}

impl HttpConnector for Connector {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(Service {
            client: Arc::clone(&self.client),
            metadata_endpoint: self.metadata_endpoint.clone(),
            odd: Arc::clone(&self.odd),
        }))
    }
}

/// HTTP service that counts, bounds the silence of servers, and keeps what a store's code would
/// lose.
#[derive(Debug)]
struct Service {
    client: Arc<Client>,
    metadata_endpoint: Option<String>,
    /// Where keys of lists go that cannot be asked for.
    odd: Arc<Mutex<Vec<String>>>,
}

impl Service {
    /// Sends a request of a store's code, once.
    async fn send(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let client = &self.client;
        let uri = request.uri();
        let at_endpoint = |endpoint: &String| uri.to_string().starts_with(endpoint);
        if uri
            .host()
            .is_some_and(|host| METADATA_HOSTS.contains(&host))
            || self.metadata_endpoint.as_ref().is_some_and(at_endpoint)
        {
            return self.ask_for_credentials(request).await;
        }
        // Queries and user names may hold credentials.
        let shown = format!(
            "{}://{}{}",
            uri.scheme_str().unwrap_or("http"),
            uri.host().unwrap_or_default(),
            uri.path()
        );
        let is_list = uri.query().is_some_and(is_list);
        add(&client.counters.requests, 1);
        let silent = client.timeouts.idle;
        let timed_out = |shown: &str| {
            let error = FetchError::Timeout {
                url: shown.to_owned(),
                waited: silent,
                attempts: 1,
            };
            pass(HttpErrorKind::Timeout, error)
        };
        let answered = tokio::time::timeout(silent, HttpService::call(&client.http, request)).await;
        let response = match answered {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => {
                let (kind, source) = (error.kind(), Box::new(error));
                let url = shown;
                return Err(pass(
                    kind,
                    FetchError::Connection {
                        url,
                        attempts: 1,
                        source,
                    },
                ));
            }
            Err(_) => return Err(timed_out(&shown)),
        };
        // The store's code would drop `Retry-After`, which the policy of retries wants to know.
        let status = response.status().as_u16();
        if is_transient_status(status) {
            let error = FetchError::Status {
                url: shown,
                status,
                attempts: 1,
                retry_after: asked_wait(response.headers(), SystemTime::now()),
            };
            return Err(pass(HttpErrorKind::Unknown, error));
        }
        if is_list && response.status().is_success() {
            return self.list_page(&shown, response).await;
        }
        Ok(response)
    }

    /// Returns a page of a list with a bounded body, out of which odd keys were taken.
    async fn list_page(
        &self,
        shown: &str,
        response: HttpResponse,
    ) -> Result<HttpResponse, HttpError> {
        let (head, body) = response.into_parts();
        let client = &self.client;
        let at = shown.to_owned();
        let pieces = body.bytes_stream().map_err(move |error| {
            let source = Box::new(error);
            FetchError::Connection {
                url: at.clone(),
                attempts: 1,
                source,
            }
        });
        let body = within(
            client.timeouts,
            client.limits,
            shown.to_owned(),
            pieces.boxed(),
        );
        let failed = |error| pass(HttpErrorKind::Unknown, error);
        let mut page = Vec::new();
        let collected = client.collect(body, shown, &mut page).await;
        let page = collected.and_then(|()| utf8(page, shown)).map_err(failed)?;
        let (page, odd) = odd_keys::taken_out(&page);
        self.odd
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend(odd);
        Ok(HttpResponse::from_parts(head, page.into()))
    }

    /// Asks the cloud that this machine may belong to, which is quick to answer if it does.
    async fn ask_for_credentials(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        add(&self.client.counters.requests, 1);
        let answer = HttpService::call(&self.client.http, request);
        match tokio::time::timeout(METADATA_TIME, answer).await {
            Ok(Ok(response)) if response.status().is_success() => Ok(response),
            _ => Err(pass(
                HttpErrorKind::Unknown,
                FetchError::NoCredentials {
                    url: String::new(),
                    advice: "",
                },
            )),
        }
    }
}

/// Returns whether the query of a request asks for a list.
fn is_list(query: &str) -> bool {
    let mut parameters = query.split('&');
    parameters.any(|parameter| matches!(parameter, "list-type=2" | "comp=list"))
}

impl HttpService for Service {
    fn call<'life0, 'async_trait>(
        &'life0 self,
        request: HttpRequest,
    ) -> Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send + 'async_trait>>
    where
        'life0: 'async_trait,
        Self: 'async_trait,
    {
        Box::pin(self.send(request))
    }
}
