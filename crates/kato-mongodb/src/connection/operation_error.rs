//! Failures of operations on the server: which of them pass, and how they are shown without
//! secrets.

use std::error::Error as StdError;

use kato_store::StoreError;
use mongodb::error::{
    Error, ErrorKind, RETRYABLE_WRITE_ERROR, TRANSIENT_TRANSACTION_ERROR,
    UNKNOWN_TRANSACTION_COMMIT_RESULT, WriteFailure,
};

use super::secrets::Secrets;

/// The code of a write that breaks a unique index.
pub(crate) const DUPLICATE_KEY: i32 = 11000;

/// Codes of a server that goes down, comes up, changes its primary, or has a conflict with another
/// transaction.
const TRANSIENT_CODES: [i32; 24] = [
    6, 7, 24, 50, 64, 89, 91, 112, 117, 133, 134, 189, 225, 246, 251, 262, 317, 384, 9001, 10107,
    11600, 11602, 13435, 13436,
];

/// The reason why an operation failed.
#[derive(Debug)]
pub(crate) enum OperationError {
    /// A failure of the driver, or an answer of the server.
    Driver(Error),
    /// A write of a bulk that the server did not do.
    Write { code: i32, message: String },
    /// A failure that is not the server's.
    Store(StoreError),
}

impl From<Error> for OperationError {
    fn from(error: Error) -> Self {
        Self::Driver(error)
    }
}

impl From<StoreError> for OperationError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl OperationError {
    /// Returns the server's code, where it gave one.
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

    /// Returns whether the same operation may succeed a little later.
    pub(crate) fn is_transient(&self) -> bool {
        let Self::Driver(error) = self else {
            return matches!(self, Self::Write { code, .. } if TRANSIENT_CODES.contains(code));
        };
        // A transaction whose outcome is unknown may be repeated as well: its note shows whether it
        // was committed.
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
            || self
                .code()
                .is_some_and(|code| TRANSIENT_CODES.contains(&code))
    }

    /// Returns the failure as an error of text, without anything that is secret.
    pub(crate) fn redacted(&self, secrets: &Secrets) -> Box<dyn StdError + Send + Sync> {
        // Text alone, because the driver's error as a source would show its own message, address
        // included.
        let text = match self {
            Self::Driver(error) => without_servers(error.kind.to_string()),
            Self::Write { code, message } => format!("write error {code}: {message}"),
            Self::Store(error) => error.to_string(),
        };
        secrets.redacted(&text)
    }
}

/// Returns what the driver says went wrong without all that it knows of the servers, which is for its makers.
fn without_servers(text: String) -> String {
    let Some((said, servers)) = text.split_once(" Topology: ") else {
        return text;
    };
    // The first cause that one of them gives.
    let cause = servers.split_once("Error: Kind: ").map(|(_, cause)| cause);
    let cause = cause.and_then(|cause| cause.split_once(", labels: "));
    match cause {
        Some((cause, _)) => format!("{said} {cause}"),
        None => said.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_that_cannot_be_reached_are_told_with_their_first_cause() {
        let servers = "{ Type: Unknown, Servers: [ { Address: a:1, Type: Unknown, Error: Kind: I/O error: Connection refused (os error 111), labels: {\"RetryableError\"}, source: None } ] }";
        assert_eq!(
            without_servers(format!("No available servers. Topology: {servers}")),
            "No available servers. I/O error: Connection refused (os error 111)"
        );
        assert_eq!(without_servers("not primary".to_owned()), "not primary");
    }
}
