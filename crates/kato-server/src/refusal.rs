//! Refusals: every way in which a request fails, as KATO says it.

use std::error::Error;

use axum::http::{HeaderValue, StatusCode, header};
use kato_engine::EngineError;
use kato_model::VectorError;
use kato_protocol::{ErrorBody, SessionError, ValidationDetail};
use kato_service::{ServiceError, StorageFailure};
use serde_json::{Value, json};

use crate::budget::Scarce;
use crate::held::NoRoom;
use crate::reply::{Answer, Reply};

/// Seconds after which a client may try again when there was too much to do.
const RETRY_SOON: u64 = 1;

/// Seconds after which a client may try again when the server goes down.
const RETRY_LATER: u64 = 5;

/// A refusal, small enough to be an error.
#[derive(Debug)]
pub(crate) struct Refusal(Box<Reply>);

impl Refusal {
    pub(crate) fn new(status: StatusCode, detail: impl Into<Value>) -> Self {
        let detail = detail.into();
        Reply::json(status, &ErrorBody::Detail { detail }).into()
    }

    /// A request whose parts are wrong.
    pub(crate) fn invalid(details: &[ValidationDetail]) -> Self {
        Reply::json(
            StatusCode::UNPROCESSABLE_ENTITY,
            &json!({"detail": details}),
        )
        .into()
    }

    /// A body that Python gives up on.
    pub(crate) fn bad_body(reason: &str) -> Self {
        // FastAPI says no more than the first half.
        let detail = match reason {
            "it is not UTF-8" => "There was an error parsing the body".to_owned(),
            reason => format!("There was an error parsing the body: {reason}"),
        };
        Self::new(StatusCode::BAD_REQUEST, detail)
    }

    pub(crate) fn not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "Not Found")
    }

    /// A session that the look-up before all handlers does not find.
    pub(crate) fn no_session(id: &str) -> Self {
        let error = SessionError {
            code: "SESSION_NOT_FOUND".to_owned(),
            message: format!("Session {id} not found or expired"),
            session_id: id.to_owned(),
        };
        Reply::json(StatusCode::NOT_FOUND, &ErrorBody::Session { error }).into()
    }

    /// There is too much to do at the moment, and nothing was done.
    pub(crate) fn overloaded(detail: &str) -> Self {
        Self::try_later(detail, RETRY_SOON)
    }

    /// Something is wrong with the server or its files. What it is the log says, under the answer's trace id: the text may
    /// name files, which are nobody's business but the operator's.
    fn internal(error: &dyn Error) -> Self {
        let detail = "the server failed; its log says why, under the X-Trace-ID of this answer";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, detail).caused_by(chain(error))
    }

    /// An answer has a part that is no JSON.
    pub(crate) fn unwritable(error: &serde_json::Error) -> Self {
        tracing::error!(%error, "an answer has no JSON form");
        let detail = format!("the answer has no JSON form: {error}");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, detail)
    }

    /// Tells the log why.
    pub(crate) fn caused_by(self, cause: String) -> Self {
        Reply::from(self).with_cause(cause).into()
    }

    fn try_later(detail: &str, seconds: u64) -> Self {
        let reply = Reply::json(StatusCode::SERVICE_UNAVAILABLE, &json!({"detail": detail}));
        reply
            .with_header(header::RETRY_AFTER, HeaderValue::from(seconds))
            .into()
    }
}

impl From<NoRoom> for Refusal {
    fn from(NoRoom(scarce): NoRoom) -> Self {
        match scarce {
            Scarce::Now => Self::overloaded(
                "the answers that wait to be read fill the server's memory for them; try again",
            ),
            Scarce::Ever => Self::new(
                StatusCode::INSUFFICIENT_STORAGE,
                "the answer is larger than the server's memory for answers; ask for less, such as fewer predictions",
            ),
        }
    }
}

impl From<Reply> for Refusal {
    fn from(reply: Reply) -> Self {
        Self(Box::new(reply))
    }
}

impl From<Refusal> for Reply {
    fn from(refusal: Refusal) -> Self {
        *refusal.0
    }
}

impl From<Refusal> for Answer {
    fn from(refusal: Refusal) -> Self {
        Self::Now(refusal.into())
    }
}

/// The one place where errors become statuses.
impl From<ServiceError> for Refusal {
    fn from(error: ServiceError) -> Self {
        const INVALID: StatusCode = StatusCode::UNPROCESSABLE_ENTITY;
        match error {
            ServiceError::SessionNotFound { session_id } => Self::new(
                StatusCode::NOT_FOUND,
                format!("Session {session_id} not found or expired"),
            ),
            ServiceError::EmptyStm | ServiceError::Engine(EngineError::EmptyStm) => {
                Self::new(StatusCode::BAD_REQUEST, "Cannot learn from empty STM")
            }
            ServiceError::Config(error) => Self::new(
                StatusCode::BAD_REQUEST,
                json!({
                    "error": "Configuration validation failed",
                    "validation_errors": error.messages(),
                }),
            ),
            ServiceError::Engine(error) => engine(&error),
            ServiceError::Closed => Self::try_later(&error.to_string(), RETRY_LATER),
            ServiceError::StorageFailed { ref source } => {
                let detail = format!("{error}{}", because(source));
                Self::try_later(&detail, RETRY_LATER).caused_by(chain(&error))
            }
            // Who did not wait for it is not told.
            ServiceError::Cancelled(_) => Self::new(
                StatusCode::GATEWAY_TIMEOUT,
                "the prediction took longer than the server allows and was ended; it would again: ask with a shorter \
                 short-term memory, or narrow the patterns with a filter_pipeline",
            ),
            ServiceError::RunReplaced { .. } | ServiceError::InMemory => {
                Self::new(StatusCode::CONFLICT, chain(&error))
            }
            ServiceError::TooManySessions { .. } | ServiceError::MemoryFull { .. } => {
                Self::overloaded(&chain(&error))
            }
            ServiceError::TooLarge { .. } => {
                Self::new(StatusCode::PAYLOAD_TOO_LARGE, chain(&error))
            }
            ServiceError::TtlNegative { .. }
            | ServiceError::KeyReused { .. }
            | ServiceError::KeyInvalid
            | ServiceError::RunTooLarge { .. }
            | ServiceError::TooManyRuns { .. }
            | ServiceError::BatchTooLarge { .. }
            | ServiceError::EmptySequence { .. } => Self::new(INVALID, chain(&error)),
            other => Self::internal(&other),
        }
    }
}

fn engine(error: &EngineError) -> Refusal {
    const BAD: StatusCode = StatusCode::BAD_REQUEST;
    match error {
        EngineError::Vectors(VectorError::LengthMismatch {
            expected, found, ..
        })
        | EngineError::VectorLength {
            expected, found, ..
        } => Refusal::new(
            BAD,
            json!({
                "error": "VectorDimensionError",
                "message": chain(error),
                "expected_dimension": expected,
                "actual_dimension": found,
                "vector_name": null,
            }),
        ),
        EngineError::TooLarge { .. } => Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, chain(error)),
        EngineError::EmptyStm
        | EngineError::Vectors(_)
        | EngineError::VectorNotFinite { .. }
        | EngineError::EmotiveRange { .. } => Refusal::new(BAD, chain(error)),
        EngineError::NotClearable { .. } => Refusal::new(StatusCode::CONFLICT, chain(error)),
        EngineError::Index { .. } => Refusal::new(StatusCode::INSUFFICIENT_STORAGE, chain(error)),
        other => Refusal::internal(other),
    }
}

/// What the system said of a failure, in brackets, if it is known. The whole text may name files, and is for the log.
pub(crate) fn because(failure: &StorageFailure) -> String {
    let said = failure.system_error();
    said.map(|said| format!(" ({said})")).unwrap_or_default()
}

/// An error and its causes in one line.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
