//! Error type of the crate.

use std::io;
use std::time::Duration;

use kato_advice::{ErrorClass, ErrorKind};

/// Cause reported by another library.
pub(crate) type Cause = Box<dyn std::error::Error + Send + Sync>;

/// Reason why remote bytes could not be read. No text is meant to hold a token, a password or the
/// signature of a URL.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// A location or a name is not well formed.
    #[error("location `{location}` cannot be used: {reason}")]
    InvalidLocation {
        /// As given, without secrets.
        location: String,
        /// What is wrong, and what is expected.
        reason: String,
    },
    /// A setting of the builder cannot work.
    #[error("setting `{setting}` cannot be used: {reason}")]
    InvalidSetting {
        /// Name of the builder's method, or of the variable of the environment.
        setting: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// There is nothing at this address.
    #[error("`{url}` does not exist; check the spelling, and the revision if there is one")]
    NotFound {
        /// The address.
        url: String,
    },
    /// The server requires credentials, or refuses the ones that were given.
    #[error("`{url}` may not be read (status {status}): {advice}")]
    Unauthorized {
        /// The address.
        url: String,
        /// 401 or 403.
        status: u16,
        /// What to do.
        advice: &'static str,
    },
    /// A store needs credentials, and neither settings nor the machine have any.
    #[error("`{url}` needs credentials, and there are none: {advice}")]
    NoCredentials {
        /// The address.
        url: String,
        /// What to do.
        advice: &'static str,
    },
    /// The file is no longer the one that the reader was opened on.
    #[error(
        "`{url}` has changed: its {what} was {was}, is {is}; list the location anew to read the new content"
    )]
    Changed {
        /// The address.
        url: String,
        /// Which property differs.
        what: &'static str,
        /// What it was.
        was: String,
        /// What it is.
        is: String,
    },
    /// A body ended before its announced end.
    #[error("the answer of `{url}` ended after {}{}", part(*received, *expected), after(*attempts))]
    Truncated {
        /// The address.
        url: String,
        /// Bytes asked for; no more than those received where the length was not known.
        expected: u64,
        /// Bytes received.
        received: u64,
        /// Attempts made.
        attempts: u32,
        /// The network's error, if there is one.
        source: Option<Cause>,
    },
    /// The server sent something else than what was asked for.
    #[error("`{url}` gave a wrong answer: {reason}{}", after(*attempts))]
    WrongAnswer {
        /// The address.
        url: String,
        /// What was expected and what came.
        reason: String,
        /// Attempts made.
        attempts: u32,
    },
    /// No data arrived for too long.
    #[error("`{url}` was silent for {waited:?}{}; try again later, or allow more time", after(*attempts))]
    Timeout {
        /// The address.
        url: String,
        /// How long the last attempt waited.
        waited: Duration,
        /// Attempts made.
        attempts: u32,
    },
    /// No connection could be made, or it broke.
    #[error("the connection to `{url}` failed{}; check the network and the address", after(*attempts))]
    Connection {
        /// The address.
        url: String,
        /// Attempts made.
        attempts: u32,
        /// The network's error.
        source: Cause,
    },
    /// The server answered with an error.
    #[error("`{url}` answered with status {status}{}{}{}", asked(*retry_after), after(*attempts), status_advice(*status))]
    Status {
        /// The address.
        url: String,
        /// The HTTP status.
        status: u16,
        /// Attempts made.
        attempts: u32,
        /// How long the server asked to wait.
        retry_after: Option<Duration>,
    },
    /// A body stopped before its end, and nothing came any more.
    #[error(
        "`{url}` stopped after {} and was silent for {waited:?}{}; try again later, or allow more time",
        part(*received, *expected),
        after(*attempts)
    )]
    Stalled {
        /// The address.
        url: String,
        /// Bytes asked for; no more than those received where the length was not known.
        expected: u64,
        /// Bytes received.
        received: u64,
        /// How long the last attempt waited.
        waited: Duration,
        /// Attempts made.
        attempts: u32,
    },
    /// A server that has not answered this fetcher before does not answer.
    #[error(
        "`{url}` did not answer within {waited:?}; check the address and the network, or allow more time"
    )]
    Silent {
        /// The address.
        url: String,
        /// How long it was waited for.
        waited: Duration,
    },
    /// A server sends, but far too slowly.
    #[error(
        "`{url}` sends too slowly: {received} bytes in {waited:?}, where {least_rate} a second are the least{}; try again \
         later, or allow a lower rate",
        after(*attempts)
    )]
    TooSlow {
        /// The address.
        url: String,
        /// Bytes received.
        received: u64,
        /// Time in which they were.
        waited: Duration,
        /// The least rate, in bytes a second.
        least_rate: u64,
        /// Attempts made.
        attempts: u32,
    },
    /// An answer of an API came in pieces, and was not whole when its time was over.
    #[error(
        "`{url}` had not answered in full after {waited:?}, with {received} bytes{}; try again later, or allow more time",
        after(*attempts)
    )]
    Unfinished {
        /// The address.
        url: String,
        /// Bytes received.
        received: u64,
        /// How long the last attempt waited for all of it.
        waited: Duration,
        /// Attempts made.
        attempts: u32,
    },
    /// A server sends or announces more than is allowed.
    #[error(
        "`{url}` {what}, more than the {limit} bytes that are allowed; allow more ({setting}) if that is right"
    )]
    TooMuch {
        /// The address.
        url: String,
        /// What it sends or announces.
        what: String,
        /// The limit, in bytes.
        limit: u64,
        /// Name of the limit, a field of [`TransferLimits`](crate::TransferLimits).
        setting: &'static str,
    },
    /// A redirect that is not followed.
    #[error("`{url}` redirects {reason}; give the address of the file itself")]
    Redirect {
        /// The address.
        url: String,
        /// Where to, and why that is not followed.
        reason: String,
    },
    /// The file cannot be read by ranges, only from its beginning.
    #[error("`{url}` cannot be read by ranges; read it as a stream")]
    NoRanges {
        /// The address.
        url: String,
    },
    /// The server offers the file in a way that cannot be read safely.
    #[error("`{url}` cannot be read: {reason}; download it by other means")]
    Unsupported {
        /// The address.
        url: String,
        /// The reason.
        reason: String,
    },
    /// A range lies outside the file.
    #[error("bytes {start}..{end} of `{url}` do not exist: it has {size}")]
    InvalidRange {
        /// The address.
        url: String,
        /// First byte asked for.
        start: u64,
        /// Byte after the last one asked for.
        end: u64,
        /// Size of the file.
        size: u64,
    },
    /// A stream broke and cannot be resumed, because nothing proves that the file is still the
    /// same.
    #[error(
        "`{url}` broke off after {position} bytes and cannot be continued: {reason}; read it again from the start"
    )]
    NotResumable {
        /// The address.
        url: String,
        /// Bytes delivered so far.
        position: u64,
        /// The reason.
        reason: &'static str,
        /// The fault that broke it.
        source: Box<Self>,
    },
    /// The dataset has several configurations, or not the one asked for.
    #[error("dataset `{dataset}` has {}; name one of: {}", missing("configuration", asked.as_deref()), available.join(", "))]
    UnknownConfig {
        /// The dataset.
        dataset: String,
        /// The configuration asked for, if any.
        asked: Option<String>,
        /// The ones that exist.
        available: Vec<String>,
    },
    /// The dataset does not have the split asked for.
    #[error("configuration `{config}` of dataset `{dataset}` has no split `{asked}`; name one of: {}", available.join(", "))]
    UnknownSplit {
        /// The dataset.
        dataset: String,
        /// The configuration.
        config: String,
        /// The split asked for.
        asked: String,
        /// The ones that exist.
        available: Vec<String>,
    },
    /// Only a part of the dataset was converted to Parquet, and its own files are of no known
    /// format.
    #[error(
        "of dataset `{dataset}`, configuration `{config}`, split `{split}`, the hub converted only a first part to Parquet, and the \
         repository holds no files of a known format; convert the dataset yourself and read the files"
    )]
    PartialConversionOnly {
        /// The dataset.
        dataset: String,
        /// The configuration.
        config: String,
        /// The split.
        split: String,
    },
    /// A location holds no file that could be read.
    #[error("`{location}` holds no data file; {advice}")]
    NoFiles {
        /// The location.
        location: String,
        /// What to do.
        advice: String,
    },
    /// The reader's [`CancellationToken`](crate::CancellationToken) was used.
    #[error("reading was cancelled")]
    Cancelled,
    /// The stream has already ended with an error.
    #[error("the stream already ended with an error; open it anew at its position")]
    Stopped,
    /// The folder of the cache cannot be made.
    #[error("cache folder `{path}` cannot be used; check its permissions, or read without a cache")]
    Cache {
        /// The folder.
        path: String,
        /// The operating system's error.
        source: io::Error,
    },
    /// The threads that carry out requests could not be started, or are gone.
    #[error("the threads that carry out requests are not there; build a new fetcher")]
    Runtime {
        /// The operating system's error, if there is one.
        source: Option<io::Error>,
    },
}

impl FetchError {
    /// Returns whether a request is tried again after it, as far as the policy goes.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        match self {
            // Every variant is listed, so that a new one cannot be forgotten here.
            Self::Truncated { .. }
            | Self::WrongAnswer { .. }
            | Self::Timeout { .. }
            | Self::TooSlow { .. }
            | Self::Unfinished { .. }
            | Self::Stalled { .. }
            | Self::Connection { .. } => true,
            Self::Status { status, .. } => is_transient_status(*status),
            Self::InvalidLocation { .. }
            | Self::InvalidSetting { .. }
            | Self::NotFound { .. }
            | Self::Unauthorized { .. }
            | Self::NoCredentials { .. }
            | Self::Changed { .. }
            | Self::Silent { .. }
            | Self::TooMuch { .. }
            | Self::Redirect { .. }
            | Self::NoRanges { .. }
            | Self::Unsupported { .. }
            | Self::InvalidRange { .. }
            | Self::NotResumable { .. }
            | Self::UnknownConfig { .. }
            | Self::UnknownSplit { .. }
            | Self::PartialConversionOnly { .. }
            | Self::NoFiles { .. }
            | Self::Cancelled
            | Self::Stopped
            | Self::Cache { .. }
            | Self::Runtime { .. } => false,
        }
    }

    /// Returns what a caller can do about it.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        self.kind().class()
    }

    /// Returns what has happened, without its text.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Silent { .. } => ErrorKind::Unavailable,
            Self::NotFound { .. } => ErrorKind::NotFound,
            Self::Unauthorized { .. } | Self::NoCredentials { .. } => ErrorKind::Denied,
            Self::Changed { .. } => ErrorKind::Conflict,
            Self::Cancelled => ErrorKind::Interrupted,
            Self::NotResumable { source, .. } => source.kind(),
            Self::Cache { source, .. } => ErrorKind::of_io(source.kind()),
            Self::InvalidLocation { .. }
            | Self::InvalidSetting { .. }
            | Self::UnknownConfig { .. }
            | Self::UnknownSplit { .. } => ErrorKind::InvalidArgument,
            // Though it is tried again: what came to the end of the attempts is how the server answers.
            Self::WrongAnswer { .. } => ErrorKind::Malformed,
            error if error.is_transient() => ErrorKind::Unavailable,
            Self::NoFiles { .. } => ErrorKind::NotFound,
            Self::PartialConversionOnly { .. }
            | Self::NoRanges { .. }
            | Self::Unsupported { .. } => ErrorKind::Unsupported,
            _ => ErrorKind::Other,
        }
    }

    /// Returns the error of this crate inside an error of [`FileStream`](crate::FileStream).
    #[must_use]
    pub fn within(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }

    /// Returns whether a body has ended too early as if it were complete, rather than by a fault of
    /// the network.
    pub(crate) fn is_an_end(&self) -> bool {
        let Self::Truncated { source, .. } = self else {
            return false;
        };
        let Some(source) = source else { return true };
        let first: &(dyn std::error::Error + 'static) = source.as_ref();
        std::iter::successors(Some(first), |cause| cause.source()).any(|cause| {
            let io = cause.downcast_ref::<io::Error>();
            let http = cause.downcast_ref::<hyper::Error>();
            io.is_some_and(|error| error.kind() == io::ErrorKind::UnexpectedEof)
                || http.is_some_and(hyper::Error::is_incomplete_message)
        })
    }

    /// Returns how long the server asked to wait.
    pub(crate) const fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Status { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// Returns the same error with the number of attempts made.
    pub(crate) fn after(mut self, made: u32) -> Self {
        if let Self::Truncated { attempts, .. }
        | Self::WrongAnswer { attempts, .. }
        | Self::Timeout { attempts, .. }
        | Self::TooSlow { attempts, .. }
        | Self::Unfinished { attempts, .. }
        | Self::Stalled { attempts, .. }
        | Self::Connection { attempts, .. }
        | Self::Status { attempts, .. } = &mut self
        {
            *attempts = made;
        }
        self
    }
}

impl From<FetchError> for io::Error {
    fn from(error: FetchError) -> Self {
        let kind = match &error {
            FetchError::NotFound { .. } => io::ErrorKind::NotFound,
            FetchError::Unauthorized { .. } | FetchError::NoCredentials { .. } => {
                io::ErrorKind::PermissionDenied
            }
            FetchError::Timeout { .. }
            | FetchError::Silent { .. }
            | FetchError::Stalled { .. }
            | FetchError::TooSlow { .. }
            | FetchError::Unfinished { .. } => io::ErrorKind::TimedOut,
            FetchError::Truncated { .. } => io::ErrorKind::UnexpectedEof,
            FetchError::Connection { .. } => io::ErrorKind::ConnectionAborted,
            // Not `Interrupted` for a cancelled read: `Read::read_exact` and others would try
            // again.
            _ => io::ErrorKind::Other,
        };
        Self::new(kind, error)
    }
}

/// Returns whether a status stands for a fault that may pass: 408, 425, 429 and server errors,
/// except for 501, by which the server says that it lacks the function.
pub(crate) const fn is_transient_status(status: u16) -> bool {
    matches!(status, 408 | 425 | 429 | 500 | 502..=599)
}

/// Returns how much of an answer was received, in words.
fn part(received: u64, expected: u64) -> String {
    match received < expected {
        true => format!("{received} of {expected} bytes"),
        false => format!("{received} bytes, which were not all"),
    }
}

/// Returns how many attempts were made, in words; nothing for a single one.
fn after(attempts: u32) -> String {
    match attempts {
        0 | 1 => String::new(),
        n => format!(" (after {n} attempts)"),
    }
}

/// Returns how long the server asks to wait, in words.
fn asked(retry_after: Option<Duration>) -> String {
    retry_after.map_or_else(String::new, |wait| {
        format!(" and asks to wait {} s", wait.as_secs())
    })
}

/// Returns what a user can do about a status.
const fn status_advice(status: u16) -> &'static str {
    match status {
        429 => "; the server limits how much one may ask: use a token, or ask less at a time",
        408 | 425 | 500..=599 => "; try again later",
        _ => "; check the address",
    }
}

/// Returns what is wrong with the choice of a configuration, in words.
fn missing(what: &str, asked: Option<&str>) -> String {
    asked.map_or_else(
        || format!("several {what}s and none is the default"),
        |asked| format!("no {what} `{asked}`"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_say_what_to_do() {
        let check = |error: FetchError, expected: &str| assert_eq!(error.to_string(), expected);
        check(
            FetchError::UnknownConfig {
                dataset: "a/b".to_owned(),
                asked: None,
                available: vec!["de".to_owned(), "en".to_owned()],
            },
            "dataset `a/b` has several configurations and none is the default; name one of: de, en",
        );
        check(
            FetchError::Status {
                url: "https://x/y".to_owned(),
                status: 503,
                attempts: 1,
                retry_after: None,
            }
            .after(8),
            "`https://x/y` answered with status 503 (after 8 attempts); try again later",
        );
    }

    #[test]
    fn what_may_pass_is_tried_again() {
        for status in [408, 425, 429, 500, 502, 503, 504, 520] {
            assert!(is_transient_status(status), "{status}");
        }
        for status in [200, 301, 400, 401, 403, 404, 410, 412, 416, 501] {
            assert!(!is_transient_status(status), "{status}");
        }
    }

    #[test]
    fn a_wrong_answer_is_no_absence_though_it_is_tried_again() {
        let url = || "https://x/y".to_owned();
        let wrong = || FetchError::WrongAnswer {
            url: url(),
            reason: "no JSON".to_owned(),
            attempts: 3,
        };
        assert!(wrong().is_transient());
        assert_eq!(wrong().kind(), ErrorKind::Malformed);
        let broken = FetchError::NotResumable {
            url: url(),
            position: 1,
            reason: "of this test",
            source: Box::new(wrong()),
        };
        assert_eq!(broken.kind(), ErrorKind::Malformed);
        let late = FetchError::Unfinished {
            url: url(),
            received: 5,
            waited: Duration::from_secs(120),
            attempts: 1,
        };
        assert!(late.is_transient());
        assert_eq!(late.kind(), ErrorKind::Unavailable);
        assert_eq!(
            late.after(3).to_string(),
            "`https://x/y` had not answered in full after 120s, with 5 bytes (after 3 attempts); try again later, or allow more time"
        );
    }
}
