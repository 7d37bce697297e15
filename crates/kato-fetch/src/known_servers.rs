//! Servers that are known to answer: their silence may pass, that of others is the answer.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use url::Url;

use crate::FetchError;
use crate::location::redacted;

/// Servers that are remembered; a fetcher asks few.
const MAX_SERVERS: usize = 1000;

/// Origins that have sent something of use. Clones are one and the same.
#[derive(Debug, Clone, Default)]
pub(crate) struct KnownServers(Arc<Mutex<HashSet<String>>>);

impl KnownServers {
    /// Remembers that a server answers.
    pub(crate) fn heard_of(&self, url: &Url) {
        let mut servers = self.servers();
        if servers.len() < MAX_SERVERS {
            servers.insert(origin(url));
        }
    }

    /// Returns how long the head of an answer is waited for, where a silence may last for `idle`.
    pub(crate) fn time_to_answer(&self, url: &Url, idle: Duration) -> Duration {
        match self.knows(url) {
            true => idle,
            // There is no reason yet to believe that it ever will.
            false => idle * 2 / 3,
        }
    }

    /// Returns the error for a server that was silent for too long.
    pub(crate) fn silence(&self, url: &Url, waited: Duration) -> FetchError {
        let shown = redacted(url);
        match self.knows(url) {
            true => FetchError::Timeout {
                url: shown,
                waited,
                attempts: 1,
            },
            false => FetchError::Silent { url: shown, waited },
        }
    }

    /// Returns whether a server has sent something of use.
    fn knows(&self, url: &Url) -> bool {
        self.servers().contains(&origin(url))
    }

    /// Locks the servers. A name is added as a whole, or not at all.
    fn servers(&self) -> MutexGuard<'_, HashSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns scheme, host and port.
fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}
