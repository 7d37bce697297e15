//! Errors of the client, each with what to do next.

use std::error::Error as StdError;

use kato_advice::{ErrorClass, ErrorKind};
use kato_model::PatternName;
use kato_protocol::error::ValidationDetail;

use crate::KatoGeneration;

type Source = Box<dyn StdError + Send + Sync>;

/// The reason why a call failed.
///
/// No message holds the token, or more of the body of a request than the server quotes.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// A setting or argument cannot be used, and was not sent.
    #[error("use the setting {field}: {reason}")]
    Config {
        /// Name of the setting or argument.
        field: &'static str,
        /// What is wrong with it and what is expected.
        reason: String,
    },
    /// No connection: the server never saw the request. Check the address, and whether the server
    /// runs.
    #[error("connect for {method} {path}: check the address and that the server runs")]
    Connect {
        /// Method of the request.
        method: &'static str,
        /// Its path.
        path: String,
        /// Why.
        source: Source,
    },
    /// No answer in time. Raise the timeout, or send less in one request.
    #[error("get an answer to {method} {path} in time: raise the timeout or send less at once")]
    Timeout {
        /// Method of the request.
        method: &'static str,
        /// Its path.
        path: String,
    },
    /// The connection broke before the answer was complete.
    #[error("read the whole answer to {method} {path}: the connection broke")]
    Interrupted {
        /// Method of the request.
        method: &'static str,
        /// Its path.
        path: String,
        /// How.
        source: Source,
    },
    /// The server refused the request.
    #[error("{method} {path}: status {status}, {detail}")]
    Status {
        /// The HTTP status.
        status: u16,
        /// Method of the request.
        method: &'static str,
        /// Its path.
        path: String,
        /// The part of the server's text that says something, at most 300 characters, with `…` behind them
        /// where it was cut.
        detail: String,
    },
    /// The server does not accept the request's arguments: status 422, or 400 with what is wrong with
    /// each setting.
    #[error("{method} {path}: the server does not take the arguments: {}", in_words(.details))]
    Validation {
        /// The HTTP status.
        status: u16,
        /// Method of the request.
        method: &'static str,
        /// Its path.
        path: String,
        /// One entry for every argument or setting that is wrong.
        details: Vec<ValidationDetail>,
    },
    /// The server does not learn a pattern any more, because somebody has retired it (6.x). Of a sequence
    /// that learns several times, what it learned before stays; of any other request nothing was learned.
    #[error(
        "{method} {path}: the server has retired {}: un-retire it there, or leave out what holds it",
        pattern.as_ref().map_or_else(|| "the pattern".to_owned(), |name| format!("pattern {name}"))
    )]
    Retired {
        /// Method of the request.
        method: &'static str,
        /// Its path.
        path: String,
        /// The pattern, if the server names it.
        pattern: Option<PatternName>,
        /// Whether the request was a sequence, which may have taught patterns before this one.
        is_sequence: bool,
    },
    /// The session is unknown or has expired, again and again: the server may lose sessions, or the
    /// TTL is too short. A [`LearnSession`](crate::LearnSession) says so at once.
    #[error(
        "find session {session_id:?}: the server forgot it again after recovery; raise the session TTL"
    )]
    SessionNotFound {
        /// The HTTP status: 404, or 410 of a session that has expired.
        status: u16,
        /// The session.
        session_id: String,
    },
    /// An answer of success has nothing in it.
    #[error(
        "read the answer to {method} {path}: it is empty, as a KATO's is while its database restarts"
    )]
    Empty {
        /// Method of the request.
        method: &'static str,
        /// Its path.
        path: String,
    },
    /// The answer is not what KATO answers. Is this address a KATO server?
    #[error("understand the answer to {method} {path}: check that this is a KATO server")]
    Decode {
        /// Method of the request.
        method: &'static str,
        /// Its path.
        path: String,
        /// What was not understood.
        source: Source,
    },
    /// The answer has more bytes than the client accepts. Is this address a KATO server? If it is,
    /// raise the limit.
    #[error(
        "read the answer to {method} {path}: it has more than {limit} bytes; check that this is a KATO server, or raise max_answer_bytes"
    )]
    TooLong {
        /// Method of the request.
        method: &'static str,
        /// Its path.
        path: String,
        /// Most bytes that the client accepts.
        limit: usize,
    },
    /// Nobody can tell whether the request acted. Look at the node's pattern if the operation could
    /// learn, then go on with [`start_over`](crate::KatoClient::start_over); until then this
    /// session accepts no work. Of [`learn_all`](crate::KatoClient::learn_all) it concerns that call alone.
    #[error(
        "learn what became of {what}: it may have acted or not; check the node, then call start_over"
    )]
    OutcomeUnknown {
        /// The one operation in doubt.
        what: String,
        /// The reason why its answer is missing; `None` for calls after the one that failed.
        source: Option<Box<Self>>,
    },
    /// The server learned another pattern than was asked for: it sorts or names otherwise
    /// (`SORT_SYMBOLS` off, another Python).
    #[error(
        "learn {expected}: the server answered {found:?}; check its SORT_SYMBOLS and version before going on"
    )]
    NameMismatch {
        /// The name that the content has.
        expected: String,
        /// What the server answered.
        found: String,
    },
    /// A new session could not be brought to the state of the lost one.
    #[error(
        "restore session {session_id:?}: the short-term memory is not what was observed; call start_over"
    )]
    NotRestored {
        /// The new session.
        session_id: String,
    },
    /// This server has no such endpoint.
    #[error("{what}: a server of generation {generation} does not offer it")]
    Unsupported {
        /// What was asked for.
        what: &'static str,
        /// The server's generation.
        generation: KatoGeneration,
    },
    /// A blocking call was made on a thread of a Tokio runtime, one of `spawn_blocking` included. Use the
    /// async client there.
    #[error("make a blocking call inside an async context: use the async client")]
    BlockingInAsync,
    /// The async runtime ended while the request was under way.
    #[error("finish {what}: the runtime was shut down")]
    Stopped {
        /// The operation.
        what: String,
    },
}

impl ClientError {
    /// Returns whether the request may have acted although it failed. Never repeat it without
    /// asking. A request that only reads acts never.
    #[must_use]
    pub const fn may_have_acted(&self) -> bool {
        match self {
            Self::Status { method, status, .. } => {
                !only_reads(method) && is_doubtful_status(*status)
            }
            Self::Timeout { method, .. }
            | Self::Interrupted { method, .. }
            // These had an answer, and one of success: only its content is missing.
            | Self::Empty { method, .. }
            | Self::Decode { method, .. }
            | Self::TooLong { method, .. } => !only_reads(method),
            Self::Retired { is_sequence, .. } => *is_sequence,
            Self::OutcomeUnknown { .. } | Self::NameMismatch { .. } | Self::Stopped { .. } => true,
            _ => false,
        }
    }

    /// Returns what a caller can do about it.
    #[must_use]
    pub const fn class(&self) -> ErrorClass {
        self.kind().class()
    }

    /// Returns what has happened, without its text.
    ///
    /// ```
    /// use kato_advice::ErrorKind;
    /// use kato_client::{KatoClient, SessionOptions};
    ///
    /// let refused = KatoClient::builder("ftp://host", SessionOptions::new("node0")).build();
    /// assert!(refused.is_err_and(|error| error.kind() == ErrorKind::InvalidArgument));
    /// ```
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        match self {
            Self::Connect { .. }
            | Self::Timeout { .. }
            | Self::Interrupted { .. }
            | Self::Empty { .. } => ErrorKind::Unavailable,
            Self::Status { status, .. } => of_status(*status),
            Self::Config { .. } | Self::Validation { .. } => ErrorKind::InvalidArgument,
            Self::Retired { .. } | Self::NameMismatch { .. } => ErrorKind::Conflict,
            Self::SessionNotFound { .. } => ErrorKind::NotFound,
            Self::Decode { .. } | Self::TooLong { .. } => ErrorKind::Malformed,
            Self::Unsupported { .. } | Self::BlockingInAsync => ErrorKind::Unsupported,
            Self::OutcomeUnknown { .. } | Self::NotRestored { .. } | Self::Stopped { .. } => {
                ErrorKind::Other
            }
        }
    }

    /// Returns whether there was no answer in time.
    #[must_use]
    pub const fn is_timeout(&self) -> bool {
        matches!(self, Self::Timeout { .. })
    }

    /// Returns the HTTP status of a refusal.
    #[must_use]
    pub const fn status(&self) -> Option<u16> {
        match self {
            Self::Status { status, .. }
            | Self::Validation { status, .. }
            | Self::SessionNotFound { status, .. } => Some(*status),
            Self::Retired { .. } => Some(409),
            _ => None,
        }
    }
}

/// Returns whether requests of a method change nothing on the server.
const fn only_reads(method: &str) -> bool {
    matches!(method.as_bytes(), b"GET" | b"HEAD")
}

/// Returns whether a server that refuses with this status may have carried the request out.
pub(crate) const fn is_doubtful_status(status: u16) -> bool {
    // A proxy may answer for a server that still works on the request, and a server may fail in the
    // middle of it.
    status == 408 || status >= 500
}

/// Returns what has happened where a server answers with this status.
const fn of_status(status: u16) -> ErrorKind {
    match status {
        // What a server is asked too often, or cannot do now: a KATO answers 500 as long as its
        // database is away.
        408 | 425 | 429 | 500 | 502..=504 => ErrorKind::Unavailable,
        401 | 403 => ErrorKind::Denied,
        404 | 410 => ErrorKind::NotFound,
        409 => ErrorKind::Conflict,
        // KATO lists the faults of arguments, but for those that it finds later.
        422 => ErrorKind::InvalidArgument,
        507 => ErrorKind::Full,
        _ => ErrorKind::Other,
    }
}

/// Describes the faults of a request in one line.
fn in_words(details: &[ValidationDetail]) -> String {
    let mut text = String::new();
    for detail in details {
        if !text.is_empty() {
            text.push_str("; ");
        }
        for part in &detail.loc {
            match part.as_str() {
                Some(key) => text.push_str(key),
                None => text.push_str(&part.to_string()),
            }
            text.push('.');
        }
        text.push(' ');
        text.push_str(&detail.msg);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_says_whether_the_request_may_have_acted() {
        for (status, expected) in [
            (400, false),
            (401, false),
            (404, false),
            (408, true),
            (422, false),
            (429, false),
            (500, true),
            (503, true),
            (504, true),
        ] {
            let error = ClientError::Status {
                status,
                method: "POST",
                path: "/sessions/s/config".to_owned(),
                detail: String::new(),
            };
            assert_eq!(error.may_have_acted(), expected, "{status}");
        }
    }

    #[test]
    fn what_only_reads_has_never_acted() {
        let path = || "/sessions/s/predictions".to_owned();
        let errors = |method| {
            [
                ClientError::Status {
                    status: 503,
                    method,
                    path: path(),
                    detail: String::new(),
                },
                ClientError::Timeout {
                    method,
                    path: path(),
                },
                ClientError::Interrupted {
                    method,
                    path: path(),
                    source: "the connection broke".into(),
                },
                ClientError::Empty {
                    method,
                    path: path(),
                },
            ]
        };
        assert!(errors("POST").iter().all(ClientError::may_have_acted));
        assert!(!errors("GET").iter().any(ClientError::may_have_acted));
    }

    #[test]
    fn a_validation_error_says_where_and_what() {
        let details = vec![ValidationDetail {
            kind: "string_type".to_owned(),
            loc: vec!["body".into(), "strings".into(), 0.into()],
            msg: "Input should be a valid string".to_owned(),
            input: serde_json::Value::Null,
            ctx: None,
        }];
        assert_eq!(
            in_words(&details),
            "body.strings.0. Input should be a valid string"
        );
    }
}
