//! The options that name the knowledge base of a command, and opening it.

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::Args;
use clap::builder::{PathBufValueParser, TypedValueParser};
use clap::error::ErrorKind;
use kato_model::RunName;
use kato_mongodb::MongoStore;
use kato_store::embedded::{DamagePolicy, EmbeddedOptions};
use kato_store::{EmbeddedStore, PatternStore};

use crate::backend::{Backend, warn_of_recovery};
use crate::exit::bail_as;
use crate::patience::patiently;
use crate::program;
use crate::writable::is_no_directory;

/// The access that a command needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Also while another process writes.
    Read,
    /// By one process at a time.
    Write,
}

/// What happens where a knowledge base is damaged.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct DamageArgs {
    /// Read all of it, and where the newest commit is damaged use the one before it, if that is whole
    /// and not empty; commands that write go back for good. Default: an error that says what is whole
    /// and what is lost.
    #[arg(long)]
    go_back: bool,
}

impl DamageArgs {
    /// Opens a directory, and warns on standard error of what is damaged and what is lost.
    ///
    /// # Errors
    ///
    /// When there is no knowledge base, it is damaged or cannot be read, or another process writes to
    /// it.
    pub(crate) fn open(self, dir: &Path, access: Access) -> Result<EmbeddedStore> {
        let policy = match self.go_back {
            true => DamagePolicy::GoBack,
            false => DamagePolicy::Refuse,
        };
        if is_no_directory(dir) {
            bail_as!(
                Other,
                "--kb {} is a file: name the directory of a knowledge base",
                dir.display()
            );
        }
        let store = match access {
            Access::Read => EmbeddedStore::open_read_only_with(dir, policy)?,
            Access::Write => {
                let options = EmbeddedOptions::default().with_damage_policy(policy);
                let store = EmbeddedStore::open_with(dir, options)?;
                // What a command changes is little beside what the index is of.
                kato_prediction::disk::spare(&store);
                store
            }
        };
        warn_of_recovery(&store);
        Ok(store)
    }
}

/// Returns the id of the server's node that a knowledge base is, if it is one.
pub(crate) fn server_node(store: &EmbeddedStore) -> Option<&str> {
    store.configuration().get("node_id")?.as_str()
}

/// Parses the path of a directory, which is no address: one would become a directory `https:` here.
pub(crate) fn directory() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|dir| match dir.to_string_lossy().contains("://") {
        true => Err("it is an address: name a directory of this machine"),
        false => Ok(dir),
    })
}

/// The directory of a trained knowledge base.
#[derive(Debug, Args)]
pub(crate) struct DirectoryArgs {
    /// Directory of the knowledge base.
    #[arg(long = "kb", value_name = "DIR", default_value = "kato-kb", value_parser = directory())]
    pub(crate) dir: PathBuf,
    #[command(flatten)]
    damage: DamageArgs,
}

impl DirectoryArgs {
    /// Opens it; see [`DamageArgs::open`].
    ///
    /// # Errors
    ///
    /// Those of [`DamageArgs::open`].
    pub(crate) fn open(&self, access: Access) -> Result<EmbeddedStore> {
        self.damage.open(&self.dir, access)
    }

    /// Opens it for questions, for which it has to be of a training.
    ///
    /// # Errors
    ///
    /// When it cannot be read, or is the node of a server.
    pub(crate) fn open_trained(&self) -> Result<EmbeddedStore> {
        let store = self.open(Access::Read)?;
        if let Some(node) = server_node(&store) {
            bail_as!(
                Conflict,
                "{} is node {node} of a server, which has symbols and no tokenizer: ask it in a session of `kato serve`, or see its patterns with `kato inspect`",
                self.dir.display()
            );
        }
        Ok(store)
    }
}

/// Which knowledge base a program looks into.
#[derive(Debug, Args)]
pub(crate) struct KnowledgeBaseArgs {
    /// The knowledge base: a directory (embedded:DIR is the same), or mongodb:URI with --run
    /// (mongodb alone takes the URI from KATO_MONGODB_URI).
    #[arg(long, value_name = "PLACE", default_value = "kato-kb", value_parser = Backend::or_directory)]
    kb: Backend,
    /// Which run of a MongoDB; `kato runs list --in mongodb:URI` shows them.
    #[arg(long, value_name = "NAME")]
    run: Option<RunName>,
    #[command(flatten)]
    damage: DamageArgs,
}

impl KnowledgeBaseArgs {
    /// Ends the program with wrong usage of a command, and what to say instead, where this cannot be
    /// opened.
    pub(crate) fn check(&self, command: &str) {
        let text = match (&self.kb, &self.run) {
            (Backend::Kato(_), _) => "what a server knows is asked for at the server",
            (Backend::Mongodb(_), None) => {
                "say which run of the MongoDB: --run NAME (`kato runs list --in mongodb:URI` shows them)"
            }
            _ => return,
        };
        program::subcommand(command)
            .error(ErrorKind::ArgumentConflict, format!("{text}\n"))
            .exit();
    }

    /// Returns the directory, if it is one.
    pub(crate) fn dir(&self) -> Option<&Path> {
        match &self.kb {
            Backend::Embedded(dir) => Some(dir),
            _ => None,
        }
    }

    /// Opens the knowledge base.
    ///
    /// What is damaged and opened all the same is told on standard error.
    ///
    /// # Errors
    ///
    /// When there is none, it cannot be read, another process writes to it, or
    /// [`check`](Self::check) refuses it.
    pub(crate) fn open(&self, access: Access) -> Result<Box<dyn PatternStore>> {
        Ok(match (&self.kb, &self.run) {
            (Backend::Embedded(dir), None) => Box::new(self.damage.open(dir, access)?),
            (Backend::Mongodb(uri), Some(run)) => {
                let builder = MongoStore::builder(uri, run.clone());
                patiently(&format!("waiting for {self}"), || {
                    anyhow::Ok(match access {
                        Access::Read => Box::new(builder.open_read_only()?),
                        Access::Write => Box::new(builder.open()?),
                    })
                })?
            }
            // What `check` or the rules of unused options refuse.
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
