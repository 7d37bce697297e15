//! Source for objects of an object store, through the `object_store` crate, over the HTTP client of
//! this crate.

use std::collections::HashMap;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use futures_util::{StreamExt as _, TryStreamExt as _};
use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
};
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::path::Path;
use object_store::{
    BackoffConfig, ClientOptions, GetOptions, GetRange, ObjectMeta, ObjectStore,
    ObjectStoreExt as _, RetryConfig,
};

use super::{Body, Facts, compare, within};
use crate::FetchError;
use crate::client::Client;
use crate::error::is_transient_status;
use crate::figures::add;
use crate::location::invalid;
use crate::rate_limit::asked_wait;

/// Stores opened so far, one for each bucket, and what opens them.
pub(crate) struct Stores {
    client: Arc<Client>,
    options: Vec<(String, String)>,
    open: Mutex<HashMap<String, Arc<dyn ObjectStore>>>,
}

impl fmt::Debug for Stores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The options hold secret keys.
        f.debug_struct("Stores").finish_non_exhaustive()
    }
}

impl Stores {
    /// Creates a set of no open stores.
    pub(crate) fn new(client: Arc<Client>, options: Vec<(String, String)>) -> Self {
        Self {
            client,
            options,
            open: Mutex::new(HashMap::new()),
        }
    }

    /// Returns the store of `SCHEME://BUCKET`, opening it the first time.
    pub(crate) fn open(&self, bucket: &str) -> Result<Arc<dyn ObjectStore>, FetchError> {
        // Held while a store is built, which sends no request, so that each bucket has one store.
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(store) = open.get(bucket) {
            return Ok(Arc::clone(store));
        }
        let store = self
            .build(bucket)
            .map_err(|error| invalid(bucket, format!("{error}; check the options of the store")))?;
        open.insert(bucket.to_owned(), Arc::clone(&store));
        Ok(store)
    }

    /// Opens the store of a bucket.
    fn build(&self, bucket: &str) -> object_store::Result<Arc<dyn ObjectStore>> {
        // One list has the options of all stores; those of the others do not parse here and are
        // ignored.
        macro_rules! build {
            ($builder:ty) => {{
                let mut builder = <$builder>::new().with_url(bucket);
                for (key, value) in &self.options {
                    if let Ok(key) = key.to_ascii_lowercase().parse() {
                        builder = builder.with_config(key, value);
                    }
                }
                let store = builder
                    .with_http_connector(Connector(Arc::clone(&self.client)))
                    .with_retry(once())
                    .build()?;
                Ok(Arc::new(store))
            }};
        }
        match bucket.split_once("://").map(|(scheme, _)| scheme) {
            Some("s3" | "s3a") => build!(AmazonS3Builder),
            Some("gs") => build!(GoogleCloudStorageBuilder),
            _ => build!(MicrosoftAzureBuilder),
        }
    }

    /// Lists all objects below a prefix.
    pub(crate) async fn list(
        &self,
        bucket: &str,
        prefix: &str,
    ) -> Result<Vec<ObjectMeta>, FetchError> {
        let store = self.open(bucket)?;
        let shown = format!("{bucket}/{prefix}");
        let prefix = (!prefix.is_empty()).then(|| Path::from(prefix));
        store
            .list(prefix.as_ref())
            .try_collect()
            .await
            .map_err(|error| meaning(&shown, error))
    }
}

/// Returns the retries of the store's own code, which are none: the fetcher's policy decides.
fn once() -> RetryConfig {
    RetryConfig {
        backoff: BackoffConfig::default(),
        max_retries: 0,
        retry_timeout: Duration::ZERO,
    }
}

/// Object of a store.
#[derive(Debug)]
pub(crate) struct StoreSource {
    store: Arc<dyn ObjectStore>,
    path: Path,
    shown: String,
    client: Arc<Client>,
}

impl StoreSource {
    /// Creates the source for `key` of `bucket`, which is `SCHEME://NAME`.
    pub(crate) fn new(stores: &Stores, bucket: &str, key: &str) -> Result<Self, FetchError> {
        let shown = format!("{bucket}/{key}");
        let path = Path::parse(key).map_err(|error| invalid(&shown, error.to_string()))?;
        if path.as_ref().is_empty() {
            return Err(invalid(&shown, "it names no object"));
        }
        Ok(Self {
            store: stores.open(bucket)?,
            path,
            shown,
            client: Arc::clone(&stores.client),
        })
    }

    /// Returns the address.
    pub(crate) fn shown(&self) -> &str {
        &self.shown
    }

    /// Asks for the properties of the object, once.
    pub(crate) async fn probe(&self) -> Result<Facts, FetchError> {
        let meta = self
            .store
            .head(&self.path)
            .await
            .map_err(|error| self.meaning(error))?;
        self.client.believe(&self.shown, Some(meta.size))?;
        Ok(facts(&meta))
    }

    /// Requests bytes `from..to`, once.
    pub(crate) async fn range(
        &self,
        known: &Facts,
        from: u64,
        to: u64,
    ) -> Result<(Body, u64), FetchError> {
        let range = Some(GetRange::Bounded(from..to));
        Ok((self.get(known, range).await?.0, to))
    }

    /// Requests the whole object, once; returns its size as well.
    pub(crate) async fn whole(&self, known: &Facts) -> Result<(Body, Option<u64>), FetchError> {
        let (body, size) = self.get(known, None).await?;
        Ok((body, Some(size)))
    }

    /// Requests a range of the object or all of it, on the condition that it has not changed.
    async fn get(&self, known: &Facts, range: Option<GetRange>) -> Result<(Body, u64), FetchError> {
        let options = GetOptions {
            range,
            if_match: known.validator.clone(),
            ..GetOptions::default()
        };
        let result = self
            .store
            .get_opts(&self.path, options)
            .await
            .map_err(|error| self.meaning(error))?;
        // A store that ignores the condition is found out by what it says of the object.
        compare(&self.shown, known, &facts(&result.meta))?;
        let size = result.meta.size;
        let shown = self.shown.clone();
        let body = result
            .into_stream()
            .map_err(move |error| meaning(&shown, error));
        let (timeouts, limits) = (self.client.timeouts, self.client.limits);
        let body = within(timeouts, limits, self.shown.clone(), body.boxed());
        Ok((body, size))
    }

    /// Returns what an error of the store means for this object.
    fn meaning(&self, error: object_store::Error) -> FetchError {
        meaning(&self.shown, error)
    }
}

/// Returns what a list or an answer says of an object.
pub(crate) fn facts(meta: &ObjectMeta) -> Facts {
    Facts {
        size: Some(meta.size),
        validator: meta.e_tag.clone(),
        has_ranges: Some(true),
        ..Facts::default()
    }
}

/// Returns what a store's error means.
fn meaning(shown: &str, error: object_store::Error) -> FetchError {
    use object_store::Error;
    let url = shown.to_owned();
    // What the client has found out first-hand says more than what the store's code makes of it.
    if let Some(inner) = inner_error(&error) {
        return inner;
    }
    match error {
        Error::NotFound { .. } => FetchError::NotFound { url },
        Error::Precondition { .. } | Error::NotModified { .. } => FetchError::Changed {
            url,
            what: "validator",
            was: "the one listed".to_owned(),
            is: "another".to_owned(),
        },
        Error::PermissionDenied { .. } => refused(url, 403),
        Error::Unauthenticated { .. } => refused(url, 401),
        Error::InvalidPath { .. }
        | Error::NotSupported { .. }
        | Error::UnknownConfigurationKey { .. } => invalid(shown, error.to_string()),
        error if is_network(&error) => FetchError::Connection {
            url,
            attempts: 1,
            source: Box::new(error),
        },
        // What is left are answers that make no sense, among them lists and ranges that were cut
        // short.
        error => FetchError::WrongAnswer {
            url,
            reason: error.to_string(),
            attempts: 1,
        },
    }
}

/// Returns whether the network is among the causes of an error.
fn is_network(error: &object_store::Error) -> bool {
    let first = std::error::Error::source(error);
    std::iter::successors(first, |error| error.source()).any(|error| error.is::<HttpError>())
}

/// Returns the error for credentials that are missing or do not suffice.
fn refused(url: String, status: u16) -> FetchError {
    FetchError::Unauthorized {
        url,
        status,
        advice: "give the store's credentials, or for a public bucket of S3 the option AWS_SKIP_SIGNATURE=true",
    }
}

/// Returns the error of this crate that an error of a store wraps.
fn inner_error(error: &object_store::Error) -> Option<FetchError> {
    let first = std::error::Error::source(error);
    // Sources of an error are shared references: only through the lock can the error be taken out.
    let Passed(passed) = std::iter::successors(first, |error| error.source())
        .find_map(|error| error.downcast_ref())?;
    passed.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// Wrapper that carries an error of this crate through the code of a store.
#[derive(Debug, thiserror::Error)]
#[error("the request failed")]
struct Passed(Mutex<Option<FetchError>>);

/// Wraps an error of this crate.
fn pass(kind: HttpErrorKind, error: FetchError) -> HttpError {
    HttpError::new(kind, Passed(Mutex::new(Some(error))))
}

/// Connector that gives all stores the one HTTP client.
#[derive(Debug)]
struct Connector(Arc<Client>);

impl HttpConnector for Connector {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(Service(Arc::clone(&self.0))))
    }
}

/// HTTP service that counts, bounds the silence of servers, and keeps what a store's code would
/// lose.
#[derive(Debug)]
struct Service(Arc<Client>);

impl Service {
    /// Sends a request of a store's code, once.
    async fn send(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let client = &self.0;
        // Queries and user names may hold credentials.
        let uri = request.uri();
        let shown = format!(
            "{}://{}{}",
            uri.scheme_str().unwrap_or("http"),
            uri.host().unwrap_or_default(),
            uri.path()
        );
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
        Ok(response)
    }
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
