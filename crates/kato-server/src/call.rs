//! A request as handlers see it.

use std::sync::Arc;

use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode};
use kato_prediction::Cancel;
use kato_protocol::extension::IDEMPOTENCY_KEY;
use kato_service::ServiceError;
use serde::Serialize;

use crate::app::App;
use crate::compat::query;
use crate::refusal::Refusal;
use crate::reply::{Outcome, Reply};
use crate::resources::RequestResources;

/// A request whose route is known.
#[derive(Debug)]
pub(crate) struct Call {
    /// Values of the path's parameters, decoded, in order.
    pub(crate) params: Vec<String>,
    pub(crate) query: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// Cancels a prediction when nobody waits for its answer any more.
    pub(crate) cancel: Cancel,
    /// What the request holds, kept while it is worked on, whether or not anybody still waits for
    /// it.
    pub(crate) resources: Arc<RequestResources>,
}

impl Call {
    /// Returns the only parameter of the path.
    pub(crate) fn param(&self) -> &str {
        self.params.first().map_or("", String::as_str)
    }

    /// Returns the idempotency key, where the server honours keys. Only handlers that take one ask for it: to
    /// all others it is a header like any unknown one.
    ///
    /// # Errors
    ///
    /// A refusal of a key that is no text.
    pub(crate) fn key(&self, app: &App) -> Result<Option<&str>, Refusal> {
        let key = self.headers.get(IDEMPOTENCY_KEY);
        let Some(key) = key.filter(|_| app.options.extensions) else {
            return Ok(None);
        };
        let text = key.to_str();
        Ok(Some(text.map_err(|_| ServiceError::KeyInvalid)?))
    }

    /// Returns the value of a header, if it is text.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// Answers with a value that may be large and may have no JSON form; the memory that all such
    /// answers take is bounded.
    pub(crate) fn written<T: Serialize>(&self, answer: &T) -> Outcome {
        let body = self.resources.write(answer);
        let body = body.map_err(|error| Refusal::unwritable(&error))??;
        Ok(Reply::new(StatusCode::OK, Some("application/json"), body).into())
    }

    /// Returns the node that an endpoint outside of sessions works on.
    pub(crate) fn node_id(&self) -> String {
        // KATO's order: the query, the header of its test suite, the header of the node, the
        // default. A session that the request names has no part in it.
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
