//! Answers, in the shapes of KATO and its framework.

use serde::Serialize;
use serde_json::{Value, json};

/// Answer before it is written.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) content_type: &'static str,
    pub(crate) body: Vec<u8>,
    /// Whether the connection is closed after it.
    pub(crate) closes: bool,
    /// Whether it begins, and then never ends.
    pub(crate) endless: bool,
    /// Whether the connection ends in its place.
    pub(crate) is_missing: bool,
}

impl Answer {
    /// Creates an answer with a JSON body.
    pub(crate) fn json(status: u16, body: &impl Serialize) -> Self {
        let body = serde_json::to_vec(body).expect("answers are made of text and finite numbers");
        Self {
            status,
            headers: Vec::new(),
            content_type: "application/json",
            body,
            closes: false,
            endless: false,
            is_missing: false,
        }
    }

    /// Creates an answer with status 200.
    pub(crate) fn okay(body: &impl Serialize) -> Self {
        Self::json(200, body)
    }

    /// Creates an error that an endpoint declares, as FastAPI writes it.
    pub(crate) fn detail(status: u16, detail: &str) -> Self {
        Self::json(status, &json!({ "detail": detail }))
    }

    /// Creates the answer to an unknown path.
    pub(crate) fn not_found() -> Self {
        Self::detail(404, "Not Found")
    }

    /// Creates the answer to a request for a session that is gone, as the layer before the
    /// endpoints gives it.
    pub(crate) fn session_gone(id: &str) -> Self {
        let message = format!("Session {id} not found or expired");
        let error = json!({"code": "SESSION_NOT_FOUND", "message": message, "session_id": id});
        Self::json(404, &json!({ "error": error }))
    }

    /// Creates the answer to a request that is not valid.
    pub(crate) fn invalid(details: &[Value]) -> Self {
        Self::json(422, &json!({ "detail": details }))
    }

    /// Creates the answer to a request that ended in an error which nothing caught.
    pub(crate) fn crash() -> Self {
        Self {
            content_type: "text/plain; charset=utf-8",
            body: b"Internal Server Error".to_vec(),
            // As uvicorn does after an exception.
            closes: true,
            ..Self::json(500, &())
        }
    }

    /// Creates the answer of 6.3 to a request that ended in an error which nothing caught.
    pub(crate) fn failure(class: &str) -> Self {
        let error = json!({"code": "INTERNAL_ERROR", "message": "An unexpected error occurred", "details": {},
            "context": {"exception_type": class}});
        Self {
            closes: true,
            ..Self::json(500, &json!({ "error": error }))
        }
    }

    /// Creates the answer to a learn of a pattern that is retired.
    pub(crate) fn retired(name: &str) -> Self {
        let message = format!("Pattern {name} is retired; un-retire it to learn it again");
        let context = json!({ "pattern_name": name });
        Self::coded(
            409,
            "RetiredPatternError",
            "RETIRED_PATTERN",
            &message,
            &context,
        )
    }

    /// Creates the answer to a learn of patterns of which one is retired, and not named.
    pub(crate) fn retired_among_others() -> Self {
        let message = "The pattern is retired; un-retire it to learn it again";
        Self::coded(
            409,
            "RetiredPatternError",
            "RETIRED_PATTERN",
            message,
            &json!({}),
        )
    }

    /// Creates the answer of 6.3 whose database is away, and the time in seconds after which it may be back.
    pub(crate) fn unavailable(retry_after: u64) -> Self {
        let message = "The database does not answer";
        let unavailable = Self::coded(
            503,
            "StorageError",
            "STORAGE_UNAVAILABLE",
            message,
            &json!({}),
        );
        unavailable.with("retry-after", retry_after.to_string())
    }

    /// Creates an error of 6.3 that has a code.
    fn coded(status: u16, class: &str, code: &str, message: &str, context: &Value) -> Self {
        let error = json!({"type": class, "code": code, "message": message, "recoverable": true,
            "context": context, "timestamp": 1_790_000_000.0});
        Self::json(status, &json!({ "error": error }))
    }

    /// Creates the page of text of a server whose database is away.
    pub(crate) fn page() -> Self {
        let mut page = String::from(
            "Traceback (most recent call last):\n  File \"/usr/local/lib/python3.10/site-packages/uvicorn/protocols/http/httptools_impl.py\", line 409, in run_asgi\n",
        );
        for line in 0..40 {
            page += &format!("    result = await app(scope, receive, send)  # {line}\n");
        }
        page += "redis.exceptions.ConnectionError: Error 111 connecting to redis:6379. Connection refused.\n";
        Self {
            body: page.into_bytes(),
            ..Self::crash()
        }
    }

    /// Creates an answer of success with nothing in it.
    pub(crate) fn nothing() -> Self {
        Self {
            body: Vec::new(),
            ..Self::json(200, &())
        }
    }

    /// Creates the answer that does not come: the connection ends.
    pub(crate) fn silence() -> Self {
        Self {
            is_missing: true,
            ..Self::crash()
        }
    }

    /// Creates the answer of a server at its limit.
    pub(crate) fn busy(retry_after: u64) -> Self {
        let mut busy = Self::json(503, &());
        busy.content_type = "text/plain; charset=utf-8";
        busy.body = b"Service Unavailable".to_vec();
        busy.with("retry-after", retry_after.to_string())
    }

    /// Adds a header.
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}
