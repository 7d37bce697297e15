//! The place of a knowledge base as an argument names it: a directory, a KATO server or a MongoDB.

use std::env;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use kato_store::EmbeddedStore;

use crate::advice::in_options;
use crate::notice::say;

/// Environment variable that holds the address of a MongoDB, so that no password stands on a
/// command line.
pub(crate) const MONGODB_URI: &str = "KATO_MONGODB_URI";

/// A place that holds knowledge bases.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Backend {
    /// A directory of this machine.
    Embedded(PathBuf),
    /// A KATO server.
    Kato(String),
    /// A MongoDB.
    Mongodb(String),
}

/// The error of a name that is no such place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum InvalidBackend {
    /// It is no place.
    #[error(
        "use embedded:DIR, kato:URL (http://… or https://…), or mongodb:URI (mongodb alone takes the URI from {MONGODB_URI}, which is not set)"
    )]
    Place,
    /// The environment names no MongoDB. What it says may hold a password.
    #[error("{MONGODB_URI} is no address of a MongoDB: begin it with mongodb:// or mongodb+srv://")]
    Variable,
}

impl FromStr for Backend {
    type Err = InvalidBackend;

    fn from_str(text: &str) -> Result<Self, InvalidBackend> {
        let is_mongodb =
            |text: &str| text.starts_with("mongodb://") || text.starts_with("mongodb+srv://");
        let not_empty = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        // `mongodb://host` is an address already; `mongodb:mongodb://host` is one behind its kind.
        if is_mongodb(text) {
            return Ok(Self::Mongodb(text.to_owned()));
        }
        match text.split_once(':') {
            None if text == "mongodb" => {
                let uri = env::var(MONGODB_URI).unwrap_or_default();
                if !uri.is_empty() && !is_mongodb(&uri) {
                    return Err(InvalidBackend::Variable);
                }
                not_empty(&uri)
                    .map(Self::Mongodb)
                    .ok_or(InvalidBackend::Place)
            }
            Some(("mongodb", uri)) => not_empty(uri)
                .map(Self::Mongodb)
                .ok_or(InvalidBackend::Place),
            Some(("kato", url)) if url.starts_with("http://") || url.starts_with("https://") => {
                Ok(Self::Kato(url.to_owned()))
            }
            // An address would become a directory `https:`.
            Some(("embedded", dir)) if !dir.contains("://") => not_empty(dir)
                .map(|dir| Self::Embedded(dir.into()))
                .ok_or(InvalidBackend::Place),
            _ => Err(InvalidBackend::Place),
        }
    }
}

impl Backend {
    /// Returns the word that names such places.
    #[must_use]
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Embedded(_) => "embedded",
            Self::Kato(_) => "kato",
            Self::Mongodb(_) => "mongodb",
        }
    }

    /// Parses what [`FromStr`] takes, or a directory by its path alone.
    ///
    /// # Errors
    ///
    /// When the text is empty, or looks like a form or an address and is no place.
    pub(crate) fn or_directory(text: &str) -> Result<Self, InvalidBackend> {
        let kind = text.split(':').next().unwrap_or_default();
        match text.parse() {
            // A mistyped `kato:` must not become a directory of that name. Any other text with a
            // colon may be a path, such as `C:\kb`.
            // An address neither.
            Err(InvalidBackend::Place)
                if !matches!(kind, "embedded" | "kato" | "mongodb" | "")
                    && !text.contains("://") =>
            {
                Ok(Self::Embedded(text.into()))
            }
            parsed => parsed,
        }
    }
}

/// Shows the place without credentials.
impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Embedded(dir) => write!(f, "embedded:{}", dir.display()),
            Self::Kato(url) => write!(f, "kato:{}", without_credentials(url)),
            Self::Mongodb(uri) => f.write_str(&without_credentials(uri)),
        }
    }
}

/// Shows the same as `Display`: a derived form would show passwords.
impl fmt::Debug for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Returns an address without its user, password, path and options.
fn without_credentials(address: &str) -> String {
    let (scheme, rest) = address.split_once("://").unwrap_or(("", address));
    let (authority, behind) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    // The last `@` ends the credentials, as a password may hold one itself. With one further on, it
    // may hold a `/` that should have been escaped: then what stands before that is its beginning.
    let hosts = match behind.contains('@') {
        true => "…",
        false => authority.rsplit('@').next().unwrap_or_default(),
    };
    match scheme {
        "" => hosts.to_owned(),
        scheme => format!("{scheme}://{hosts}"),
    }
}

/// Warns on standard error when a store had to go back to an older commit.
pub(crate) fn warn_of_recovery(store: &EmbeddedStore) {
    if let Some(recovery) = store.recovered() {
        say(format_args!(
            "warning: {}",
            in_options(&recovery.to_string())
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_named_in_one_way_and_shown_without_credentials() {
        for (text, shown) in [
            ("embedded:a/b", "embedded:a/b"),
            (
                "kato:http://user:secret@localhost:8000/x",
                "kato:http://localhost:8000",
            ),
            (
                "mongodb://u:p@host:27017,other/?tls=true",
                "mongodb://host:27017,other",
            ),
            ("mongodb:mongodb+srv://u:p@host/db", "mongodb+srv://host"),
            ("mongodb://u:p@a@host/db", "mongodb://host"),
            ("mongodb://u:sec/ret@host/db", "mongodb://…"),
            ("mongodb://u:se@c/r?et@host", "mongodb://…"),
            ("mongodb:u:sec/ret@host", "…"),
        ] {
            let backend: Backend = text.parse().unwrap();
            assert_eq!(
                (backend.to_string(), format!("{backend:?}")),
                (shown.to_owned(), shown.to_owned())
            );
        }
        for text in [
            "",
            "my-kb",
            "embedded:",
            "embedded:https://host/kb",
            "kato:",
            "kato:host:80",
            "mongodb:",
            "redis:x",
        ] {
            assert!(text.parse::<Backend>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_directory_may_be_named_by_its_path_alone() {
        for dir in ["my-kb", "a/b", "C:\\kb", "redis:x"] {
            let place = Backend::or_directory(dir).unwrap();
            assert_eq!(place, Backend::Embedded(dir.into()));
        }
        let place = Backend::or_directory("embedded:my-kb").unwrap();
        assert_eq!(place, Backend::Embedded("my-kb".into()));
        for text in ["", "embedded:", "kato:", "mongodb:"] {
            assert!(Backend::or_directory(text).is_err(), "{text}");
        }
    }
}
