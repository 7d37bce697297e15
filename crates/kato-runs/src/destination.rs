//! Where a run goes: a directory, memory, any store, the nodes of a KATO server, or a MongoDB.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[cfg(feature = "mongodb")]
use kato_mongodb::MongoStoreBuilder;
#[cfg(feature = "remote")]
use kato_remote::RemoteBackendBuilder;
use kato_store::{EmbeddedStore, PatternStore};

use crate::RunsError;

/// The end of the name of the file that lists what was skipped.
pub(crate) const LEDGER: &str = "errors.jsonl";

/// Where a run goes, before it is begun or opened.
///
/// A path is a directory: `Destination::from("my-kb")`.
///
/// ```
/// use kato_runs::Destination;
///
/// let destination = Destination::from("my-kb");
/// assert_eq!(destination.ledger(), std::path::Path::new("my-kb/errors.jsonl"));
/// assert!(!destination.has_position()?);
/// # Ok::<(), kato_runs::RunsError>(())
/// ```
#[derive(Debug)]
pub struct Destination {
    pub(crate) kind: Kind,
    /// Whether all of a directory is read before a run goes on in it.
    pub(crate) goes_back: bool,
}

/// The kinds of places.
#[derive(Debug)]
pub(crate) enum Kind {
    Directory(PathBuf),
    Memory,
    Store(Arc<dyn PatternStore>),
    #[cfg(feature = "remote")]
    Server(Box<RemoteBackendBuilder>),
    #[cfg(feature = "mongodb")]
    Mongodb(MongoStoreBuilder),
}

impl<P: AsRef<Path>> From<P> for Destination {
    fn from(dir: P) -> Self {
        Self::of(Kind::Directory(dir.as_ref().to_owned()))
    }
}

impl Destination {
    /// Returns the memory of this process: what is learned is there as long as it is held.
    #[must_use]
    pub const fn in_memory() -> Self {
        Self::of(Kind::Memory)
    }

    /// Returns any store, which was made for the learner's nodes and with its configuration
    /// ([`RunConfiguration`](kato_scheduler::RunConfiguration)). It keeps the position of the run; a manifest
    /// it has none.
    #[must_use]
    pub fn into_store(store: Arc<dyn PatternStore>) -> Self {
        Self::of(Kind::Store(store))
    }

    /// Returns the nodes of a KATO server, stock or kato-rs.
    #[cfg(feature = "remote")]
    #[must_use]
    pub fn on_server(nodes: RemoteBackendBuilder) -> Self {
        Self::of(Kind::Server(Box::new(nodes)))
    }

    /// Returns the databases of a run in a MongoDB.
    #[cfg(feature = "mongodb")]
    #[must_use]
    pub const fn in_mongodb(databases: MongoStoreBuilder) -> Self {
        Self::of(Kind::Mongodb(databases))
    }

    const fn of(kind: Kind) -> Self {
        Self {
            kind,
            goes_back: false,
        }
    }

    /// Has all of a directory read before a run goes on in it, so that damage that only a later read would
    /// find is given up as well, and learned again.
    #[must_use]
    pub const fn with_going_back(mut self, goes_back: bool) -> Self {
        self.goes_back = goes_back;
        self
    }

    /// Returns whether there may be a run to go on with: for a server this only says that the file of
    /// its position is there.
    ///
    /// # Errors
    ///
    /// [`RunsError::Open`] when a MongoDB does not answer, [`RunsError::Io`] when the file cannot be
    /// looked for.
    pub fn has_position(&self) -> Result<bool, RunsError> {
        Ok(match &self.kind {
            Kind::Directory(dir) => EmbeddedStore::exists(dir),
            Kind::Memory => false,
            Kind::Store(store) => !store.checkpoint().is_null(),
            #[cfg(feature = "remote")]
            Kind::Server(nodes) => {
                let state = nodes.state();
                // One that cannot be looked for is not missing.
                state
                    .try_exists()
                    .map_err(RunsError::io("look for", state))?
            }
            #[cfg(feature = "mongodb")]
            Kind::Mongodb(databases) => databases.exists().map_err(RunsError::Open)?,
        })
    }

    /// Returns whether a run that is gone on with is to be found here: not in memory or a store that is
    /// at hand, and not where the making of a directory was cut off, which has left something in it.
    pub(crate) fn must_be_there(&self) -> bool {
        match &self.kind {
            Kind::Directory(dir) => {
                let is_something = |mut entries: fs::ReadDir| entries.next().is_some();
                EmbeddedStore::exists(dir) || !fs::read_dir(dir).is_ok_and(is_something)
            }
            Kind::Memory | Kind::Store(_) => false,
            #[cfg(feature = "remote")]
            Kind::Server(_) => true,
            #[cfg(feature = "mongodb")]
            Kind::Mongodb(_) => true,
        }
    }

    /// Returns the file in which a run begins to list what it skips, unless its options name another. An empty
    /// path for memory and for stores, which have no place for one.
    #[must_use]
    pub fn ledger(&self) -> PathBuf {
        match &self.kind {
            Kind::Directory(dir) => dir.join(LEDGER),
            Kind::Memory | Kind::Store(_) => PathBuf::new(),
            #[cfg(feature = "remote")]
            Kind::Server(nodes) => nodes.state().with_extension(LEDGER),
            #[cfg(feature = "mongodb")]
            Kind::Mongodb(databases) => PathBuf::from(format!("{}.{LEDGER}", databases.run())),
        }
    }

    /// Returns whether a new run takes over the position of another, whose knowledge its nodes are
    /// taught first.
    pub(crate) fn takes_over(&self) -> bool {
        match &self.kind {
            Kind::Directory(_) | Kind::Memory | Kind::Store(_) => false,
            #[cfg(feature = "remote")]
            Kind::Server(nodes) => nodes.reteaches(),
            #[cfg(feature = "mongodb")]
            Kind::Mongodb(_) => false,
        }
    }
}
