//! One object of a store: its properties, and its bytes.

use std::sync::Arc;

use futures_util::{StreamExt as _, TryStreamExt as _};
use object_store::path::Path;
use object_store::{GetOptions, GetRange, ObjectMeta, ObjectStore, ObjectStoreExt as _};

use super::super::{Body, Facts, compare, within};
use super::meaning::meaning;
use super::{Stores, plain_path};
use crate::FetchError;
use crate::client::Client;
use crate::location::invalid;

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
