//! The settings of an analysis.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::HardwareAnalyzer;
use crate::step::StepEvent;
use crate::{Cancellation, HardwareError};

/// Schemes of the address of a MongoDB.
const MONGODB: [&str; 2] = ["mongodb", "mongodb+srv"];
/// Schemes of the address of a server.
const KATO: [&str; 2] = ["http", "https"];

type Listener = Arc<dyn Fn(StepEvent) + Send + Sync>;

/// Settings of an analysis, made by [`HardwareAnalyzer::builder`].
#[derive(Clone)]
pub struct HardwareAnalyzerBuilder {
    pub(super) directory: PathBuf,
    pub(super) is_quick: bool,
    pub(super) time_limit: Option<Duration>,
    pub(super) mongodb: Option<String>,
    pub(super) kato: Option<String>,
    pub(super) gpu_tools: Option<PathBuf>,
    pub(super) seed: u64,
    pub(super) cancellation: Cancellation,
    pub(super) on_step: Option<Listener>,
}

impl Default for HardwareAnalyzerBuilder {
    fn default() -> Self {
        Self {
            directory: PathBuf::from("."),
            is_quick: false,
            time_limit: None,
            mongodb: None,
            kato: None,
            gpu_tools: None,
            seed: 1,
            cancellation: Cancellation::new(),
            on_step: None,
        }
    }
}

impl fmt::Debug for HardwareAnalyzerBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Addresses may hold passwords, so only whether there is one is shown.
        f.debug_struct("HardwareAnalyzerBuilder")
            .field("directory", &self.directory)
            .field("is_quick", &self.is_quick)
            .field("time_limit", &self.time_limit)
            .field("mongodb", &self.mongodb.as_ref().map(|_| ".."))
            .field("kato", &self.kato.as_ref().map(|_| ".."))
            .field("seed", &self.seed)
            .finish_non_exhaustive()
    }
}

impl HardwareAnalyzerBuilder {
    /// Sets the directory that data will be written to, in which the disk and the embedded store
    /// are measured. Default: the current one.
    #[must_use]
    pub fn with_directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = directory.into();
        self
    }

    /// Sets whether the analysis takes less than ten seconds instead of less than sixty, where no time
    /// limit is set. Figures then spread more, and the file is smaller. Default: not.
    #[must_use]
    pub fn with_quick(mut self, is_quick: bool) -> Self {
        self.is_quick = is_quick;
        self
    }

    /// Sets the longest time that the analysis may take, from one second to an hour. Default: 55
    /// seconds, or 9 for a quick one.
    #[must_use]
    pub fn with_time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = Some(limit);
        self
    }

    /// Sets the MongoDB to measure, `mongodb://…`. Default: none. Needs the feature `mongodb`.
    #[must_use]
    pub fn with_mongodb(mut self, uri: impl Into<String>) -> Self {
        self.mongodb = Some(uri.into());
        self
    }

    /// Sets the KATO server to measure, `http://host:port`. Default: none. Needs the feature
    /// `kato`.
    #[must_use]
    pub fn with_kato(mut self, url: impl Into<String>) -> Self {
        self.kato = Some(url.into());
        self
    }

    /// Sets the directory of the vendors' tools for graphics processors. Default: the system's
    /// search path.
    #[must_use]
    pub fn with_gpu_tools(mut self, directory: impl Into<PathBuf>) -> Self {
        self.gpu_tools = Some(directory.into());
        self
    }

    /// Sets the seed of texts, places and contents. Default 1.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Sets a handle that ends the analysis early. Default: none.
    #[must_use]
    pub fn with_cancellation(mut self, cancellation: Cancellation) -> Self {
        self.cancellation = cancellation;
        self
    }

    /// Sets a function that is called before and after each step, on the thread of
    /// [`analyze_full`](HardwareAnalyzer::analyze_full). Default: none.
    #[must_use]
    pub fn on_step(mut self, listener: impl Fn(StepEvent) + Send + Sync + 'static) -> Self {
        self.on_step = Some(Arc::new(listener));
        self
    }

    /// Checks the settings and builds the analyzer. Nothing is read or measured yet.
    ///
    /// # Errors
    ///
    /// [`HardwareError::OutOfRange`] for a time limit beyond its range, and for what is no address of a
    /// MongoDB or of a server.
    pub fn build(self) -> Result<HardwareAnalyzer, HardwareError> {
        let services = [
            (
                "`with_mongodb`",
                &self.mongodb,
                MONGODB,
                "mongodb://host:port",
            ),
            ("`with_kato`", &self.kato, KATO, "http://host:port"),
        ];
        for (setting, address, schemes, expected) in services {
            if address
                .as_deref()
                .is_some_and(|it| !is_address(it, schemes))
            {
                return Err(HardwareError::OutOfRange {
                    setting,
                    // Not shown, as it may hold a password.
                    given: "no address".to_owned(),
                    expected,
                });
            }
        }
        let range = Duration::from_secs(1)..=Duration::from_secs(3600);
        match self.time_limit {
            Some(limit) if !range.contains(&limit) => Err(HardwareError::OutOfRange {
                setting: "time_limit",
                given: format!("{} s", limit.as_secs_f64()),
                expected: "one second to an hour",
            }),
            _ => Ok(HardwareAnalyzer { settings: self }),
        }
    }
}

/// Returns whether a text is an address with one of some schemes and names a host, or several.
fn is_address(text: &str, schemes: [&str; 2]) -> bool {
    let Some((scheme, rest)) = text.split_once("://") else {
        return false;
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    // In front of an `@` stand a user and a password.
    let hosts = authority.rsplit('@').next().unwrap_or_default();
    schemes.contains(&scheme) && hosts.split(',').all(is_host)
}

/// Returns whether a text is a host with a port or without.
fn is_host(text: &str) -> bool {
    // The colons of an address of IPv6 stand in brackets.
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (text, None),
    };
    let is_port = |port: &str| port.parse::<u16>().is_ok_and(|port| port > 0);
    !host.is_empty() && !host.contains(char::is_whitespace) && port.is_none_or(is_port)
}
