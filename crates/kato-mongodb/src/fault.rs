//! Failures of operations on the server: which pass by, and how they are told without secrets.

use std::error::Error as StdError;
use std::fmt;

use kato_store::StoreError;
use mongodb::error::{
    Error, ErrorKind, RETRYABLE_WRITE_ERROR, TRANSIENT_TRANSACTION_ERROR,
    UNKNOWN_TRANSACTION_COMMIT_RESULT, WriteFailure,
};

/// The code of a write that breaks a unique index.
pub(crate) const DUPLICATE_KEY: i32 = 11000;

/// Codes of a server that goes down, comes up, changes its primary, or has a conflict with another transaction.
const PASSING: [i32; 24] = [
    6, 7, 24, 50, 64, 89, 91, 112, 117, 133, 134, 189, 225, 246, 251, 262, 317, 384, 9001, 10107,
    11600, 11602, 13435, 13436,
];

/// Why an operation failed.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The driver or the server.
    Driver(Error),
    /// The server did not do one of the writes of a bulk.
    Write { code: i32, message: String },
    /// It is not the server's fault.
    Store(StoreError),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Driver(error)
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl Fault {
    /// The server's code, where it gave one.
    pub(crate) fn code(&self) -> Option<i32> {
        match self {
            Self::Write { code, .. } => Some(*code),
            Self::Store(_) => None,
            Self::Driver(error) => match &*error.kind {
                ErrorKind::Command(command) => Some(command.code),
                ErrorKind::Write(WriteFailure::WriteError(write)) => Some(write.code),
                ErrorKind::Write(WriteFailure::WriteConcernError(write)) => Some(write.code),
                _ => None,
            },
        }
    }

    /// Whether the same may succeed a little later.
    pub(crate) fn is_transient(&self) -> bool {
        let Self::Driver(error) = self else {
            return matches!(self, Self::Write { code, .. } if PASSING.contains(code));
        };
        let labels = [
            RETRYABLE_WRITE_ERROR,
            TRANSIENT_TRANSACTION_ERROR,
            UNKNOWN_TRANSACTION_COMMIT_RESULT,
        ];
        let by_kind = matches!(
            *error.kind,
            ErrorKind::Io(_)
                | ErrorKind::ServerSelection { .. }
                | ErrorKind::ConnectionPoolCleared { .. }
                | ErrorKind::DnsResolve { .. }
                | ErrorKind::InvalidResponse { .. }
        );
        by_kind
            || labels.iter().any(|label| error.contains_label(label))
            || self.code().is_some_and(|code| PASSING.contains(&code))
    }

    /// The fault as text, without anything that is secret.
    pub(crate) fn told(&self, secrets: &Secrets) -> Box<dyn StdError + Send + Sync> {
        let text = match self {
            Self::Driver(error) => error.to_string(),
            Self::Write { code, message } => format!("write error {code}: {message}"),
            Self::Store(error) => error.to_string(),
        };
        Box::new(Told(secrets.hide(&text)))
    }
}

/// What the server or the driver said.
#[derive(Debug)]
struct Told(String);

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl StdError for Told {}

/// Texts that may not appear in errors: what stands before the `@` of an address, in every spelling.
#[derive(Clone, Default)]
pub(crate) struct Secrets(Vec<String>);

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secrets").finish_non_exhaustive()
    }
}

impl Secrets {
    pub(crate) fn new(texts: impl IntoIterator<Item = String>) -> Self {
        let mut texts: Vec<String> = texts.into_iter().filter(|text| !text.is_empty()).collect();
        // The longest first: one may be part of another.
        texts.sort_by_key(|text| std::cmp::Reverse(text.len()));
        Self(texts)
    }

    fn hide(&self, text: &str) -> String {
        self.0
            .iter()
            .fold(text.to_owned(), |text, secret| text.replace(secret, "***"))
    }
}
