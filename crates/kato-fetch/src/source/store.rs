//! Source for objects of an object store, through the `object_store` crate, over the HTTP client of
//! this crate.

mod odd_keys;

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

/// Hosts at which clouds hand out credentials to their own machines.
const METADATA_HOSTS: [&str; 3] = [
    "169.254.169.254",
    "[fd00:ec2::254]",
    "metadata.google.internal",
];
/// Time in which they answer. Where there is no such machine nothing answers at all.
const METADATA_TIME: Duration = Duration::from_secs(1);
/// Bytes that an object takes in a list, beside its key.
const ENTRY_BYTES: u64 = 200;

/// Open bucket.
#[derive(Clone)]
struct Bucket {
    store: Arc<dyn ObjectStore>,
    /// Keys of the list under way that cannot be asked for.
    odd: Arc<Mutex<Vec<String>>>,
    /// Held while a list is under way.
    listing: Arc<tokio::sync::Mutex<()>>,
}

/// Objects below a prefix.
#[derive(Debug, Default)]
pub(crate) struct Objects {
    pub(crate) objects: Vec<ObjectMeta>,
    /// Keys of those that cannot be asked for.
    pub(crate) odd: Vec<String>,
}

/// Stores opened so far, one for each bucket, and what opens them.
pub(crate) struct Stores {
    client: Arc<Client>,
    options: Vec<(String, String)>,
    open: Mutex<HashMap<String, Bucket>>,
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
    fn open(&self, bucket: &str) -> Result<Bucket, FetchError> {
        // Held while a store is built, which sends no request, so that each bucket has one store.
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = open.get(bucket) {
            return Ok(found.clone());
        }
        let odd = Arc::default();
        let store = self
            .build(bucket, &odd)
            .map_err(|error| invalid(bucket, format!("{error}; check the options of the store")))?;
        let built = Bucket {
            store,
            odd,
            listing: Arc::default(),
        };
        open.insert(bucket.to_owned(), built.clone());
        Ok(built)
    }

    /// Returns where credentials of the machine are asked for, if not at the usual address.
    fn metadata_endpoint(&self) -> Option<String> {
        let mut options = self.options.iter().rev();
        let found = options.find(|(key, _)| key.eq_ignore_ascii_case("AWS_METADATA_ENDPOINT"));
        found.map(|(_, value)| value.clone())
    }

    /// Opens the store of a bucket.
    fn build(
        &self,
        bucket: &str,
        odd: &Arc<Mutex<Vec<String>>>,
    ) -> object_store::Result<Arc<dyn ObjectStore>> {
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
                    .with_http_connector(Connector {
                        client: Arc::clone(&self.client),
                        metadata_endpoint: self.metadata_endpoint(),
                        odd: Arc::clone(odd),
                    })
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

    /// Lists all objects below a folder, which ends in `/`, or below the bucket if it is empty.
    pub(crate) async fn list(&self, bucket: &str, folder: &str) -> Result<Objects, FetchError> {
        let shown = format!("{bucket}/{folder}");
        let open = self.open(bucket)?;
        let prefix = match folder.strip_suffix('/') {
            None => None,
            Some(prefix) => Some(plain_path(&shown, prefix)?),
        };
        let _listing = open.listing.lock().await;
        let odd = || open.odd.lock().unwrap_or_else(PoisonError::into_inner);
        odd().clear();
        let mut found = Objects::default();
        let mut received = 0_u64;
        let mut list = open.store.list(prefix.as_ref());
        while let Some(object) = list
            .try_next()
            .await
            .map_err(|error| meaning(&shown, error))?
        {
            received += object.location.as_ref().len() as u64 + ENTRY_BYTES;
            let limit = self.client.limits.listing_bytes;
            if received > limit {
                return Err(FetchError::TooMuch {
                    url: shown,
                    what: "lists objects at great length".to_owned(),
                    limit,
                    setting: "listing_bytes",
                });
            }
            found.objects.push(object);
        }
        found.odd = std::mem::take(&mut *odd());
        Ok(found)
    }
}

/// Returns a key as the code of stores has it, if that would ask for it as it is written.
fn plain_path(shown: &str, key: &str) -> Result<Path, FetchError> {
    match Path::parse(key) {
        Ok(path) if odd_keys::is_plain(key) => Ok(path),
        _ => Err(invalid(
            shown,
            "no request can ask for a key that begins or ends with `/`, or has `//` or a part `..`",
        )),
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
        if key.is_empty() {
            return Err(invalid(&shown, "it names no object"));
        }
        let path = plain_path(&shown, key)?;
        Ok(Self {
            store: stores.open(bucket)?.store,
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
    match inner_error(&error) {
        Some(FetchError::NoCredentials { .. }) => {
            let advice = without_credentials(shown);
            return FetchError::NoCredentials { url, advice };
        }
        Some(inner) => return inner,
        None => {}
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

/// Returns what to do where a store asks for credentials and there are none.
fn without_credentials(shown: &str) -> &'static str {
    match shown.split_once("://").map(|(scheme, _)| scheme) {
        Some("s3" | "s3a") => {
            "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE; for a public bucket AWS_SKIP_SIGNATURE=true"
        }
        Some("gs") => "set GOOGLE_SERVICE_ACCOUNT; for a public bucket GOOGLE_SKIP_SIGNATURE=true",
        _ => {
            "set AZURE_STORAGE_ACCOUNT_KEY or AZURE_STORAGE_SAS_KEY; for a public container AZURE_SKIP_SIGNATURE=true"
        }
    }
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
struct Connector {
    client: Arc<Client>,
    metadata_endpoint: Option<String>,
    odd: Arc<Mutex<Vec<String>>>,
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
        let page = client.collect(body, shown).await.map_err(failed)?;
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
