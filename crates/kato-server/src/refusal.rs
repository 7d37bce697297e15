//! Refusals: all ways in which a request fails, in KATO's words.

use std::error::Error;
use std::io;

use axum::http::{HeaderValue, StatusCode, header};
use kato_advice::ErrorKind;
use kato_engine::EngineError;
use kato_engine::config::ConfigError;
use kato_head::HeadError;
use kato_model::vector::VectorError;
use kato_model::{KatoGeneration, PatternName};
use kato_protocol::ErrorBody;
use kato_protocol::error::{FailureBody, InvalidRequest, SessionError, ValidationDetail};
use kato_protocol::extension::IDEMPOTENCY_KEY;
use kato_service::figures::DataLoss;
use kato_service::{ServiceError, StorageFailure};
use serde_json::{Value, json};

use crate::budget::BudgetError;
use crate::compat::failure;
use crate::reply::{Answer, Reply};
use crate::resources::AnswerMemoryError;

/// Seconds after which a client may try again when the server has too much to do.
const RETRY_SOON: u64 = 1;

/// Seconds after which a client may try again when the server is going down.
const RETRY_LATER: u64 = 5;

/// A refusal, boxed so that results stay small.
#[derive(Debug)]
pub(crate) struct Refusal(Box<Reply>);

impl Refusal {
    /// Creates a refusal with a detail.
    pub(crate) fn new(status: StatusCode, detail: impl Into<Value>) -> Self {
        Reply::refused(status, detail.into()).into()
    }

    /// Creates the refusal of a request whose parts are invalid.
    pub(crate) fn invalid(detail: Vec<ValidationDetail>) -> Self {
        Reply::json(StatusCode::UNPROCESSABLE_ENTITY, &InvalidRequest { detail }).into()
    }

    /// Creates the refusal of a request for one reason that pydantic has no words for, with the part
    /// of the request that has to be another one. Its status promises a list of faults.
    pub(crate) fn of_part(loc: &[&str], reason: impl Into<String>) -> Self {
        Self::invalid(vec![ValidationDetail {
            kind: "value_error".to_owned(),
            loc: loc.iter().copied().map(Value::from).collect(),
            msg: reason.into(),
            input: Value::Null,
            ctx: None,
        }])
    }

    /// Creates the refusal of a body that Python cannot parse.
    pub(crate) fn bad_body(reason: &str) -> Self {
        // FastAPI says no more than this; the reason is given where it is ours.
        let detail = match reason {
            "it is not UTF-8" => "There was an error parsing the body".to_owned(),
            reason => format!("There was an error parsing the body: {reason}"),
        };
        Self::new(StatusCode::BAD_REQUEST, detail)
    }

    /// Creates the refusal of a session's settings, in the form of a generation.
    pub(crate) fn settings(error: &ConfigError, generation: KatoGeneration) -> Self {
        let mut detail = json!({"error": "Configuration validation failed"});
        let mut cause = None;
        let named = error.validation_errors();
        if !generation.checks_all_settings() {
            detail["validation_errors"] = json!(error.messages());
        } else if named.is_empty() {
            // The text sends its reader to the log.
            cause = Some(error_chain(error));
            detail["message"] = Value::from(failure::UNNAMED_SETTING);
        } else {
            detail["validation_errors"] = json!(named);
        }
        let refusal = Self::new(StatusCode::BAD_REQUEST, detail);
        match cause {
            Some(cause) => refusal.caused_by(cause),
            None => refusal,
        }
    }

    /// Creates the refusal to learn a pattern that is retired.
    fn retired(name: &PatternName) -> Self {
        let error = failure::retired(name);
        Reply::json(StatusCode::CONFLICT, &FailureBody { error }).into()
    }

    /// Creates the refusal of an unknown path.
    pub(crate) fn not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "Not Found")
    }

    /// Creates the refusal of a session that the look-up before all handlers does not find.
    pub(crate) fn no_session(id: &str) -> Self {
        let error = SessionError {
            code: "SESSION_NOT_FOUND".to_owned(),
            message: format!("Session {id} not found or expired"),
            session_id: id.to_owned(),
        };
        Reply::json(StatusCode::NOT_FOUND, &ErrorBody::Session { error }).into()
    }

    /// Creates the refusal of a request for which there is too much to do at the moment, and which
    /// has not acted.
    pub(crate) fn overloaded(detail: &str) -> Self {
        Self::try_later(detail, RETRY_SOON)
    }

    /// Creates the refusal for a fault of the server or its files. The reason goes into the log,
    /// under the answer's trace id: its text may name files, which concern nobody but the operator.
    fn internal(error: &dyn Error) -> Self {
        let detail = "the server failed; its log says why, under the X-Trace-ID of this answer";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, detail).caused_by(error_chain(error))
    }

    /// Creates the refusal for an answer that has a part without a JSON form.
    pub(crate) fn unwritable(error: &serde_json::Error) -> Self {
        tracing::error!(%error, "an answer has no JSON form");
        let detail = format!("the answer has no JSON form: {error}");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, detail)
    }

    /// Adds the cause, for the log.
    pub(crate) fn caused_by(self, cause: String) -> Self {
        Reply::from(self).with_cause(cause).into()
    }

    /// Creates a refusal that tells when to try again.
    fn try_later(detail: &str, seconds: u64) -> Self {
        Reply::refused(StatusCode::SERVICE_UNAVAILABLE, detail.into())
            .with_header(header::RETRY_AFTER, HeaderValue::from(seconds))
            .into()
    }
}

impl From<AnswerMemoryError> for Refusal {
    fn from(AnswerMemoryError(error): AnswerMemoryError) -> Self {
        match error {
            BudgetError::Exhausted => Self::overloaded(
                "the answers that wait to be read fill the server's memory for them; try again",
            ),
            BudgetError::TooLarge => Self::new(
                StatusCode::INSUFFICIENT_STORAGE,
                "the answer, or what it is made of, is larger than the server's memory for answers; ask for less, such as fewer predictions",
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

/// Maps errors of the service to their statuses.
impl From<ServiceError> for Refusal {
    fn from(error: ServiceError) -> Self {
        if let Some(part) = part_of(&error) {
            return Self::of_part(part, error_chain(&error));
        }
        if let Some(status) = status_of(&error) {
            return Self::new(status, error_chain(&error));
        }
        match error {
            ServiceError::SessionNotFound { session_id } => Self::new(
                StatusCode::NOT_FOUND,
                format!("Session {session_id} not found or expired"),
            ),
            ServiceError::EmptyStm | ServiceError::Engine(EngineError::EmptyStm) => {
                Self::new(StatusCode::BAD_REQUEST, "Cannot learn from empty STM")
            }
            ServiceError::Engine(error) => engine(&error),
            // Nothing is wrong with it, and the other program ends some day.
            ServiceError::Node {
                ref node_id,
                ref source,
            } if source.kind() == ErrorKind::Locked => {
                let detail = format!(
                    "the knowledge base of node {node_id:?} is in use by another program; other nodes are not concerned; try again"
                );
                Self::try_later(&detail, RETRY_LATER).caused_by(error_chain(&error))
            }
            ServiceError::Node {
                ref node_id,
                ref source,
            } => unread(&error, node_id, source),
            ServiceError::Lost { ref loss } => match loss {
                DataLoss::KnowledgeBase { node_id, .. } => {
                    let why = "its knowledge base is gone, or older than it should be";
                    of_node(&error, node_id, why)
                }
                DataLoss::Lessons { node_id, .. } => {
                    of_node(&error, node_id, "lessons of it are missing")
                }
                _ => Self::internal(&error),
            },
            ServiceError::SeveralNodes {
                ref node_id, found, ..
            } => {
                let why = format!("its knowledge base holds {found} nodes and must hold one");
                of_node(&error, node_id, &why)
            }
            ServiceError::NodeInterrupted {
                ref node_id,
                ref source,
            } => {
                let why = os_error_suffix(source);
                let detail = format!(
                    "an operation of node {node_id:?} ended half-way{why}, and the node is loaded again; other nodes are not concerned; try again"
                );
                Self::try_later(&detail, RETRY_SOON).caused_by(error_chain(&error))
            }
            // Another server may soon take the place of this one, or the same after a restart.
            ServiceError::Closed => Self::try_later(&error.to_string(), RETRY_LATER),
            ServiceError::StorageFailed { ref source } => {
                // With what the system said, such as that the disk is full, but not with paths.
                let detail = format!("{error}{}", os_error_suffix(source));
                Self::try_later(&detail, RETRY_LATER).caused_by(error_chain(&error))
            }
            // Only a prediction that took too long gets this answer: one that was abandoned has no
            // reader.
            ServiceError::Cancelled(_) => Self::new(
                StatusCode::GATEWAY_TIMEOUT,
                "the prediction took longer than the server allows and was ended; it would again: ask with a shorter \
                 short-term memory, or narrow the patterns with a filter_pipeline",
            ),
            // Without its path, which concerns nobody but the operator.
            ServiceError::NoRoom { .. } => {
                let detail = "there is too little room for another backup: it would leave less free than `serve --backup-reserve` asks for; make room on its disk, such as by removing older ones, or let less stay free, and ask again; the log says how much there is";
                Self::new(StatusCode::INSUFFICIENT_STORAGE, detail).caused_by(error_chain(&error))
            }
            ServiceError::NotEmpty { .. } => {
                let detail = "a backup of this name is there already; try again";
                Self::new(StatusCode::CONFLICT, detail).caused_by(error_chain(&error))
            }
            ServiceError::TooManySessions { .. } | ServiceError::MemoryFull { .. } => {
                Self::overloaded(&error_chain(&error))
            }
            // What remains is the server's own failure. Errors that the service will add count as
            // that until they are listed here.
            other => Self::internal(&other),
        }
    }
}

/// Returns the part of the request that has to be another one; `None` where that is not the error.
fn part_of(error: &ServiceError) -> Option<&'static [&'static str]> {
    Some(match error {
        ServiceError::UnknownNode { .. } | ServiceError::RepeatedNode { .. } => &["query", "above"],
        ServiceError::AskedTooMuch { .. } => &["query"],
        ServiceError::TtlNegative { .. } => &["query", "ttl_seconds"],
        ServiceError::KeyReused { .. } | ServiceError::KeyInvalid => &["header", IDEMPOTENCY_KEY],
        ServiceError::RunTooLarge { .. } => &["body", "record"],
        ServiceError::TooManyRuns { .. } => &["path", "run"],
        ServiceError::BatchTooLarge { .. } | ServiceError::EmptySequence { .. } => {
            &["body", "sequences"]
        }
        _ => return None,
    })
}

/// Returns the status of an error of which the answer says all; `None` for others.
fn status_of(error: &ServiceError) -> Option<StatusCode> {
    Some(match error {
        ServiceError::RunReplaced { .. } | ServiceError::InMemory => StatusCode::CONFLICT,
        // Not "try again later": nodes stay.
        ServiceError::TooManyNodes { .. }
        | ServiceError::NodeMemoryFull { .. }
        | ServiceError::KnowledgeMemoryFull { .. }
        | ServiceError::HeadMemoryFull { .. }
        | ServiceError::Head(HeadError::TooManyNgrams | HeadError::TooManySymbols) => {
            StatusCode::INSUFFICIENT_STORAGE
        }
        // Not "try again later" either: it takes as much until it is cleared.
        ServiceError::TooLarge { .. } | ServiceError::SessionMemoryFull { .. } => {
            StatusCode::PAYLOAD_TOO_LARGE
        }
        _ => return None,
    })
}

/// Maps an error of the engine to its status.
fn engine(error: &EngineError) -> Refusal {
    const BAD: StatusCode = StatusCode::BAD_REQUEST;
    match error {
        // Two causes, one answer: KATO has one error for the length of vectors.
        EngineError::Vectors(VectorError::LengthMismatch {
            expected, found, ..
        })
        | EngineError::VectorLength {
            expected, found, ..
        } => Refusal::new(
            BAD,
            json!({
                "error": "VectorDimensionError",
                "message": error_chain(error),
                "expected_dimension": expected,
                "actual_dimension": found,
                "vector_name": null,
            }),
        ),
        EngineError::Retired { name, .. } => Refusal::retired(name),
        EngineError::TooLarge { .. } => {
            Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, error_chain(error))
        }
        EngineError::EmptyStm
        | EngineError::Vectors(_)
        | EngineError::VectorNotFinite { .. }
        | EngineError::EmotiveRange { .. } => Refusal::new(BAD, error_chain(error)),
        EngineError::Index { .. } | EngineError::LoadMemoryFull { .. } => {
            Refusal::new(StatusCode::INSUFFICIENT_STORAGE, error_chain(error))
        }
        EngineError::Unreadable { node, .. } => unread(error, node, error),
        EngineError::Store { .. } | EngineError::Load { .. } | EngineError::LostPattern { .. } => {
            let why = cause_of(error);
            let detail = format!(
                "the server failed: {why}; its log says more, under the X-Trace-ID of this answer"
            );
            Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, detail).caused_by(error_chain(error))
        }
        other => Refusal::internal(other),
    }
}

/// Creates the refusal of a request to a node that cannot be read for this cause.
fn unread(error: &dyn Error, node_id: &str, cause: &EngineError) -> Refusal {
    let EngineError::Unreadable { source, .. } = cause else {
        return of_node(error, node_id, &cause_of(cause));
    };
    if let EngineError::LoadMemoryFull { limit, .. } = &**source {
        let detail = format!(
            "node {node_id:?} cannot be read: its index is damaged, and without it the node takes more than the {limit} bytes of memory that it may; other nodes are not concerned; try again once the server has written the index anew, or have it allow more (`serve --max-knowledge-memory`)"
        );
        return Refusal::new(StatusCode::INSUFFICIENT_STORAGE, detail)
            .caused_by(error_chain(error));
    }
    let why = format!("its index is damaged, and {}", cause_of(source));
    of_node(error, node_id, &why)
}

/// Creates the refusal of a request to a node that cannot be read, and says that others can.
fn of_node(error: &dyn Error, node_id: &str, why: &str) -> Refusal {
    let detail = format!(
        "node {node_id:?} cannot be read: {why}; other nodes are not concerned; the server's log says more, under the X-Trace-ID of this answer"
    );
    Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, detail).caused_by(error_chain(error))
}

/// Says why what a node has learned cannot be read. The whole text may name files and is for the log.
fn cause_of(error: &EngineError) -> String {
    if let EngineError::LostPattern { .. } = error {
        return "what it learned last is not yet in its knowledge base; the server loads it again from its journal, within a minute".to_owned();
    }
    let mut cause: Option<&(dyn Error + 'static)> = error.source();
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            return format!(
                "a file of its knowledge base cannot be read ({})",
                error.kind()
            );
        }
        cause = error.source();
    }
    let why = match error.kind() {
        ErrorKind::Corrupt => "its knowledge base is damaged",
        ErrorKind::NotFound => "its knowledge base is gone",
        ErrorKind::OtherVersion => "its knowledge base has a format that the server does not read",
        ErrorKind::Locked => "its knowledge base is in use by another program",
        _ => "its knowledge base holds what the server cannot use",
    };
    why.to_owned()
}

/// Returns what the system said of a failure, in brackets, or nothing if that is not known. The
/// whole text may name files and is for the log.
pub(crate) fn os_error_suffix(failure: &StorageFailure) -> String {
    let said = failure.system_error();
    said.map(|said| format!(" ({said})")).unwrap_or_default()
}

/// Returns an error and its causes in one line.
pub(crate) fn error_chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
