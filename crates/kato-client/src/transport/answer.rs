//! From an HTTP answer, or the lack of one, to what it means for the request.

use std::time::{Duration, SystemTime};

use http_body_util::BodyExt as _;
use hyper::Response;
use hyper::body::{Body, Bytes};
use hyper::header::RETRY_AFTER;
use hyper_util::client::legacy;
use kato_advice::retry::retry_after;
use kato_model::PatternName;
use kato_protocol::ErrorBody;
use kato_protocol::error::ValidationDetail;
use kato_protocol::extension::IDEMPOTENCY_REPLAYED;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::Instant;

use super::gist::gist;
use crate::ClientError;
use crate::call::Call;
use crate::calls::CallKind;
use crate::error::is_doubtful_status;

/// The code of a learn that failed because its pattern is retired.
const RETIRED: &str = "RETIRED_PATTERN";

/// The code of a request to a session that the server does not know.
const NO_SESSION: &str = "SESSION_NOT_FOUND";

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

/// Creates the failure of a request that could not be made: it would fail again.
pub(crate) fn unsent(error: ClientError) -> Failure {
    Failure::new(Meaning::Refused, error)
}

/// Interprets a request without an answer.
pub(crate) fn not_answered(call: &Call, error: legacy::Error) -> Failure {
    // The only failure before anything was sent. Everything else may have reached the server.
    if error.is_connect() {
        let (method, path) = (call.method_name(), call.path());
        let source = Box::new(error);
        return Failure::new(
            Meaning::NotDone,
            ClientError::Connect {
                method,
                path,
                source,
            },
        );
    }
    interrupted(call, error.into())
}

/// Creates the failure of a request whose answer did not come in time.
pub(crate) fn late(call: &Call) -> Failure {
    let (method, path) = (call.method_name(), call.path());
    Failure::new(Meaning::Doubtful, ClientError::Timeout { method, path })
}

/// Creates the failure of a request whose connection broke.
fn interrupted(call: &Call, source: Box<dyn std::error::Error + Send + Sync>) -> Failure {
    let (method, path) = (call.method_name(), call.path());
    let error = ClientError::Interrupted {
        method,
        path,
        source,
    };
    Failure::new(Meaning::Doubtful, error)
}

/// Reads the whole answer, if it has no more bytes than it may. It has to come in time, of an answer in lines each
/// part: `silence` from the one before.
pub(crate) async fn read<T, B>(
    call: &Call,
    mut response: Response<B>,
    max_bytes: usize,
    mut until: Instant,
    silence: Duration,
) -> Result<Answer<T>, Failure>
where
    T: DeserializeOwned,
    B: Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>> + Unpin,
{
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
        let chunk = match tokio::time::timeout_at(until, response.frame()).await {
            Ok(None) => break,
            Ok(Some(Ok(frame))) => Ok(frame.into_data().unwrap_or_default()),
            Ok(Some(Err(error))) => Err(interrupted(call, error.into())),
            Err(_) => Err(late(call)),
        };
        match chunk {
            Ok(chunk) if body.len() + chunk.len() <= limit => {
                body.extend_from_slice(&chunk);
                if call.has_lines {
                    // How long all of them take depends on how many there are.
                    until = Instant::now() + silence;
                }
            }
            // The status says all that matters: a refusal is one, whether or not its text is
            // complete.
            Ok(_) | Err(_) if status >= 400 => break,
            Ok(_) => {
                let (method, path) = (call.method_name(), call.path());
                let error = ClientError::TooLong {
                    method,
                    path,
                    limit,
                };
                // The request has succeeded, and a repetition would have as long an answer.
                return Err(Failure::new(Meaning::Doubtful, error).permanent());
            }
            Err(failure) => return Err(failure),
        }
    }
    if !(200..300).contains(&status) {
        let mut failure = refusal(call, status, &body);
        failure.status = Some(status);
        failure.retry_after = asked;
        return Err(failure);
    }
    if call.has_lines {
        body = list_of_lines(&body);
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

/// Returns a list of the values that stand on a line each.
fn list_of_lines(lines: &[u8]) -> Vec<u8> {
    let mut list = Vec::with_capacity(lines.len() + 2);
    for line in lines.split(|&byte| byte == b'\n') {
        if !line.is_empty() {
            list.push(if list.is_empty() { b'[' } else { b',' });
            list.extend_from_slice(line);
        }
    }
    if list.is_empty() {
        list.push(b'[');
    }
    list.push(b']');
    list
}

/// Maps a status to its failure; nothing else does.
fn refusal(call: &Call, status: u16, body: &[u8]) -> Failure {
    let (method, path) = (call.method_name(), call.path());
    let body = String::from_utf8_lossy(body);
    let detail = match serde_json::from_str(&body) {
        // One of KATO's two forms of an unknown session; the other one is a detail, below.
        Ok(ErrorBody::Session { error }) if error.code == NO_SESSION => {
            return Failure::new(
                Meaning::SessionGone,
                ClientError::SessionNotFound {
                    status,
                    session_id: error.session_id,
                },
            );
        }
        Ok(ErrorBody::Session { error }) => error.message,
        Ok(ErrorBody::Failure { error }) if error.code == RETIRED => {
            let pattern = retired_pattern(&error);
            let error = ClientError::Retired {
                method,
                path,
                pattern,
                is_sequence: call.kind == CallKind::ObserveSequence,
            };
            return Failure::new(Meaning::Refused, error);
        }
        // A session that has expired or was never there is gone, whichever of them the server says.
        Ok(ErrorBody::Failure { error }) if status == 410 || error.code == NO_SESSION => {
            let session_id = session_of(call).unwrap_or_default();
            tracing::debug!(error = %error.message, session_id, "the session is gone");
            return Failure::new(
                Meaning::SessionGone,
                ClientError::SessionNotFound { status, session_id },
            );
        }
        Ok(ErrorBody::Failure { error }) => in_words(error),
        Ok(ErrorBody::Detail { detail }) => {
            if let Some(details) = faults(status, &detail) {
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
                    ClientError::SessionNotFound { status, session_id },
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

/// Returns what is wrong with arguments or settings, if the refusal lists it.
fn faults(status: u16, detail: &Value) -> Option<Vec<ValidationDetail>> {
    if status == 422 {
        // FastAPI's list of faults. Kato-rs servers of older builds have texts with this status.
        return serde_json::from_value(detail.clone()).ok();
    }
    let errors = detail.get("validation_errors")?.as_object()?;
    let fault = |(setting, text): (&String, &Value)| ValidationDetail {
        kind: "value_error".to_owned(),
        loc: vec!["body".into(), "config".into(), setting.as_str().into()],
        msg: text
            .as_str()
            .map_or_else(|| text.to_string(), str::to_owned),
        input: Value::Null,
        ctx: None,
    };
    (status == 400 && !errors.is_empty()).then(|| errors.iter().map(fault).collect())
}

/// Returns the pattern that a server has retired. Only its documents say in which key it is named, so
/// that any text is looked at.
fn retired_pattern(error: &kato_protocol::error::Failure) -> Option<PatternName> {
    let texts = error.context.values().filter_map(Value::as_str);
    texts.chain([error.message.as_str()]).find_map(|text| {
        let mut words = text.split(|c: char| !c.is_ascii_hexdigit());
        words.find_map(|word| word.parse().ok())
    })
}

/// Returns the session that a request was for.
fn session_of(call: &Call) -> Option<String> {
    let mut segments = call.target.path().split('/');
    segments.find(|segment| *segment == "sessions")?;
    Some(segments.next()?.to_owned())
}

/// Returns a failure in words: its message, and what KATO calls it where the message says nothing.
fn in_words(error: kato_protocol::error::Failure) -> String {
    let class = error.context.get("exception_type").and_then(Value::as_str);
    match class.or(error.kind.as_deref()) {
        Some(class) => format!("{} ({class})", error.message),
        None => error.message,
    }
}

/// Returns the session id of the other form of an unknown session: `Session X not found or
/// expired`.
fn missing_session(status: u16, detail: &Value) -> Option<String> {
    if !matches!(status, 404 | 410) {
        return None;
    }
    let id = detail
        .as_str()?
        .strip_prefix("Session ")?
        .strip_suffix(" not found or expired")?;
    Some(id.to_owned())
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use hyper::body::Frame;
    use kato_advice::ErrorClass;
    use serde_json::json;

    use super::*;
    use crate::address::Address;

    fn refused(status: u16, body: &Value) -> Failure {
        refused_of(CallKind::Learn, status, body)
    }

    fn refused_of(kind: CallKind, status: u16, body: &Value) -> Failure {
        let base = Address::parse("http://localhost:8000").unwrap();
        let method = hyper::Method::POST;
        let call = Call::new(kind, method, &base, &["sessions", "s1", "learn"]);
        refusal(&call, status, body.to_string().as_bytes())
    }

    #[test]
    fn a_retired_pattern_is_named_wherever_the_server_names_it() {
        let name = "b98534b32c1d7489d4ce1a48724aa65aeecbdba9";
        let contexts = [
            (
                json!({"pattern_name": format!("PTRN|{name}")}),
                "it is retired".to_owned(),
            ),
            (json!({}), format!("Pattern {name} is retired")),
        ];
        for (context, message) in contexts {
            let error = json!({"type": "RetiredPatternError", "code": "RETIRED_PATTERN", "message": message,
                "recoverable": true, "context": context, "timestamp": 0.0});
            let failure = refused(409, &json!({ "error": error }));
            assert_eq!(failure.meaning, Meaning::Refused);
            assert!(!failure.error.may_have_acted());
            let ClientError::Retired { pattern, .. } = failure.error else {
                panic!("{:?}", failure.error);
            };
            assert_eq!(pattern, name.parse().ok());
        }
    }

    #[test]
    fn a_sequence_that_meets_a_retired_pattern_may_have_taught_others() {
        let error = json!({"type": "RetiredPatternError", "code": "RETIRED_PATTERN", "message": "it is retired",
            "recoverable": true, "context": {}, "timestamp": 0.0});
        for (kind, may_have_acted) in [
            (CallKind::ObserveSequence, true),
            (CallKind::Observe, false),
            (CallKind::Learn, false),
            (CallKind::LearnBatch, false),
        ] {
            let failure = refused_of(kind, 409, &json!({ "error": error }));
            assert_eq!(failure.error.may_have_acted(), may_have_acted, "{kind:?}");
        }
    }

    #[test]
    fn refused_settings_are_faults_of_arguments() {
        let detail = json!({"error": "Configuration validation failed",
            "validation_errors": {"recall_threshold": "must be above 0"}});
        let failure = refused(400, &json!({ "detail": detail }));
        assert_eq!(failure.error.status(), Some(400));
        let text = failure.error.to_string();
        assert!(
            text.ends_with("config.recall_threshold. must be above 0"),
            "{text}"
        );
    }

    #[test]
    fn every_failure_of_6_says_what_it_means() {
        // Statuses are KATO's, by class of failure; only the two codes that matter are known.
        let table = [
            (404, NO_SESSION, Meaning::SessionGone, ErrorClass::Other),
            (404, "RESOURCE", Meaning::Refused, ErrorClass::Other),
            (409, RETIRED, Meaning::Refused, ErrorClass::Conflict),
            (409, "CONCURRENT", Meaning::Refused, ErrorClass::Conflict),
            (410, "EXPIRED", Meaning::SessionGone, ErrorClass::Other),
            (422, "VALUE", Meaning::Refused, ErrorClass::Usage),
            (429, "RATE_LIMIT", Meaning::NotDone, ErrorClass::TryAgain),
            (
                500,
                "INTERNAL_ERROR",
                Meaning::Doubtful,
                ErrorClass::TryAgain,
            ),
            (503, "DATABASE", Meaning::Doubtful, ErrorClass::TryAgain),
            (504, "TIMEOUT", Meaning::Doubtful, ErrorClass::TryAgain),
            (507, "STORAGE", Meaning::Doubtful, ErrorClass::NoRoom),
        ];
        for (status, code, meaning, class) in table {
            let failure = refused(
                status,
                &json!({"error": {"type": "SomeError", "code": code, "message": "this happened",
                    "recoverable": true, "context": {}, "timestamp": 0.0}}),
            );
            let told = (failure.meaning, failure.error.class());
            assert_eq!(told, (meaning, class), "{status} {code}");
            assert_eq!(failure.error.may_have_acted(), meaning == Meaning::Doubtful);
            assert_eq!(failure.error.status(), Some(status), "{code}");
            match &failure.error {
                ClientError::SessionNotFound { session_id, .. } => assert_eq!(session_id, "s1"),
                ClientError::Retired { .. } => assert_eq!(code, RETIRED),
                error => {
                    let text = error.to_string();
                    assert!(text.ends_with("this happened (SomeError)"), "{text}");
                }
            }
        }
    }

    #[test]
    fn a_session_that_is_gone_is_told_with_the_status_that_the_server_gave() {
        for status in [404, 410] {
            let failures = [
                json!({"error": {"code": NO_SESSION, "message": "no such session", "session_id": "s1"}}),
                json!({"detail": "Session s1 not found or expired"}),
            ];
            for body in failures {
                let failure = refused(status, &body);
                assert_eq!(failure.meaning, Meaning::SessionGone, "{status} {body}");
                assert_eq!(failure.error.status(), Some(status), "{body}");
            }
        }
        // The text was cut, so that only the status is left.
        let cut = refused(410, &json!("expi"));
        assert_eq!(cut.error.kind(), kato_advice::ErrorKind::NotFound);
    }

    /// An answer whose first part is there, and each other one when it is asked for a second time, or never.
    struct InParts {
        parts: Vec<&'static str>,
        is_there: bool,
        goes_on: bool,
    }

    impl Body for InParts {
        type Data = Bytes;
        type Error = std::io::Error;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            cx: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
            if !std::mem::replace(&mut self.is_there, false) {
                self.is_there = self.goes_on;
                if self.goes_on {
                    cx.waker().wake_by_ref();
                }
                return Poll::Pending;
            }
            let part = self.parts.pop();
            Poll::Ready(part.map(|part| Ok(Frame::data(Bytes::from_static(part.as_bytes())))))
        }
    }

    #[tokio::test]
    async fn an_answer_in_lines_is_waited_for_from_one_to_the_next() {
        let base = Address::parse("http://localhost:8000").unwrap();
        let (kind, method) = (CallKind::Predictions, hyper::Method::POST);
        let whole = Call::new(kind, method, &base, &["ask-batch"]);
        let lines = whole.clone().lines();
        let read = async |call: &Call, silence: u64, goes_on: bool| {
            let body = InParts {
                parts: vec!["3\n", "2\n", "1\n"],
                is_there: true,
                goes_on,
            };
            // It is over, but what is there is read.
            let until = Instant::now() - Duration::from_secs(1);
            let silence = Duration::from_secs(silence);
            let read = read::<Value, _>(call, Response::new(body), 100, until, silence).await;
            read.map(|answer| answer.value)
        };
        assert_eq!(read(&lines, 3600, true).await.unwrap(), json!([1, 2, 3]));
        for late in [read(&lines, 0, false).await, read(&whole, 3600, true).await] {
            assert!(late.unwrap_err().error.is_timeout());
        }
    }

    #[test]
    fn what_failed_unexpectedly_is_told_by_its_class() {
        let failed = refused(
            500,
            &json!({"error": {"code": "INTERNAL_ERROR", "message": "An unexpected error occurred",
                "details": {}, "context": {"exception_type": "LearningError"}}}),
        );
        let text = failed.error.to_string();
        assert!(text.contains("(LearningError)"), "{text}");
    }
}
