//! The entry point of the crate: lists locations and opens files.

use std::fmt;
use std::sync::Arc;

use url::Url;

use crate::builder::FetcherBuilder;
use crate::cache::Cache;
use crate::client::Client;
use crate::hub;
use crate::location::{invalid, is_store_scheme, redacted, store_bucket, store_key};
use crate::read::Opened;
use crate::remote_file::{Listing, PassedOver, RemoteFile, natural};
use crate::runtime::Runtime;
use crate::source::{Facts, HttpSource, Source, StoreSource, Stores, compare, facts};
use crate::{CancellationToken, FetchError, FetchFigures, Location, RangeReader};

/// Client that lists locations and opens remote files. Clones are cheap and share connections,
/// limits and cache.
///
/// It has threads of its own, which end when the last clone, reader and stream is dropped. Its
/// methods block the calling thread; they may be called, and everything may be dropped, on any
/// thread, those of an async runtime included.
///
/// # Examples
///
/// ```no_run
/// use kato_fetch::Fetcher;
///
/// let fetcher = Fetcher::builder().with_env().build()?;
/// let listing = fetcher.list(&"hf://Salesforce/wikitext/wikitext-2-raw-v1:test".parse()?)?;
/// let reader = fetcher.open(&listing.files[0])?;
/// assert_eq!(&reader.read(0..4)?[..], b"PAR1");
/// # Ok::<(), kato_fetch::FetchError>(())
/// ```
#[derive(Clone)]
pub struct Fetcher {
    runtime: Runtime,
    shared: Arc<Shared>,
}

/// State that tasks may hold. The runtime is not part of it: a task that held it would keep it
/// alive.
#[derive(Debug)]
struct Shared {
    client: Arc<Client>,
    stores: Stores,
    cache: Option<Arc<Cache>>,
    read_ahead: usize,
}

impl Fetcher {
    /// Creates a builder with the defaults: the public Hub, no token, no cache.
    pub fn builder() -> FetcherBuilder {
        FetcherBuilder::default()
    }

    /// Creates a fetcher from the parts that a builder has made.
    pub(crate) fn new(
        runtime: Runtime,
        client: Arc<Client>,
        stores: Stores,
        cache: Option<Arc<Cache>>,
        read_ahead: usize,
    ) -> Self {
        let shared = Arc::new(Shared {
            client,
            stores,
            cache,
            read_ahead,
        });
        Self { runtime, shared }
    }

    /// Lists the files of a location, pinned and in order. The listing holds at least one file.
    ///
    /// # Errors
    ///
    /// [`FetchError::InvalidLocation`], [`FetchError::NotFound`], [`FetchError::Unauthorized`],
    /// [`FetchError::UnknownConfig`], [`FetchError::UnknownSplit`],
    /// [`FetchError::PartialConversionOnly`], [`FetchError::NoFiles`], or what the network or the
    /// server made impossible.
    pub fn list(&self, location: &Location) -> Result<Listing, FetchError> {
        self.list_unless(location, &CancellationToken::new())
    }

    /// Lists as [`list`](Self::list) does, ending with [`FetchError::Cancelled`] once `cancel` is
    /// used.
    ///
    /// # Errors
    ///
    /// As [`list`](Self::list).
    pub fn list_unless(
        &self,
        location: &Location,
        cancel: &CancellationToken,
    ) -> Result<Listing, FetchError> {
        let shared = Arc::clone(&self.shared);
        let location = location.clone();
        self.runtime.wait(cancel, async move {
            match location {
                Location::Hub(hub) => hub::list(&shared.client, &hub).await,
                Location::Http(url) => shared.list_url(url).await,
                Location::Store(url) => shared.list_store(&url).await,
            }
        })
    }

    /// Opens a file by its name, asking the server for what is not known of it yet.
    ///
    /// # Errors
    ///
    /// [`FetchError::InvalidLocation`] if the name is none of a remote file;
    /// [`FetchError::Changed`] if the server is asked and size or validator are others than those
    /// given; or what the network or the server made impossible.
    pub fn open(&self, file: &RemoteFile) -> Result<RangeReader, FetchError> {
        self.open_unless(file, &CancellationToken::new())
    }

    /// Opens as [`open`](Self::open) does, ending with [`FetchError::Cancelled`] once `cancel` is
    /// used; so do reads of the reader.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub fn open_unless(
        &self,
        file: &RemoteFile,
        cancel: &CancellationToken,
    ) -> Result<RangeReader, FetchError> {
        let shared = Arc::clone(&self.shared);
        let file = file.clone();
        let opened = self
            .runtime
            .wait(cancel, async move { shared.open(file).await })?;
        Ok(RangeReader::new(opened, self.runtime.clone()).with_cancel(cancel))
    }

    /// Returns what this fetcher, its clones and its readers have done so far.
    #[must_use]
    pub fn figures(&self) -> FetchFigures {
        self.shared.client.counters.figures()
    }
}

impl Shared {
    /// Returns where the bytes of a file come from, by the scheme of its name.
    fn source(&self, file: &RemoteFile) -> Result<Source, FetchError> {
        let client = Arc::clone(&self.client);
        let Some((scheme, rest)) = file.name.split_once("://") else {
            return Err(invalid(&file.name, "it is no name of a remote file"));
        };
        if scheme == "hf" {
            let url = hub::file_url(&client.endpoint, &file.name)?;
            return Ok(Source::Http(HttpSource::new(client, url, true)));
        }
        if is_store_scheme(scheme) {
            let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
            return StoreSource::new(&self.stores, &format!("{scheme}://{bucket}"), key)
                .map(Source::Store);
        }
        // Only the process that listed the file has its URL with the secrets; any other has its
        // name.
        let url = match &file.access {
            Some(url) => url.clone(),
            None => {
                Url::parse(&file.name).map_err(|error| invalid(&file.name, error.to_string()))?
            }
        };
        if !matches!(url.scheme(), "http" | "https") {
            return Err(invalid(&file.name, "unknown scheme; give a name as listed"));
        }
        Ok(Source::Http(HttpSource::new(client, url, false)))
    }

    /// Opens a file, and checks that it still is the one that `file` describes.
    async fn open(&self, file: RemoteFile) -> Result<Opened, FetchError> {
        let source = self.source(&file)?;
        let mut facts = Facts {
            size: file.size,
            validator: file.validator,
            has_ranges: file.has_ranges,
            content_type: file.content_type,
            served_name: file.served_name,
        };
        // The listings of the Hub and the stores say both. A file that is known by its name and
        // size alone is asked about, since not every web server has ranges.
        if file.size.is_none() || file.has_ranges.is_none() {
            // Each attempt takes a permit of its own: one that waits to try again must not keep
            // others from the network.
            let probe = || async {
                let _permit = self.client.permit().await?;
                source.probe().await
            };
            let probe_whole = || async {
                let _permit = self.client.permit().await?;
                source.probe_whole().await
            };
            let is = match self.client.repeat(probe).await {
                // Not by accident: the answer to a request for all of it decides.
                Err(FetchError::WrongAnswer { .. }) => self.client.repeat(probe_whole).await?,
                probed => probed?,
            };
            compare(source.shown(), &facts, &is)?;
            facts = Facts {
                // A validator that was given stays in force where the server says none this time.
                validator: is.validator.or(facts.validator),
                ..is
            };
        }
        self.client.believe(source.shown(), facts.size)?;
        Ok(Opened {
            client: Arc::clone(&self.client),
            cache: self.cache.clone(),
            source,
            name: file.name,
            facts,
            read_ahead: self.read_ahead,
        })
    }

    /// Lists a URL, which is one file.
    async fn list_url(&self, url: Url) -> Result<Listing, FetchError> {
        let name = redacted(&url);
        let mut file = RemoteFile::new(name);
        file.access = Some(url);
        // Opening it shows that it exists, and what is to be known of it.
        let facts = self.open(file.clone()).await?.facts;
        let file = with_facts(file, facts);
        Ok(Listing {
            files: vec![file],
            ..Listing::default()
        })
    }

    /// Lists one object, the objects below a folder, or those that match a pattern. What exists under
    /// the very name is taken for it, whatever characters it has.
    async fn list_store(&self, url: &Url) -> Result<Listing, FetchError> {
        let bucket = store_bucket(url);
        let key = store_key(url).ok_or_else(|| invalid(url.as_str(), "its key is no text"))?;
        let is_folder = key.is_empty() || key.ends_with('/');
        let is_glob = key.contains(['*', '?', '[', '{']);
        if is_folder {
            let listing = self.list_objects(&bucket, &key, None).await?;
            if !is_glob || !listing.files.is_empty() {
                return with_files(listing, &bucket, &key);
            }
        } else {
            match self.list_object(&bucket, &key).await {
                Err(error) if is_glob && may_be_pattern(&error) => {}
                listing => return listing,
            }
        }
        // Backslashes, and a `!` in front, are characters like others in a key.
        let negates = if key.starts_with('!') { "\\" } else { "" };
        let glob = format!("{negates}{}", key.replace('\\', "\\\\"));
        fast_glob::validate(&glob)
            .map_err(|error| invalid(&format!("{bucket}/{key}"), error.to_string()))?;
        let literal = key.split(['*', '?', '[', '{']).next().unwrap_or_default();
        // Stores match prefixes by whole segments of a path, so that the last, unfinished one is
        // cut off.
        let folder = literal.rfind('/').map_or("", |at| &literal[..=at]);
        let listing = self.list_objects(&bucket, folder, Some(&glob)).await?;
        with_files(listing, &bucket, &key)
    }

    /// Lists one object.
    async fn list_object(&self, bucket: &str, key: &str) -> Result<Listing, FetchError> {
        let file = RemoteFile::new(format!("{bucket}/{key}"));
        let facts = self.open(file.clone()).await?.facts;
        Ok(Listing {
            files: vec![with_facts(file, facts)],
            ..Listing::default()
        })
    }

    /// Lists the objects below a folder that match a pattern, if there is one; there may be none.
    async fn list_objects(
        &self,
        bucket: &str,
        folder: &str,
        glob: Option<&str>,
    ) -> Result<Listing, FetchError> {
        let found = self
            .client
            .repeat(|| self.stores.list(bucket, folder))
            .await?;
        let is_wanted = |key: &str| glob.is_none_or(|glob| fast_glob::glob_match(glob, key));
        let mut listing = Listing::default();
        for object in found.objects {
            let path = object.location.as_ref();
            let passed_over = match (is_wanted(path), object.size) {
                (false, _) => Some(PassedOver::NotMatched),
                (true, 0) => Some(PassedOver::Empty),
                (true, _) => None,
            };
            if let Some(reason) = passed_over {
                listing.ignored.push((path.to_owned(), reason));
                continue;
            }
            let file = RemoteFile::new(format!("{bucket}/{path}"));
            listing.files.push(with_facts(file, facts(&object)));
        }
        let odd = found.odd.into_iter().map(|key| {
            let reason = match (is_wanted(&key), key.ends_with('/')) {
                (false, _) => PassedOver::NotMatched,
                (true, true) => PassedOver::Empty,
                (true, false) => PassedOver::OddName,
            };
            (key, reason)
        });
        listing.ignored.extend(odd);
        let odd = listing.ignored.iter();
        let n_odd = odd
            .filter(|(_, reason)| *reason == PassedOver::OddName)
            .count();
        if n_odd > 0 {
            listing.notes.push(format!(
                "{n_odd} keys that begin with `/` or have `//` or a part `..` were passed over: no request can ask for them"
            ));
        }
        listing
            .files
            .sort_unstable_by(|a, b| natural(&a.name, &b.name));
        listing
            .ignored
            .sort_unstable_by(|(a, _), (b, _)| natural(a, b));
        Ok(listing)
    }
}

/// Returns a listing, if it has files.
fn with_files(listing: Listing, bucket: &str, key: &str) -> Result<Listing, FetchError> {
    if !listing.files.is_empty() {
        return Ok(listing);
    }
    let advice = match listing.notes.first() {
        Some(note) => note.clone(),
        None => "check bucket, folder and pattern".to_owned(),
    };
    Err(FetchError::NoFiles {
        location: format!("{bucket}/{key}"),
        advice,
    })
}

/// Returns whether an error may mean that there is no object of a name, so that the name may be a
/// pattern.
fn may_be_pattern(error: &FetchError) -> bool {
    matches!(
        error,
        FetchError::NotFound { .. }
            // S3 says so to those who may not list.
            | FetchError::Unauthorized { status: 403, .. }
            | FetchError::InvalidLocation { .. }
    )
}

/// Returns a file with what is known of it.
fn with_facts(mut file: RemoteFile, facts: Facts) -> RemoteFile {
    file.size = facts.size;
    file.validator = facts.validator;
    file.has_ranges = facts.has_ranges;
    file.content_type = facts.content_type;
    file.served_name = facts.served_name;
    file
}

impl fmt::Debug for Fetcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fetcher")
            .field("client", &self.shared.client)
            .finish_non_exhaustive()
    }
}
