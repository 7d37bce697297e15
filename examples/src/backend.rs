//! Where knowledge lies, as an argument names it, and opening the stores among these places.

use std::env;
use std::fmt;
use std::io::{Write, stderr};
use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Context, Result, bail};
use kato_model::RunName;
use kato_mongodb::MongoStore;
use kato_store::{EmbeddedStore, PatternStore};

/// Variable that holds the address of a MongoDB, so that no password stands on a command line.
pub const MONGODB_URI: &str = "KATO_MONGODB_URI";

/// A place for knowledge.
#[derive(Clone, PartialEq, Eq)]
pub enum Backend {
    /// A directory of this machine.
    Embedded(PathBuf),
    /// A KATO server.
    Kato(String),
    /// A MongoDB.
    Mongodb(String),
}

/// What is wrong with the name of a place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "use embedded:DIR, kato:URL, or mongodb:URI (mongodb alone takes the URI from {MONGODB_URI}, which is not set)"
)]
pub struct InvalidBackend;

impl FromStr for Backend {
    type Err = InvalidBackend;

    fn from_str(text: &str) -> Result<Self, InvalidBackend> {
        let not_empty = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        // `mongodb://host` is an address already; `mongodb:mongodb://host` is one behind its kind.
        if text.starts_with("mongodb://") || text.starts_with("mongodb+srv://") {
            return Ok(Self::Mongodb(text.to_owned()));
        }
        match text.split_once(':') {
            None if text == "mongodb" => env::var(MONGODB_URI)
                .map(Self::Mongodb)
                .map_err(|_| InvalidBackend),
            Some(("mongodb", uri)) => not_empty(uri).map(Self::Mongodb).ok_or(InvalidBackend),
            Some(("kato", url)) => not_empty(url).map(Self::Kato).ok_or(InvalidBackend),
            Some(("embedded", dir)) => not_empty(dir)
                .map(|dir| Self::Embedded(dir.into()))
                .ok_or(InvalidBackend),
            _ => Err(InvalidBackend),
        }
    }
}

/// Without credentials.
impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Embedded(dir) => write!(f, "embedded:{}", dir.display()),
            Self::Kato(url) => write!(f, "kato:{}", without_credentials(url)),
            Self::Mongodb(uri) => f.write_str(&without_credentials(uri)),
        }
    }
}

impl fmt::Debug for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// An address without its user, password and options.
fn without_credentials(address: &str) -> String {
    let (scheme, rest) = address.split_once("://").unwrap_or(("", address));
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    let hosts = authority.rsplit('@').next().unwrap_or_default();
    match scheme {
        "" => hosts.to_owned(),
        scheme => format!("{scheme}://{hosts}"),
    }
}

/// What a store is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Also while another process writes.
    Read,
    /// By one process at a time.
    Write,
}

/// Opens the store at a place: a directory, `embedded:DIR`, or the databases of `run` in `mongodb:URI`. When it had to go back to an
/// older commit, standard error tells.
///
/// # Errors
///
/// When there is none, it cannot be read, another process writes to it, or nobody says which run of a MongoDB is meant.
pub fn open_store(
    place: &str,
    run: Option<&RunName>,
    access: Access,
) -> Result<Box<dyn PatternStore>> {
    let dir = match place.parse() {
        Ok(Backend::Kato(_)) => bail!("the knowledge of a server can only be read by the server"),
        Ok(Backend::Mongodb(uri)) => {
            let run =
                run.context("say which run of the MongoDB: --run NAME (`runs list` shows them)")?;
            let builder = MongoStore::builder(uri, run.clone());
            return Ok(match access {
                Access::Read => Box::new(builder.open_read_only()?),
                Access::Write => Box::new(builder.open()?),
            });
        }
        Ok(Backend::Embedded(dir)) => dir,
        Err(InvalidBackend) if place == "mongodb" => return Err(InvalidBackend.into()),
        // A plain directory.
        Err(InvalidBackend) => PathBuf::from(place),
    };
    let store = match access {
        Access::Read => EmbeddedStore::open_read_only(&dir)?,
        Access::Write => EmbeddedStore::open(&dir)?,
    };
    warn_of_recovery(&store);
    Ok(Box::new(store))
}

/// Tells when a store had to go back to an older commit.
pub fn warn_of_recovery(store: &EmbeddedStore) {
    if let Some(recovery) = store.recovered() {
        // A closed standard error must not end the program.
        drop(writeln!(stderr(), "warning: {recovery}"));
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
        ] {
            let backend: Backend = text.parse().unwrap();
            assert_eq!(
                (backend.to_string(), format!("{backend:?}")),
                (shown.to_owned(), shown.to_owned())
            );
        }
        for text in ["", "my-kb", "embedded:", "kato:", "mongodb:", "redis:x"] {
            assert!(text.parse::<Backend>().is_err(), "{text}");
        }
    }
}
