//! One request as handlers see it.

use std::sync::Arc;

use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode};
use kato_prediction::Cancel;
use serde::Serialize;

use crate::held::Held;
use crate::query;
use crate::refusal::Refusal;
use crate::reply::{Outcome, Reply};

/// A request whose route is known.
#[derive(Debug)]
pub(crate) struct Call {
    /// Values of the path's parameters, decoded, in order.
    pub(crate) params: Vec<String>,
    pub(crate) query: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// The key that makes a repetition harmless, if the server honours keys.
    pub(crate) key: Option<String>,
    /// Ends a prediction when nobody waits for it any more.
    pub(crate) cancel: Cancel,
    /// Kept while the request is worked on, whether or not somebody still waits for it.
    pub(crate) held: Arc<Held>,
}

impl Call {
    /// The path's only parameter.
    pub(crate) fn param(&self) -> &str {
        self.params.first().map_or("", String::as_str)
    }

    pub(crate) fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// Answers something that may be large and may have no JSON form; there is a bound to what all such answers take.
    pub(crate) fn written<T: Serialize>(&self, answer: &T) -> Outcome {
        let body = self.held.write(answer);
        let body = body.map_err(|error| Refusal::unwritable(&error))??;
        Ok(Reply::new(StatusCode::OK, Some("application/json"), body).into())
    }

    /// The node that an endpoint outside of sessions speaks of.
    pub(crate) fn node_id(&self) -> String {
        let header = |name| self.header(name).filter(|value| !value.is_empty());
        if let Some(node_id) = query::parameter(&self.query, "node_id").filter(|id| !id.is_empty())
        {
            return node_id;
        }
        if let Some(test_id) = header("x-test-id") {
            return if test_id.starts_with("test_") {
                test_id.to_owned()
            } else {
                format!("test_{test_id}")
            };
        }
        header("x-node-id").unwrap_or("default_node").to_owned()
    }
}
