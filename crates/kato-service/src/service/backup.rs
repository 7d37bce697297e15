//! Copying a running service.

mod copying;
mod staged;

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use self::copying::Copying;
use self::staged::Staged;
use super::{NODES, Service};
use crate::ServiceError;
use crate::backups::{BACKUP, BackupReport, UNFINISHED, remove_marked};
use crate::clock::Micros;
use crate::disk_room::DiskRoom;
use crate::files::{remove_file, sync_dir};
use crate::journal::{self, Journal, TablesSnapshot};
use crate::loss::{self, DataLoss, Losses};
use crate::node::directory_of;
use crate::steps::{self, Step};

/// The state of a service at the moment of which a copy is made.
struct Moment<'a> {
    tables: TablesSnapshot<'a>,
    /// The processor ids of nodes in memory that the journal alone has lessons of, and the number
    /// of the last.
    unfolded: Vec<(String, u64)>,
}

impl Service {
    /// Copies the service into a new or empty directory while it runs; [`open`](Self::open) opens
    /// the copy with everything that was acknowledged before the call, and perhaps with some of
    /// what came after, each operation as a whole. Not copied are indexes, which the copy writes
    /// anew, and what lasts until a node leaves memory, such as that training was finalized.
    ///
    /// Files of knowledge bases are copied as they are. One that is gone or cannot be read, and a
    /// manifest that is damaged, do not keep the others from being copied: the report has it, and
    /// so has the file `LOSSES` of the copy, which has every file that can be read. Damage within
    /// other files is not looked for: the copy has it as well. A journal that cannot be read fails
    /// the call.
    ///
    /// Writes wait while the files are listed, which takes as long as giving each a second name (a
    /// copy of it where the file system has no links); they go on while it is copied. Another copy
    /// waits for this one. Needs the space of the copy, and until it is done what is removed
    /// meanwhile; ends where less than [`backup_reserve`](crate::ServiceOptions::backup_reserve)
    /// would be left free, or is found to be left while others write. A copy that fails is removed,
    /// or, where that fails too, says that it is not finished when it is opened, as one that a kill
    /// broke off does.
    ///
    /// ```
    /// use kato_service::answer::NewSession;
    /// use kato_service::{Service, ServiceOptions};
    ///
    /// let dir = tempfile::tempdir()?;
    /// let service = Service::open(&dir.path().join("service"), ServiceOptions::default())?;
    /// let id = service.create_session(NewSession::new("node0"))?.wait()?.session_id;
    /// let report = service.backup(&dir.path().join("copy"))?;
    /// assert!(report.losses.is_empty());
    ///
    /// let copy = Service::open(&dir.path().join("copy"), ServiceOptions::default())?;
    /// assert!(copy.check(&id) && copy.losses().is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ServiceError::NotEmpty`], [`ServiceError::NoRoom`], [`ServiceError::InMemory`],
    /// [`ServiceError::Closed`], [`ServiceError::StorageFailed`], [`ServiceError::Lost`],
    /// [`ServiceError::Journal`], [`ServiceError::Io`].
    pub fn backup(&self, to: impl AsRef<Path>) -> Result<BackupReport, ServiceError> {
        let to = to.as_ref();
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
            let _ = remove_marked(to);
        }
        copied
    }

    /// Makes the copy, in a directory that is empty.
    fn copy_into(
        &self,
        to: &Path,
        journal: &Journal,
        nodes: &Path,
    ) -> Result<BackupReport, ServiceError> {
        let dir = nodes.parent().unwrap_or(nodes);
        let unfinished = Unfinished::mark(to)?;
        let now = self.shared.now();
        let mut staged = Staged::new(dir)?;
        let moment = self.stage(&mut staged, journal, nodes)?;
        self.miss_knowledge_bases(&moment, &mut staged)?;
        let needed = staged.bytes + journal.tables().disk_bytes()?;
        let room = DiskRoom::check(to, needed, self.shared.options.backup_reserve)?;
        let mut copying = Copying::new(&room);
        copying.directory(&staged.dir, &to.join(NODES))?;
        // Behind the knowledge bases, but of the same moment.
        copying.bytes += copy_journal(&moment, &room, to)?;
        drop(moment);
        let list = dir.join(loss::FILE);
        if list.exists() {
            copying.file(&list, &to.join(loss::FILE))?;
        }
        let mut report = BackupReport {
            knowledge_bases: staged.names.len(),
            bytes: copying.bytes,
            losses: std::mem::take(&mut staged.losses),
            foreign: std::mem::take(&mut staged.foreign),
        };
        let unread = copying.unread.iter();
        report
            .losses
            .extend(unread.map(|(path, error)| self.not_copied(&staged.dir, path, error)));
        self.list_losses(&report.losses, to)?;
        steps::reach(Step::FinishCopy);
        unfinished.finish(to, now)?;
        Ok(report)
    }

    /// Gives all files second names, and returns the state of the journal and of memory at that
    /// moment.
    fn stage<'a>(
        &self,
        staged: &mut Staged,
        journal: &'a Journal,
        nodes: &Path,
    ) -> Result<Moment<'a>, ServiceError> {
        let _no_writes = self
            .shared
            .writing
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        let _at_rest = journal.stores_at_rest();
        // No write runs: after this the tables have everything that was acknowledged.
        journal.sync()?;
        // Files of a store are never changed, only replaced: links keep those of this moment, while
        // folds go on.
        staged.link_all(nodes, &|dir| self.node_id_of(dir))?;
        let loaded = self.shared.nodes.registry().in_memory();
        let unfolded = loaded.iter().filter_map(|entry| {
            let latest = entry.in_memory()?.latest_unfolded()?;
            Some((entry.processor_id().to_owned(), latest))
        });
        Ok(Moment {
            unfolded: unfolded.collect(),
            tables: journal.tables().snapshot(),
        })
    }

    /// Notes the knowledge bases that lessons were folded into and that are not there.
    fn miss_knowledge_bases(
        &self,
        moment: &Moment<'_>,
        staged: &mut Staged,
    ) -> Result<(), ServiceError> {
        for folded in moment.tables.folded() {
            let processor_id = folded?;
            let dir = directory_of(Path::new(""), &processor_id);
            if !staged.names.contains(&dir) {
                staged.losses.push(DataLoss::NotCopied {
                    node_id: self.node_id_of(&dir),
                    path: dir,
                    reason: "it is gone".to_owned(),
                });
            }
        }
        Ok(())
    }

    /// Makes the loss of a file that cannot be read.
    fn not_copied(&self, staged: &Path, path: &Path, error: &io::Error) -> DataLoss {
        let relative = path.strip_prefix(staged).unwrap_or(path);
        let name = relative.components().next();
        let dir = name.map(|name| Path::new(name.as_os_str()));
        DataLoss::NotCopied {
            node_id: self.node_id_of(dir.unwrap_or(relative)),
            path: relative.to_owned(),
            reason: error.to_string(),
        }
    }

    /// Returns the id of the node of a knowledge base, or the name of its directory where none is
    /// known.
    fn node_id_of(&self, dir: &Path) -> String {
        let name = dir.file_name().unwrap_or_default();
        let nodes = self.shared.nodes.all();
        let is_it = |id: &str| directory_of(Path::new(""), id).as_os_str() == name;
        let found = nodes.iter().find(|node| is_it(node.processor_id()));
        found.map_or_else(
            || name.to_string_lossy().into_owned(),
            |node| node.node_id().to_owned(),
        )
    }

    /// Writes what could not be copied into the list of the copy.
    fn list_losses(&self, losses: &[DataLoss], to: &Path) -> Result<(), ServiceError> {
        if losses.is_empty() {
            return Ok(());
        }
        let list = Losses::open(to)?;
        let now = self.shared.options.clock.now();
        losses
            .iter()
            .try_for_each(|loss| list.write_down(loss.clone(), now))
    }

    /// Refuses a copy that is not finished, removes what a broken-off copying left in the service's
    /// own directory, and makes a copy a service's directory.
    pub(super) fn check_copies(dir: &Path) -> Result<(), ServiceError> {
        if dir.join(UNFINISHED).exists() {
            return Err(ServiceError::Unfinished {
                path: dir.to_owned(),
            });
        }
        // From now on it has what its copy's original never had.
        remove_file(&dir.join(BACKUP))?;
        Staged::remove(dir)
    }
}

/// The mark of a copy that is not finished. It is locked, which tells a copy that is being made from
/// one that was broken off.
struct Unfinished {
    mark: File,
}

impl Unfinished {
    /// Marks a directory, durably: a copy that is broken off can never be taken for a whole one.
    fn mark(to: &Path) -> Result<Self, ServiceError> {
        let path = to.join(UNFINISHED);
        let mark = File::create(&path)
            .and_then(|file| file.sync_all().map(|()| file))
            .map_err(ServiceError::io("create", &path))?;
        // Where files cannot be locked the copy looks broken off until it is done.
        let _ = mark.try_lock();
        sync_dir(to)?;
        if let Some(parent) = to.parent().filter(|parent| *parent != Path::new("")) {
            sync_dir(parent)?;
        }
        Ok(Self { mark })
    }

    /// Takes the mark away, when all of the copy is on the disk, which was made at a time.
    fn finish(self, to: &Path, made: Micros) -> Result<(), ServiceError> {
        let backup = to.join(BACKUP);
        File::create(&backup)
            .and_then(|mut file| {
                write!(file, "{}", made.0)?;
                file.sync_all()
            })
            .map_err(ServiceError::io("create", &backup))?;
        sync_dir(to)?;
        let path = to.join(UNFINISHED);
        fs::remove_file(&path).map_err(ServiceError::io("remove", &path))?;
        drop(self.mark);
        sync_dir(to)
    }
}

/// Copies the journal and returns its bytes; refuses a copy that lacks lessons which memory has.
fn copy_journal(moment: &Moment<'_>, room: &DiskRoom, to: &Path) -> Result<u64, ServiceError> {
    let copied = journal::copy(&moment.tables, room, to)?;
    for (processor_id, latest) in &moment.unfolded {
        let found = copied.last_lessons(processor_id);
        if found != Some(*latest) {
            return Err(ServiceError::corrupt(
                "copy the journal",
                format!(
                    "of {processor_id:?} it has lessons up to {found:?}, and not up to {latest}"
                ),
            ));
        }
    }
    Ok(copied.bytes)
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
