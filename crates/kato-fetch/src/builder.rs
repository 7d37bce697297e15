//! Configuration of a [`Fetcher`].

use std::path::PathBuf;
use std::sync::Arc;
use std::{fmt, fs};

use kato_advice::retry::{Backoff, RetryPolicy, random_seed};
use reqwest::header::{HeaderName, HeaderValue};
use tokio::sync::Semaphore;
use url::Url;

use crate::cache::Cache;
use crate::client::Client;
use crate::defaults::{
    DEFAULT_HUB_ENDPOINT, DEFAULT_MAX_REQUESTS, DEFAULT_READ_AHEAD_BYTES, DEFAULT_RETRY,
};
use crate::figures::Counters;
use crate::known_servers::KnownServers;
use crate::location::without_secrets;
use crate::options::{PrivateRedirects, Timeouts, TransferLimits};
use crate::redirect::{AtLeast, Reach};
use crate::runtime::Runtime;
use crate::source::Stores;
use crate::{FetchError, Fetcher, aws_profile, tls};

/// The variable that says whether a server may redirect to what is nearer than itself.
const PRIVATE_REDIRECTS: &str = "KATO_PRIVATE_REDIRECTS";

/// Configures and builds a [`Fetcher`].
///
/// Settings come from the environment only where [`with_env`](Self::with_env) is called. What
/// libraries below look up by themselves they look up all the same: the certificates of the system
/// (`SSL_CERT_FILE`, `SSL_CERT_DIR`) and Google's default credentials.
#[derive(Clone)]
#[must_use = "a builder does nothing until it is built"]
pub struct FetcherBuilder {
    hub_endpoint: String,
    hub_token: Option<String>,
    hub_home: Option<PathBuf>,
    token_file: Option<PathBuf>,
    retry: RetryPolicy,
    timeouts: Timeouts,
    limits: TransferLimits,
    /// Or what the environment says that is neither of its values.
    private_redirects: Result<PrivateRedirects, String>,
    max_requests: usize,
    read_ahead_bytes: usize,
    cache: Option<(PathBuf, u64)>,
    headers: Vec<(String, String, String)>,
    store_options: Vec<(String, String)>,
    system_proxies: bool,
}

impl Default for FetcherBuilder {
    fn default() -> Self {
        Self {
            hub_endpoint: DEFAULT_HUB_ENDPOINT.to_owned(),
            hub_token: None,
            hub_home: None,
            token_file: None,
            retry: DEFAULT_RETRY,
            timeouts: Timeouts::default(),
            limits: TransferLimits::default(),
            private_redirects: Ok(PrivateRedirects::default()),
            max_requests: DEFAULT_MAX_REQUESTS,
            read_ahead_bytes: DEFAULT_READ_AHEAD_BYTES,
            cache: None,
            headers: Vec::new(),
            store_options: Vec::new(),
            system_proxies: false,
        }
    }
}

impl FetcherBuilder {
    /// Sets the URL at which the Hub answers. Default: [`DEFAULT_HUB_ENDPOINT`].
    pub fn with_hub_endpoint(mut self, url: impl Into<String>) -> Self {
        self.hub_endpoint = url.into();
        self
    }

    /// Sets the token for the Hub, which is sent to the Hub's endpoint and nowhere else.
    pub fn with_hub_token(mut self, token: impl Into<String>) -> Self {
        self.hub_token = Some(token.into());
        self
    }

    /// Sets the folder in which the Hub's own tools keep their data.
    ///
    /// The token is read from its file `token` where none was given by
    /// [`with_hub_token`](Self::with_hub_token), and, with [`with_env`](Self::with_env), neither
    /// `HF_TOKEN` nor `HF_TOKEN_PATH` is set.
    pub fn with_hub_home(mut self, folder: impl Into<PathBuf>) -> Self {
        self.hub_home = Some(folder.into());
        self
    }

    /// Sets when, and how often, a request is tried again after a fault that may pass: timeouts of a
    /// server that has answered before or of an object store, broken connections, short or wrong answers,
    /// and the statuses 408, 425, 429, 500 and 502 to 599. Default: [`DEFAULT_RETRY`], with which a policy of
    /// one's own had best begin.
    ///
    /// Patience begins with the first fault. What arrived before a fault is kept, and after each
    /// MiB that arrives, attempts and time count anew. A server that asks for more time than the
    /// policy has is not asked again.
    ///
    /// What a server keeps to is no fault that passes: the third wrong answer, the fourth body that
    /// ends too early at the same byte, the second that falls silent there, and the first that is too
    /// slow before a MiB has arrived are errors, however many attempts are left (a quarter of them, or
    /// a half, where a policy has very many).
    ///
    /// ```
    /// use kato_fetch::Fetcher;
    /// use kato_fetch::defaults::DEFAULT_RETRY;
    ///
    /// let builder = Fetcher::builder().with_retry(DEFAULT_RETRY.with_attempts(20));
    /// # let _ = builder;
    /// ```
    pub fn with_retry(mut self, policy: RetryPolicy) -> Self {
        self.retry = policy;
        self
    }

    /// Sets how long to wait for a connection and for data.
    pub fn with_timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = timeouts;
        self
    }

    /// Sets how much is believed of what a server sends or announces.
    pub fn with_limits(mut self, limits: TransferLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets whether redirects may lead to addresses that are not public. Default: only from a server
    /// that is as near itself.
    pub fn with_private_redirects(mut self, redirects: PrivateRedirects) -> Self {
        self.private_redirects = Ok(redirects);
        self
    }

    /// Sets how many requests may be under way at a time, over all clones and readers; at least 1.
    /// Default: [`DEFAULT_MAX_REQUESTS`].
    ///
    /// A [`FileStream`](crate::FileStream) without a cache counts only until its answer begins. A list
    /// of an object store counts as one request, whatever its number of pages.
    pub fn with_max_requests(mut self, requests: usize) -> Self {
        self.max_requests = requests;
        self
    }

    /// Sets the bytes after which a [`FileStream`](crate::FileStream) reads no further ahead; with a
    /// cache it reads up to two segments more. Default: [`DEFAULT_READ_AHEAD_BYTES`].
    pub fn with_read_ahead(mut self, bytes: usize) -> Self {
        self.read_ahead_bytes = bytes;
        self
    }

    /// Keeps what is read in `folder`, in segments of 4 MiB, up to `budget_bytes`. Default: no
    /// cache.
    ///
    /// Only files with a strong validator are kept, so an entry is never stale. Several processes
    /// may share the folder; each may exceed the budget by a sixteenth for a moment. Of files
    /// that are kept whole segments are requested, which pays when data is read more than once.
    ///
    /// Files in the folder that the cache has not made are left alone.
    pub fn with_cache(mut self, folder: impl Into<PathBuf>, budget_bytes: u64) -> Self {
        self.cache = Some((folder.into(), budget_bytes));
        self
    }

    /// Adds a header to every request to `host`, and to no other host. Requests of object stores have none.
    pub fn with_header(
        mut self,
        host: impl Into<String>,
        name: impl Into<String>,
        value: impl Into<String>,
    ) -> Self {
        self.headers.push((host.into(), name.into(), value.into()));
        self
    }

    /// Sets an option of the object stores, by the name of its environment variable, such as
    /// `AWS_ENDPOINT_URL`, `GOOGLE_SERVICE_ACCOUNT` or `AZURE_STORAGE_ACCOUNT_NAME`.
    pub fn with_store_option(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.store_options.push((name.into(), value.into()));
        self
    }

    /// Takes settings from the environment: `HF_ENDPOINT`, `HF_TOKEN`, `HF_TOKEN_PATH`, `HF_HOME`
    /// (else `$XDG_CACHE_HOME/huggingface`, else `~/.cache/huggingface`), the variables of the
    /// object stores (`AWS_*`, `GOOGLE_*`, `AZURE_*`), else the profile of AWS
    /// (`AWS_PROFILE`), the proxies of the system, and `KATO_PRIVATE_REDIRECTS` (`always` or `never`; see
    /// [`with_private_redirects`](Self::with_private_redirects)).
    ///
    /// A setting made after this call replaces the one from the environment.
    pub fn with_env(mut self) -> Self {
        // An empty variable counts as one that is not set.
        let read = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        if let Some(endpoint) = read("HF_ENDPOINT") {
            self.hub_endpoint = endpoint;
        }
        if let Some(token) = read("HF_TOKEN") {
            self.hub_token = Some(token);
        }
        if let Some(path) = read("HF_TOKEN_PATH") {
            self.token_file = Some(path.into());
        }
        match read(PRIVATE_REDIRECTS).as_deref() {
            Some("always") => self.private_redirects = Ok(PrivateRedirects::Always),
            Some("never") => self.private_redirects = Ok(PrivateRedirects::Never),
            Some(other) => self.private_redirects = Err(other.to_owned()),
            None => {}
        }
        let home = std::env::home_dir().filter(|home| !home.as_os_str().is_empty());
        let in_home = |name: &str| Some(home.as_ref()?.join(name));
        let hub_home = read("HF_HOME").map(PathBuf::from).or_else(|| {
            let cache = read("XDG_CACHE_HOME").map(PathBuf::from);
            let cache = cache.or_else(|| in_home(".cache"));
            cache.map(|cache| cache.join("huggingface"))
        });
        if hub_home.is_some() {
            self.hub_home = hub_home;
        }
        let ours = std::env::vars_os().filter_map(|(name, value)| {
            // Options are text: a variable that is not UTF-8 cannot be one.
            let (name, value) = (name.into_string().ok()?, value.into_string().ok()?);
            let known = ["AWS_", "GOOGLE_", "AZURE_"];
            let is_known = known.iter().any(|prefix| name.starts_with(prefix));
            (is_known && !value.is_empty()).then_some((name, value))
        });
        // A variable comes before the profile, and in that before a key of another one.
        let ours: Vec<(String, String)> = ours.collect();
        if !ours.iter().any(|(name, _)| name == "AWS_ACCESS_KEY_ID") {
            self.store_options
                .extend(aws_profile::options(read, in_home(".aws").as_deref()));
        }
        self.store_options.extend(ours);
        self.system_proxies = true;
        self
    }

    /// Builds the fetcher and starts the threads that carry out its requests; sends no request yet.
    ///
    /// # Errors
    ///
    /// [`FetchError::InvalidSetting`], naming it; [`FetchError::Cache`] if the cache's folder
    /// cannot be made; [`FetchError::Runtime`] if threads cannot be started.
    pub fn build(self) -> Result<Fetcher, FetchError> {
        let endpoint = endpoint(&self.hub_endpoint)?;
        let token = self.token()?;
        let headers = self.headers()?;
        let private_redirects = self.private_redirects.clone().map_err(|value| {
            let reason = format!("`{value}` is neither always nor never");
            setting(PRIVATE_REDIRECTS, reason)
        })?;
        at_least_one("with_max_requests", self.max_requests)?;
        at_least_one("with_retry", self.retry.attempts as usize)?;
        let cache = match &self.cache {
            Some((folder, budget)) => {
                let cache = Cache::open(folder, *budget).map_err(|source| FetchError::Cache {
                    path: folder.display().to_string(),
                    source,
                })?;
                Some(Arc::new(cache))
            }
            None => None,
        };
        let behind_proxy = self.system_proxies && has_proxy();
        let tls = tls::client_config()?;
        let http = self.http(tls.clone());
        let guarded = |least| {
            let http = self.http(tls.clone());
            let http = match behind_proxy {
                // There the resolver would judge the proxy.
                true => http,
                false => http.dns_resolver(AtLeast(least)),
            };
            let built = http.build().map_err(|error| not_built(&error))?;
            Ok::<_, FetchError>((least, built))
        };
        let client = Arc::new(Client {
            guarded: [
                guarded(Reach::Machine)?,
                guarded(Reach::Network)?,
                guarded(Reach::Public)?,
            ],
            http: http.build().map_err(|error| not_built(&error))?,
            private_redirects,
            behind_proxy,
            limits: self.limits,
            servers: KnownServers::default(),
            backoff: Backoff::new(self.retry, random_seed()),
            counters: Arc::new(Counters::default()),
            // `Semaphore::new` panics above its own limit.
            permits: Semaphore::new(self.max_requests.min(Semaphore::MAX_PERMITS)),
            timeouts: self.timeouts,
            endpoint,
            token,
            headers,
        });
        // Options are applied in order, so those set after `with_env` win over those of the
        // environment.
        let stores = Stores::new(Arc::clone(&client), self.store_options);
        Ok(Fetcher::new(
            // Last of all, so that a setting that cannot work starts no threads.
            Runtime::start()?,
            client,
            stores,
            cache,
            self.read_ahead_bytes,
        ))
    }

    /// Configures an HTTP client, which neither follows redirects nor repeats requests by itself.
    fn http(&self, tls: rustls::ClientConfig) -> reqwest::ClientBuilder {
        let mut builder = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .connect_timeout(self.timeouts.connect)
            .pool_max_idle_per_host(self.max_requests)
            // `Client::follow` follows them: it decides for every hop which secrets the request may
            // carry.
            .redirect(reqwest::redirect::Policy::none())
            // `Attempts` decides whether to try again, because it knows what has arrived already.
            .retry(reqwest::retry::never())
            .http1_only()
            // What other clients bear as well: odd headers say nothing of the bytes.
            .http1_allow_obsolete_multiline_headers_in_responses(true)
            .http1_allow_spaces_after_header_name_in_responses(true)
            .http1_ignore_invalid_headers_in_responses(true)
            .tcp_nodelay(true)
            .user_agent(concat!("kato-fetch/", env!("CARGO_PKG_VERSION")));
        if !self.system_proxies {
            // Otherwise reqwest reads the variables of proxies, which nobody has asked for.
            builder = builder.no_proxy();
        }
        builder
    }

    /// Returns the `Authorization` header for the Hub: the token that was set, else that of the
    /// token file, else that of the Hub's home folder.
    fn token(&self) -> Result<Option<HeaderValue>, FetchError> {
        let in_home = self.hub_home.as_ref().map(|home| home.join("token"));
        let token = match (&self.hub_token, self.token_file.clone().or(in_home)) {
            (Some(token), _) => token.clone(),
            // A user who has not logged in has no such file; public datasets can be read without a
            // token.
            (None, Some(file)) => fs::read_to_string(file).unwrap_or_default(),
            (None, None) => return Ok(None),
        };
        // A file may end with a line break, which a header cannot hold.
        let token = token.trim();
        if token.is_empty() {
            return Ok(None);
        }
        let mut value = HeaderValue::from_str(&format!("Bearer {token}"))
            .map_err(|_| setting("with_hub_token", "it holds characters that no token has"))?;
        // The value stays out of the `Debug` text of headers.
        value.set_sensitive(true);
        Ok(Some(value))
    }

    /// Checks the extra headers, and keeps their values out of `Debug` texts.
    fn headers(&self) -> Result<Vec<(String, HeaderName, HeaderValue)>, FetchError> {
        let header = |(host, name, value): &(String, String, String)| {
            let bad = || {
                setting(
                    "with_header",
                    format!("`{name}` is no header that HTTP allows"),
                )
            };
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?;
            let mut value = HeaderValue::from_str(value).map_err(|_| bad())?;
            value.set_sensitive(true);
            Ok((host.clone(), name, value))
        };
        self.headers.iter().map(header).collect()
    }
}

impl fmt::Debug for FetcherBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FetcherBuilder")
            .field("hub_endpoint", &without_secrets(&self.hub_endpoint))
            // Headers and options of stores are left out: they may hold secrets, as the token does.
            .field("has_token", &self.hub_token.is_some())
            .field("hub_home", &self.hub_home)
            .field("retry", &self.retry)
            .field("timeouts", &self.timeouts)
            .field("limits", &self.limits)
            .field("max_requests", &self.max_requests)
            .field("cache", &self.cache)
            .finish_non_exhaustive()
    }
}

/// Returns the error for an HTTP client that cannot be built.
fn not_built(error: &reqwest::Error) -> FetchError {
    setting("build", error.to_string())
}

/// Returns whether the environment names a proxy.
fn has_proxy() -> bool {
    let names = ["http_proxy", "https_proxy", "all_proxy"];
    names.iter().any(|name| {
        [(*name).to_owned(), name.to_ascii_uppercase()]
            .iter()
            .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
    })
}

/// Parses the Hub's endpoint, which must be a URL of HTTP.
fn endpoint(text: &str) -> Result<Url, FetchError> {
    let url = Url::parse(text.trim_end_matches('/'))
        .map_err(|error| setting("with_hub_endpoint", error.to_string()))?;
    if matches!(url.scheme(), "http" | "https") {
        Ok(url)
    } else {
        Err(setting(
            "with_hub_endpoint",
            "it is no http:// or https:// URL",
        ))
    }
}

/// Fails if `value`, set by the builder's method `name`, is zero.
fn at_least_one(name: &'static str, value: usize) -> Result<(), FetchError> {
    if value == 0 {
        return Err(setting(name, "there must be at least 1"));
    }
    Ok(())
}

/// Returns the error for a setting that cannot work.
fn setting(setting: &'static str, reason: impl Into<String>) -> FetchError {
    FetchError::InvalidSetting {
        setting,
        reason: reason.into(),
    }
}
