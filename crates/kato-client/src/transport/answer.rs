//! From an HTTP answer, or the lack of one, to what it means for the request.

use std::time::{Duration, SystemTime};

use kato_protocol::ErrorBody;
use kato_protocol::error::ValidationDetail;
use kato_protocol::extension::IDEMPOTENCY_REPLAYED;
use kato_retry::retry_after;
use reqwest::header::RETRY_AFTER;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::gist::gist;
use crate::ClientError;
use crate::call::Call;
use crate::error::is_doubtful_status;

/// Most bytes of a refusal that are read.
const KEPT_REFUSAL: usize = 64 << 10;

/// An answer of success.
#[derive(Debug)]
pub(crate) struct Answer<T> {
    pub(crate) value: T,
    /// Whether the server had carried the request out before and answers again.
    pub(crate) replayed: bool,
}

/// What a failure says about the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// It certainly did not act and may be sent again.
    NotDone,
    /// It may have acted, or may still act.
    Doubtful,
    /// It certainly did not act, and would fail again.
    Refused,
    /// It did not act: there is no such session.
    SessionGone,
}

/// A request that failed.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) meaning: Meaning,
    pub(crate) error: ClientError,
    pub(crate) status: Option<u16>,
    pub(crate) retry_after: Option<Duration>,
    /// Whether it would fail again in the same way.
    is_final: bool,
}

impl Failure {
    /// Creates a failure.
    fn new(meaning: Meaning, error: ClientError) -> Self {
        Self {
            meaning,
            error,
            status: None,
            retry_after: None,
            is_final: false,
        }
    }

    /// Marks a failure that would happen again.
    fn permanent(self) -> Self {
        Self {
            is_final: true,
            ..self
        }
    }

    /// Returns whether the same request may succeed later. A plain 500 is the server's own failure
    /// and stays one.
    pub(crate) fn is_transient(&self) -> bool {
        match self.meaning {
            Meaning::NotDone => true,
            Meaning::Doubtful => !self.is_final && !matches!(self.status, Some(500 | 501)),
            Meaning::Refused | Meaning::SessionGone => false,
        }
    }
}

impl From<Failure> for ClientError {
    fn from(failure: Failure) -> Self {
        failure.error
    }
}

/// Interprets a request without an answer.
pub(crate) fn not_answered(call: &Call, error: reqwest::Error) -> Failure {
    let (method, path) = (call.method_name(), call.path());
    // The address may hold credentials.
    let error = error.without_url();
    // The only failures before anything was sent. Everything else may have reached the server.
    if error.is_connect() || error.is_builder() {
        return Failure::new(
            Meaning::NotDone,
            ClientError::Connect {
                method,
                path,
                source: Box::new(error),
            },
        );
    }
    let error = if error.is_timeout() {
        ClientError::Timeout { method, path }
    } else {
        ClientError::Interrupted {
            method,
            path,
            source: Box::new(error),
        }
    };
    Failure::new(Meaning::Doubtful, error)
}

/// Reads the whole answer, if it has no more bytes than it may.
pub(crate) async fn read<T: DeserializeOwned>(
    call: &Call,
    mut response: reqwest::Response,
    max_bytes: usize,
) -> Result<Answer<T>, Failure> {
    let status = response.status().as_u16();
    let header = |name: &str| response.headers().get(name)?.to_str().ok();
    let replayed = header(IDEMPOTENCY_REPLAYED) == Some("true");
    let asked = header(RETRY_AFTER.as_str()).and_then(|text| retry_after(text, SystemTime::now()));
    // Nobody needs more of a refusal than its reason.
    let limit = if status < 400 {
        max_bytes
    } else {
        KEPT_REFUSAL
    };
    let mut body = Vec::new();
    loop {
        match response.chunk().await {
            Ok(None) => break,
            Ok(Some(chunk)) if body.len() + chunk.len() <= limit => body.extend_from_slice(&chunk),
            // The status says all that matters: a refusal is one, whether or not its text is
            // complete.
            Ok(Some(_)) | Err(_) if status >= 400 => break,
            Ok(Some(_)) => {
                let (method, path) = (call.method_name(), call.path());
                let error = ClientError::TooLong {
                    method,
                    path,
                    limit,
                };
                // The request has succeeded, and a repetition would have as long an answer.
                return Err(Failure::new(Meaning::Doubtful, error).permanent());
            }
            Err(error) => {
                // The head of the answer is here, so the request has acted or will, whatever kind
                // of error this is.
                let mut failure = not_answered(call, error);
                failure.meaning = Meaning::Doubtful;
                return Err(failure);
            }
        }
    }
    if !(200..300).contains(&status) {
        let mut failure = refusal(call, status, &body);
        failure.status = Some(status);
        failure.retry_after = asked;
        return Err(failure);
    }
    // An answer of success that cannot be read is no sign that the request did not act.
    serde_json::from_slice(&body)
        .map(|value| Answer { value, replayed })
        .map_err(|error| {
            let (method, path) = (call.method_name(), call.path());
            let error = match body.is_empty() {
                true => ClientError::Empty { method, path },
                false => ClientError::Decode {
                    method,
                    path,
                    source: error.into(),
                },
            };
            Failure::new(Meaning::Doubtful, error)
        })
}

/// Maps a status to its failure; nothing else does.
fn refusal(call: &Call, status: u16, body: &[u8]) -> Failure {
    let (method, path) = (call.method_name(), call.path());
    let body = String::from_utf8_lossy(body);
    let detail = match serde_json::from_str(&body) {
        // One of KATO's two forms of an unknown session; the other one is a detail, below.
        Ok(ErrorBody::Session { error }) if error.code == "SESSION_NOT_FOUND" => {
            return Failure::new(
                Meaning::SessionGone,
                ClientError::SessionNotFound {
                    session_id: error.session_id,
                },
            );
        }
        Ok(ErrorBody::Session { error }) => error.message,
        Ok(ErrorBody::Detail { detail }) => {
            // FastAPI's list of faults. Kato-rs servers of older builds have texts with this status.
            if status == 422
                && let Ok(details) = serde_json::from_value::<Vec<ValidationDetail>>(detail.clone())
            {
                return Failure::new(
                    Meaning::Refused,
                    ClientError::Validation {
                        status,
                        method,
                        path,
                        details,
                    },
                );
            }
            if let Some(details) = refused_settings(status, &detail) {
                return Failure::new(
                    Meaning::Refused,
                    ClientError::Validation {
                        status,
                        method,
                        path,
                        details,
                    },
                );
            }
            if let Some(session_id) = missing_session(status, &detail) {
                return Failure::new(
                    Meaning::SessionGone,
                    ClientError::SessionNotFound { session_id },
                );
            }
            match detail {
                Value::String(text) => text,
                other => other.to_string(),
            }
        }
        Err(_) => body.into_owned(),
    };
    let meaning = match status {
        // A limit of the rate is applied before the request is looked at.
        429 => Meaning::NotDone,
        status if is_doubtful_status(status) => Meaning::Doubtful,
        _ => Meaning::Refused,
    };
    let error = ClientError::Status {
        status,
        method,
        path,
        detail: gist(&detail),
    };
    Failure::new(meaning, error)
}

/// Returns what is wrong with each setting of a session, where a refusal says that: status 400, with a text
/// for each key.
fn refused_settings(status: u16, detail: &Value) -> Option<Vec<ValidationDetail>> {
    let faults = detail.get("validation_errors")?.as_object()?;
    let fault = |(key, text): (&String, &Value)| ValidationDetail {
        kind: "value_error".to_owned(),
        loc: vec!["body".into(), "config".into(), key.as_str().into()],
        msg: text
            .as_str()
            .map_or_else(|| text.to_string(), str::to_owned),
        input: Value::Null,
        ctx: None,
    };
    (status == 400 && !faults.is_empty()).then(|| faults.iter().map(fault).collect())
}

/// Returns the session id of the other form of an unknown session: `Session X not found or
/// expired`.
fn missing_session(status: u16, detail: &Value) -> Option<String> {
    if status != 404 {
        return None;
    }
    let id = detail
        .as_str()?
        .strip_prefix("Session ")?
        .strip_suffix(" not found or expired")?;
    Some(id.to_owned())
}
