//! One request, as a value that can be sent more than once.

use std::time::Duration;

use reqwest::Method;
use serde::Serialize;
use url::Url;

use crate::{CallKind, ClientError};

#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) kind: CallKind,
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) body: Option<Vec<u8>>,
    pub(crate) key: Option<String>,
    /// Shorter than the client's own, for requests that may be given up.
    pub(crate) timeout: Option<Duration>,
    /// Bytes of the answer at most, where that is less than the client's own limit.
    pub(crate) max_bytes: Option<usize>,
    /// Sent once already: counts as a retry from now on.
    pub(crate) repeated: bool,
}

impl Call {
    pub(crate) fn new(kind: CallKind, method: Method, base: &Url, path: &[&str]) -> Self {
        let mut url = base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        Self {
            kind,
            method,
            url,
            body: None,
            key: None,
            timeout: None,
            max_bytes: None,
            repeated: false,
        }
    }

    pub(crate) fn json<T: Serialize>(mut self, body: &T) -> Result<Self, ClientError> {
        let body = serde_json::to_vec(body).map_err(|error| ClientError::Config {
            field: "body",
            reason: error.to_string(),
        })?;
        self.body = Some(body);
        Ok(self)
    }

    pub(crate) fn query(mut self, name: &str, value: &str) -> Self {
        self.url.query_pairs_mut().append_pair(name, value);
        self
    }

    pub(crate) fn key(mut self, key: &str) -> Self {
        self.key = Some(key.to_owned());
        self
    }

    pub(crate) const fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    pub(crate) fn method_name(&self) -> &'static str {
        match self.method {
            Method::GET => "GET",
            Method::DELETE => "DELETE",
            Method::PUT => "PUT",
            _ => "POST",
        }
    }

    pub(crate) fn path(&self) -> String {
        self.url.path().to_owned()
    }
}
