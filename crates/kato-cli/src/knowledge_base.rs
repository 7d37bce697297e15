//! The options that name the knowledge base of a command, and opening it.

use std::fmt;

use anyhow::{Result, bail};
use clap::Args;
use clap::error::{Error, ErrorKind};
use kato_model::RunName;
use kato_mongodb::MongoStore;
use kato_store::{EmbeddedStore, PatternStore};

use crate::backend::{Backend, warn_of_recovery};

/// The access that a command needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Also while another process writes.
    Read,
    /// By one process at a time.
    Write,
}

/// Which knowledge base a program looks into.
#[derive(Debug, Args)]
pub(crate) struct KnowledgeBaseArgs {
    /// The knowledge base: a directory (embedded:DIR is the same), or mongodb:URI with --run
    /// (mongodb alone takes the URI from KATO_MONGODB_URI).
    #[arg(long, value_name = "PLACE", default_value = "kato-kb", value_parser = Backend::or_directory)]
    kb: Backend,
    /// Which run of a MongoDB; `kato runs list` shows them.
    #[arg(long, value_name = "NAME")]
    run: Option<RunName>,
}

impl KnowledgeBaseArgs {
    /// Refuses what cannot be opened.
    ///
    /// # Errors
    ///
    /// A wrong usage, with what to say instead.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let text = match (&self.kb, &self.run) {
            (Backend::Kato(_), _) => "what a server knows is asked for at the server",
            (Backend::Mongodb(_), None) => {
                "say which run of the MongoDB: --run NAME (`kato runs list` shows them)"
            }
            (Backend::Embedded(_), Some(_)) => {
                "--run is for mongodb: a directory holds one knowledge base"
            }
            _ => return Ok(()),
        };
        Err(Error::raw(ErrorKind::ArgumentConflict, format!("{text}\n")))
    }

    /// Opens the knowledge base.
    ///
    /// When it had to go back to an older commit, a warning on standard error says so.
    ///
    /// # Errors
    ///
    /// When there is none, it cannot be read, another process writes to it, or
    /// [`check`](Self::check) refuses it.
    pub(crate) fn open(&self, access: Access) -> Result<Box<dyn PatternStore>> {
        Ok(match (&self.kb, &self.run) {
            (Backend::Embedded(dir), None) => {
                let store = match access {
                    Access::Read => EmbeddedStore::open_read_only(dir)?,
                    Access::Write => EmbeddedStore::open(dir)?,
                };
                warn_of_recovery(&store);
                Box::new(store)
            }
            (Backend::Mongodb(uri), Some(run)) => {
                let builder = MongoStore::builder(uri, run.clone());
                match access {
                    Access::Read => Box::new(builder.open_read_only()?),
                    Access::Write => Box::new(builder.open()?),
                }
            }
            // What `check` refuses: only a command that did not call it comes here.
            _ => bail!("no such knowledge base can be opened: {self}"),
        })
    }
}

/// Shows the place, and the run where a place has several, without credentials.
impl fmt::Display for KnowledgeBaseArgs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.run {
            None => fmt::Display::fmt(&self.kb, f),
            Some(run) => write!(f, "{run} in {}", self.kb),
        }
    }
}
