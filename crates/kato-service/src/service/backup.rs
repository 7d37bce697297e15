//! Copying a running service.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use kato_store::EmbeddedStore;

use super::{NODES, Service};
use crate::files::{remove_dir, sync_dir};
use crate::journal::{self, Journal};
use crate::{ServiceError, loss};

/// Name of the file that marks a copy as not finished.
const UNFINISHED: &str = "UNFINISHED";

/// Name of the directory, in that of the service, of second names of the files that are being
/// copied, so that they stay though they are removed.
const STAGED: &str = "STAGED";

impl Service {
    /// Copies the service into a new or empty directory while it runs; [`open`](Self::open) opens
    /// the copy with everything that was acknowledged before the call, and perhaps with some of
    /// what came after, each operation as a whole.
    ///
    /// Writes wait while the files are listed, which takes as long as giving each a second name (a
    /// copy of it where the file system has no links); they go on while it is copied. Needs the
    /// space of the copy, and until it is done what is removed meanwhile. A copy that fails is
    /// removed; one that a kill broke off says so when it is opened.
    ///
    /// ```
    /// use kato_service::answer::NewSession;
    /// use kato_service::{Service, ServiceOptions};
    ///
    /// let dir = tempfile::tempdir()?;
    /// let service = Service::open(&dir.path().join("service"), ServiceOptions::default())?;
    /// let id = service.create_session(NewSession::new("node0"))?.wait()?.session_id;
    /// service.backup(&dir.path().join("copy"))?;
    ///
    /// let copy = Service::open(&dir.path().join("copy"), ServiceOptions::default())?;
    /// assert!(copy.check(&id) && copy.losses().is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ServiceError::NotEmpty`], [`ServiceError::InMemory`], [`ServiceError::Closed`],
    /// [`ServiceError::StorageFailed`], [`ServiceError::Io`].
    pub fn backup(&self, to: &Path) -> Result<(), ServiceError> {
        let shared = &self.shared;
        let (Some(journal), Some(nodes)) = (&shared.journal, shared.nodes.dir()) else {
            return Err(ServiceError::InMemory);
        };
        // One copy at a time: they share the directory of second names.
        let _copying = shared
            .copying
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        make_empty(to)?;
        let copied = self.copy_into(to, journal, nodes);
        if copied.is_err() {
            // What there is of it is of no use, and takes space that may be scarce. Should it stay,
            // it says that it is not finished.
            let _ = fs::remove_dir_all(to);
        }
        copied
    }

    /// Makes the copy, in a directory that is empty.
    fn copy_into(&self, to: &Path, journal: &Journal, nodes: &Path) -> Result<(), ServiceError> {
        let dir = nodes.parent().unwrap_or(nodes);
        let unfinished = to.join(UNFINISHED);
        // On the disk before the first file of the copy: one that is broken off can never be taken
        // for a whole one.
        File::create(&unfinished)
            .and_then(|file| file.sync_all())
            .map_err(ServiceError::io("create", &unfinished))?;
        let staged = Staged::new(dir)?;
        let snapshot = {
            let _no_writes = self
                .shared
                .writing
                .write()
                .unwrap_or_else(PoisonError::into_inner);
            let _at_rest = journal.stores_at_rest();
            // No write runs: after this the tables have everything that was acknowledged.
            journal.sync()?;
            // Files of a store are never changed, only replaced: links keep those of this moment,
            // while folds go on.
            staged.link_all(nodes)?;
            journal.tables().snapshot()
        };
        copy_all(&staged.0, &to.join(NODES))?;
        // Behind the knowledge bases, but of the same moment.
        journal::copy(&snapshot, to)?;
        drop(snapshot);
        let list = dir.join(loss::FILE);
        if list.exists() {
            copy_file(&list, &to.join(loss::FILE))?;
        }
        // The mark goes last, when all of the copy is on the disk.
        sync_dir(to)?;
        fs::remove_file(&unfinished).map_err(ServiceError::io("remove", &unfinished))?;
        sync_dir(to)
    }

    /// Refuses a copy that is not finished, and removes what a broken-off copying left in the
    /// service's own directory.
    pub(super) fn check_copies(dir: &Path) -> Result<(), ServiceError> {
        if dir.join(UNFINISHED).exists() {
            return Err(ServiceError::Unfinished {
                path: dir.to_owned(),
            });
        }
        Staged::remove(dir)
    }
}

/// The files that are being copied, under second names, which are removed when it is dropped.
struct Staged(PathBuf);

impl Staged {
    /// Creates the directory of second names, empty.
    fn new(dir: &Path) -> Result<Self, ServiceError> {
        Self::remove(dir)?;
        let staged = dir.join(STAGED);
        fs::create_dir(&staged).map_err(ServiceError::io("create", &staged))?;
        Ok(Self(staged))
    }

    /// Removes the directory of second names, with those that a copy left that was broken off.
    fn remove(dir: &Path) -> Result<(), ServiceError> {
        remove_dir(&dir.join(STAGED))
    }

    /// Gives the files of all knowledge bases second names.
    fn link_all(&self, nodes: &Path) -> Result<(), ServiceError> {
        for from in entries(nodes)? {
            let files = EmbeddedStore::files_of(&from).map_err(|source| {
                ServiceError::Engine(kato_engine::EngineError::Store {
                    action: "copy a node's knowledge base",
                    source,
                })
            })?;
            let to = self.0.join(from.file_name().unwrap_or_default());
            for file in files.into_iter().flatten() {
                let (from, to) = (from.join(&file), to.join(&file));
                make_parent(&to)?;
                // Where the file system has no links the file is copied while everything waits.
                if fs::hard_link(&from, &to).is_err() {
                    fs::copy(&from, &to).map_err(ServiceError::io("copy", &from))?;
                }
            }
        }
        Ok(())
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        // Best effort: the next copy or opening removes it.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Copies a directory with all that is in it, durably.
fn copy_all(from: &Path, to: &Path) -> Result<(), ServiceError> {
    fs::create_dir_all(to).map_err(ServiceError::io("create", to))?;
    for path in entries(from)? {
        let target = to.join(path.file_name().unwrap_or_default());
        match path.is_dir() {
            true => copy_all(&path, &target)?,
            false => copy_file(&path, &target)?,
        }
    }
    sync_dir(to)
}

/// Copies a file, durably.
fn copy_file(from: &Path, to: &Path) -> Result<(), ServiceError> {
    let copy = || -> io::Result<()> {
        let mut file = File::create_new(to)?;
        io::copy(&mut File::open(from)?, &mut file)?;
        file.sync_all()
    };
    copy().map_err(ServiceError::io("copy to", to))
}

/// Lists the paths in a directory.
fn entries(dir: &Path) -> Result<Vec<PathBuf>, ServiceError> {
    let listed = ServiceError::io("list", dir);
    let entries = fs::read_dir(dir).map_err(listed)?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    paths.collect::<io::Result<_>>().map_err(listed)
}

/// Creates a directory, which may be there if it is empty.
fn make_empty(dir: &Path) -> Result<(), ServiceError> {
    fs::create_dir_all(dir).map_err(ServiceError::io("create", dir))?;
    match entries(dir)?.is_empty() {
        true => Ok(()),
        false => Err(ServiceError::NotEmpty {
            path: dir.to_owned(),
        }),
    }
}

/// Creates the directory that a path is in.
fn make_parent(path: &Path) -> Result<(), ServiceError> {
    let parent = path.parent().unwrap_or(path);
    fs::create_dir_all(parent).map_err(ServiceError::io("create", parent))
}
