//! Answers before they become HTTP.

use std::pin::Pin;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use kato_model::KatoGeneration;
use kato_protocol::ErrorBody;
use kato_protocol::error::FailureBody;
use kato_protocol::extension::IDEMPOTENCY_REPLAYED;
use serde::Serialize;
use serde_json::Value;

use crate::compat::failure;
use crate::lines::Lines;
use crate::refusal::Refusal;
use crate::resources::{RequestResources, until_sent};

/// The result of a handler.
pub(crate) enum Answer {
    /// The answer is complete.
    Now(Reply),
    /// The request has been carried out, and its answer is complete once it is as durable as it has
    /// to be.
    Later(Pin<Box<dyn Future<Output = Reply> + Send>>),
    /// The answer is made while it is sent.
    Lines(Lines),
}

/// The return type of handlers.
pub(crate) type Outcome = Result<Answer, Refusal>;

/// One answer.
#[derive(Debug)]
pub(crate) struct Reply {
    status: StatusCode,
    content_type: Option<&'static str>,
    body: Bytes,
    headers: Vec<(HeaderName, HeaderValue)>,
    cause: Option<Cause>,
    /// What the detail of a failure says, for generations in which failures have codes.
    failure: Option<Value>,
}

/// The reason why a request failed, for the log alone; travels with the answer until that line is
/// written.
#[derive(Debug, Clone)]
pub(crate) struct Cause(pub(crate) String);

impl Reply {
    /// Creates a JSON answer with status 200.
    pub(crate) fn ok<T: Serialize + ?Sized>(value: &T) -> Self {
        Self::json(StatusCode::OK, value)
    }

    /// Creates a JSON answer.
    pub(crate) fn json<T: Serialize + ?Sized>(status: StatusCode, value: &T) -> Self {
        let body =
            serde_json::to_vec(value).expect("answers have string keys and no failing parts");
        Self::new(status, Some("application/json"), body)
    }

    /// Creates an answer of plain text.
    pub(crate) fn text(status: StatusCode, text: impl Into<Bytes>) -> Self {
        Self::new(status, Some("text/plain; charset=utf-8"), text)
    }

    /// Creates an answer without a body.
    pub(crate) fn empty(status: StatusCode) -> Self {
        Self::new(status, None, Bytes::new())
    }

    /// Creates an answer.
    pub(crate) fn new(
        status: StatusCode,
        content_type: Option<&'static str>,
        body: impl Into<Bytes>,
    ) -> Self {
        Self {
            status,
            content_type,
            body: body.into(),
            headers: Vec::new(),
            cause: None,
            failure: None,
        }
    }

    /// Creates the answer to a request that is refused for a reason.
    pub(crate) fn refused(status: StatusCode, detail: Value) -> Self {
        // What clients do wrong has one form in all generations.
        let failure = status.is_server_error().then(|| detail.clone());
        Self {
            failure,
            ..Self::json(status, &ErrorBody::Detail { detail })
        }
    }

    /// Returns the answer in the form that a generation gives it.
    pub(crate) fn in_form_of(mut self, generation: KatoGeneration) -> Self {
        if let Some(said) = self.failure.take()
            && generation.failures_have_codes()
        {
            let error = failure::of_status(self.status, &said);
            let body = serde_json::to_vec(&FailureBody { error });
            self.body = body.expect("failures are plain data").into();
        }
        self
    }

    /// Returns the status.
    pub(crate) const fn status(&self) -> StatusCode {
        self.status
    }

    /// Returns the detail of a refusal as one text.
    pub(crate) fn detail(&self) -> String {
        let body: Value = serde_json::from_slice(&self.body).unwrap_or_default();
        match &body["detail"] {
            Value::Null => body.to_string(),
            Value::String(detail) => detail.clone(),
            detail => detail.to_string(),
        }
    }

    /// Takes the cause of a failure, for the log.
    pub(crate) fn take_cause(&mut self) -> Option<Cause> {
        self.cause.take()
    }

    /// Returns the bytes of the body.
    pub(crate) fn len(&self) -> usize {
        self.body.len()
    }

    /// Adds a header.
    pub(crate) fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// Adds the cause of a failure, for the log.
    pub(crate) fn with_cause(mut self, cause: String) -> Self {
        self.cause = Some(Cause(cause));
        self
    }

    /// Marks the answer to a request that had been carried out before.
    pub(crate) fn replayed(self, replayed: bool) -> Self {
        if replayed {
            let name = HeaderName::from_static(IDEMPOTENCY_REPLAYED);
            self.with_header(name, HeaderValue::from_static("true"))
        } else {
            self
        }
    }

    /// Converts the answer to HTTP, without its body if the request's method asks for the headers
    /// alone. What the request holds is returned when the body has been sent.
    pub(crate) fn into_response(
        self,
        head_only: bool,
        resources: Option<&Arc<RequestResources>>,
    ) -> Response {
        let length = HeaderValue::from(self.body.len());
        let body = match resources {
            _ if head_only || self.body.is_empty() => Body::empty(),
            // The connection owns body and resources from here on, so a client that reads slowly
            // keeps its place among the requests.
            Some(resources) => Body::from(until_sent(self.body, Arc::clone(resources))),
            None => Body::from(self.body),
        };
        let mut response = Response::new(body);
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        // hyper derives the length from the body, and here there is none: HEAD tells what GET would
        // send.
        if head_only {
            headers.insert(header::CONTENT_LENGTH, length);
        }
        if let Some(kind) = self.content_type {
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
        }
        headers.extend(self.headers);
        if let Some(cause) = self.cause {
            response.extensions_mut().insert(cause);
        }
        response
    }
}

impl From<Reply> for Answer {
    fn from(reply: Reply) -> Self {
        Self::Now(reply)
    }
}
