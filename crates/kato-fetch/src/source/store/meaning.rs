//! What errors of a store's code mean, and errors of this crate carried through it.

use std::sync::{Mutex, PoisonError};

use object_store::client::{HttpError, HttpErrorKind};

use crate::FetchError;
use crate::location::invalid;

/// Returns what a store's error means.
pub(super) fn meaning(shown: &str, error: object_store::Error) -> FetchError {
    use object_store::Error;
    let url = shown.to_owned();
    // What the client has found out first-hand says more than what the store's code makes of it.
    match inner_error(&error) {
        Some(FetchError::NoCredentials { .. }) => {
            let advice = without_credentials(shown);
            return FetchError::NoCredentials { url, advice };
        }
        Some(inner) => return inner,
        None => {}
    }
    match error {
        Error::NotFound { .. } => FetchError::NotFound { url },
        Error::Precondition { .. } | Error::NotModified { .. } => FetchError::Changed {
            url,
            what: "validator",
            was: "the one listed".to_owned(),
            is: "another".to_owned(),
        },
        Error::PermissionDenied { .. } => refused(url, 403),
        Error::Unauthenticated { .. } => refused(url, 401),
        Error::InvalidPath { .. }
        | Error::NotSupported { .. }
        | Error::UnknownConfigurationKey { .. } => invalid(shown, error.to_string()),
        error if is_network(&error) => FetchError::Connection {
            url,
            attempts: 1,
            source: Box::new(error),
        },
        // What is left are answers that make no sense, among them lists and ranges that were cut
        // short.
        error => FetchError::WrongAnswer {
            url,
            reason: error.to_string(),
            attempts: 1,
        },
    }
}

/// Returns whether the network is among the causes of an error.
fn is_network(error: &object_store::Error) -> bool {
    let first = std::error::Error::source(error);
    std::iter::successors(first, |error| error.source()).any(|error| error.is::<HttpError>())
}

/// Returns what to do where a store asks for credentials and there are none.
fn without_credentials(shown: &str) -> &'static str {
    match shown.split_once("://").map(|(scheme, _)| scheme) {
        Some("s3" | "s3a") => {
            "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE; for a public bucket AWS_SKIP_SIGNATURE=true"
        }
        Some("gs") => "set GOOGLE_SERVICE_ACCOUNT; for a public bucket GOOGLE_SKIP_SIGNATURE=true",
        _ => {
            "set AZURE_STORAGE_ACCOUNT_KEY or AZURE_STORAGE_SAS_KEY; for a public container AZURE_SKIP_SIGNATURE=true"
        }
    }
}

/// Returns the error for credentials that are missing or do not suffice.
fn refused(url: String, status: u16) -> FetchError {
    FetchError::Unauthorized {
        url,
        status,
        advice: "give the store's credentials, or for a public bucket of S3 the option AWS_SKIP_SIGNATURE=true",
    }
}

/// Returns the error of this crate that an error of a store wraps.
fn inner_error(error: &object_store::Error) -> Option<FetchError> {
    let first = std::error::Error::source(error);
    // Sources of an error are shared references: only through the lock can the error be taken out.
    let Passed(passed) = std::iter::successors(first, |error| error.source())
        .find_map(|error| error.downcast_ref())?;
    passed.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// Wrapper that carries an error of this crate through the code of a store.
#[derive(Debug, thiserror::Error)]
#[error("the request failed")]
struct Passed(Mutex<Option<FetchError>>);

/// Wraps an error of this crate.
pub(super) fn pass(kind: HttpErrorKind, error: FetchError) -> HttpError {
    HttpError::new(kind, Passed(Mutex::new(Some(error))))
}
