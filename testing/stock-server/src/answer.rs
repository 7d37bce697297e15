//! Answers, in KATO's shapes.

use serde::Serialize;
use serde_json::{Value, json};

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) content_type: &'static str,
    pub(crate) body: Vec<u8>,
    /// The connection is closed after it.
    pub(crate) closes: bool,
    /// It begins, and then never ends.
    pub(crate) endless: bool,
}

impl Answer {
    pub(crate) fn json(status: u16, body: &impl Serialize) -> Self {
        let body = serde_json::to_vec(body).expect("answers are made of text and finite numbers");
        Self {
            status,
            headers: Vec::new(),
            content_type: "application/json",
            body,
            closes: false,
            endless: false,
        }
    }

    pub(crate) fn okay(body: &impl Serialize) -> Self {
        Self::json(200, body)
    }

    pub(crate) fn detail(status: u16, detail: &str) -> Self {
        Self::json(status, &json!({ "detail": detail }))
    }

    pub(crate) fn not_found() -> Self {
        Self::detail(404, "Not Found")
    }

    /// The session is gone, as the layer before the endpoints says it.
    pub(crate) fn session_gone(id: &str) -> Self {
        let message = format!("Session {id} not found or expired");
        let error = json!({"code": "SESSION_NOT_FOUND", "message": message, "session_id": id});
        Self::json(404, &json!({ "error": error }))
    }

    /// What the client sent is not valid.
    pub(crate) fn invalid(details: &[Value]) -> Self {
        Self::json(422, &json!({ "detail": details }))
    }

    /// An error that nobody caught.
    pub(crate) fn crash() -> Self {
        Self {
            content_type: "text/plain; charset=utf-8",
            body: b"Internal Server Error".to_vec(),
            closes: true,
            ..Self::json(500, &())
        }
    }

    pub(crate) fn busy(retry_after: u64) -> Self {
        let mut busy = Self::json(503, &());
        busy.content_type = "text/plain; charset=utf-8";
        busy.body = b"Service Unavailable".to_vec();
        busy.with("retry-after", retry_after.to_string())
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}
