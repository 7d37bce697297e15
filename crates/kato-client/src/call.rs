//! One request as a value, so that it can be sent more than once.

use std::time::Duration;

use hyper::Method;
use serde::Serialize;

use crate::ClientError;
use crate::address::{Address, Target};
use crate::calls::CallKind;

/// A request that can be sent any number of times.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) kind: CallKind,
    pub(crate) method: Method,
    pub(crate) target: Target,
    pub(crate) body: Option<Vec<u8>>,
    pub(crate) key: Option<String>,
    /// A time-out below the client's own, for requests that may be given up.
    pub(crate) timeout: Option<Duration>,
    /// Most bytes of the answer, where that is below the client's own limit.
    pub(crate) max_bytes: Option<usize>,
    /// Whether the answer is a list with an item on each line.
    pub(crate) has_lines: bool,
    /// Whether it was sent before: then it counts as a retry.
    pub(crate) repeated: bool,
}

impl Call {
    /// Creates a request for a path below the server's address.
    pub(crate) fn new(kind: CallKind, method: Method, base: &Address, path: &[&str]) -> Self {
        Self {
            kind,
            method,
            target: base.below(path),
            body: None,
            key: None,
            timeout: None,
            max_bytes: None,
            has_lines: false,
            repeated: false,
        }
    }

    /// Sets the body, as JSON.
    pub(crate) fn json<T: Serialize>(mut self, body: &T) -> Result<Self, ClientError> {
        let body = serde_json::to_vec(body).map_err(|error| ClientError::Config {
            field: "body",
            reason: error.to_string(),
        })?;
        self.body = Some(body);
        Ok(self)
    }

    /// Adds a parameter of the query.
    pub(crate) fn query(mut self, name: &str, value: &str) -> Self {
        self.target.push_query(name, value);
        self
    }

    /// Reads the lines of the answer as a list.
    pub(crate) const fn lines(mut self) -> Self {
        self.has_lines = true;
        self
    }

    /// Sets the idempotency key.
    pub(crate) fn key(mut self, key: &str) -> Self {
        self.key = Some(key.to_owned());
        self
    }

    /// Sets a time-out below the client's own.
    pub(crate) const fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Returns the method for errors.
    pub(crate) fn method_name(&self) -> &'static str {
        match self.method {
            Method::GET => "GET",
            Method::DELETE => "DELETE",
            Method::PUT => "PUT",
            _ => "POST",
        }
    }

    /// Returns the path for errors, without the query.
    pub(crate) fn path(&self) -> String {
        self.target.to_string()
    }
}
