//! Source for objects of an object store, through the `object_store` crate, over the HTTP client of
//! this crate.

mod meaning;
mod object;
mod odd_keys;
mod service;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::TryStreamExt as _;
use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::path::Path;
use object_store::{BackoffConfig, ObjectMeta, ObjectStore, RetryConfig};

use self::meaning::meaning;
pub(crate) use self::object::{StoreSource, facts};
use self::service::Connector;
use crate::FetchError;
use crate::client::Client;
use crate::location::invalid;

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
        // Taken last, so that a list that waits for another keeps nobody from the network. Its pages
        // come one after the other.
        let _permit = self.client.permit().await?;
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
