//! The state of a run whose nodes are elsewhere: one small file, replaced as a whole with every
//! commit, and the one before it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::num::NonZeroUsize;
#[cfg(unix)]
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use kato_scheduler::{Checkpoint, RunConfiguration};
use kato_store::lock_file::LockFile;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tempfile::{Builder, NamedTempFile};

use crate::RemoteError;
use crate::error::{failed, refused};

/// Version of the file.
const FORMAT_VERSION: u64 = 2;

/// The state of a run, beside what its nodes learned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct State {
    pub(crate) format_version: u64,
    /// Part of the node ids.
    pub(crate) run: String,
    /// Part of the idempotency keys, so that a later run of this name has others.
    pub(crate) run_id: String,
    /// The server, without credentials.
    pub(crate) server: String,
    /// Names of the levels.
    pub(crate) nodes: Vec<String>,
    /// The [`RunConfiguration`].
    pub(crate) configuration: Value,
    /// The [`Checkpoint`](kato_scheduler::Checkpoint) of the last commit.
    pub(crate) checkpoint: Value,
    /// Documents that go to the server together.
    pub(crate) batch: NonZeroUsize,
    /// Batches of fewer documents, as in the end of a limited session: the number of documents in
    /// front of each, and its own. Kept as far back as the commit before this one.
    pub(crate) cuts: BTreeMap<u64, usize>,
    /// Whether nodes may have known other patterns when the run began.
    pub(crate) onto_taught: bool,
    /// Learn calls by level up to the checkpoint.
    pub(crate) observations: Vec<u64>,
    /// Patterns that were new to their node, by level; `None` where the server does not report
    /// them.
    pub(crate) new_patterns: Option<Vec<u64>>,
    /// Whether the nodes are still to be taught what is in the store of what was taught.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) reteaching: bool,
    /// CRC-32 of the state without it, in hexadecimal digits.
    #[serde(default)]
    checksum: String,
}

impl State {
    /// Creates the state of a run that begins.
    pub(crate) fn new(
        run: &str,
        server: &str,
        nodes: Vec<String>,
        configuration: &RunConfiguration,
        (batch, onto_taught): (NonZeroUsize, bool),
    ) -> Self {
        Self {
            format_version: FORMAT_VERSION,
            run: run.to_owned(),
            run_id: uuid::Uuid::new_v4().simple().to_string(),
            server: server.to_owned(),
            observations: vec![0; nodes.len()],
            new_patterns: Some(vec![0; nodes.len()]),
            nodes,
            configuration: configuration.to_json(),
            checkpoint: Value::Null,
            batch,
            cuts: BTreeMap::new(),
            onto_taught,
            reteaching: false,
            checksum: String::new(),
        }
    }

    /// Returns the state of this run at the position of another, whose knowledge its nodes are yet to
    /// be taught.
    pub(crate) fn going_on_from(mut self, other: Self) -> Self {
        self.checkpoint = other.checkpoint;
        self.batch = other.batch;
        self.cuts = other.cuts;
        self.observations = other.observations;
        self.new_patterns = other.new_patterns;
        self.onto_taught = false;
        self.reteaching = true;
        self
    }

    /// Returns the number of documents up to the checkpoint.
    pub(crate) fn documents(&self) -> Result<u64, RemoteError> {
        let checkpoint = Checkpoint::from_json(&self.checkpoint)?;
        Ok(checkpoint.map_or(0, |checkpoint| checkpoint.cursor.documents()))
    }

    /// Returns the state with its checksum, which is that of the state without one.
    fn with_checksum(&self) -> io::Result<Self> {
        let bare = Self {
            checksum: String::new(),
            ..self.clone()
        };
        let sum = crc32fast::hash(&serde_json::to_vec(&bare)?);
        Ok(Self {
            checksum: format!("{sum:08x}"),
            ..bare
        })
    }
}

/// The file of a run's state, locked against a second trainer.
#[derive(Debug)]
pub(crate) struct StateFile {
    path: PathBuf,
    /// Held as long as the run is open.
    _lock: LockFile,
}

impl StateFile {
    /// Opens and locks the file, which need not exist yet.
    pub(crate) fn open(path: &Path) -> Result<Self, RemoteError> {
        let lock_path = path.with_added_extension("lock");
        let lock = LockFile::hold(&lock_path).map_err(failed("lock", &lock_path))?;
        let lock = lock.ok_or_else(|| RemoteError::Locked {
            path: path.to_owned(),
        })?;
        Ok(Self {
            path: path.to_owned(),
            _lock: lock,
        })
    }

    /// Returns whether there is a state, or one before it.
    pub(crate) fn exists(&self) -> bool {
        self.path.exists() || self.previous().exists()
    }

    /// Removes all files of a run that never began, as far as they are there: a new one may have its
    /// name.
    pub(crate) fn remove_run(&self) {
        // The state comes first: what is beside it without it is known for what was left over. What
        // cannot be removed is told by whoever begins the next run.
        drop(fs::remove_file(&self.path));
        drop(fs::remove_file(self.previous()));
        drop(fs::remove_file(journal_of(&self.path)));
        drop(fs::remove_dir_all(taught_of(&self.path)));
    }

    /// Reads the state; `None` where there is no file. If it is damaged, the one before it is
    /// taken: work since then is sent again, and acts once.
    pub(crate) fn read(&self) -> Result<Option<State>, RemoteError> {
        match read_state(&self.path) {
            Err(damaged) => match read_state(&self.previous()) {
                Ok(Some(state)) => {
                    tracing::warn!(path = %self.path.display(), "the state is damaged: going back to the commit before");
                    // Put in its place at once, or the next commit would keep the damaged one as
                    // the previous.
                    replace_file(&self.path, &state)?;
                    Ok(Some(state))
                }
                _ => Err(damaged),
            },
            found => found,
        }
    }

    /// Replaces the state, durably: a crash leaves the old one or the new one.
    pub(crate) fn write(&self, state: &State) -> Result<(), RemoteError> {
        let state = state.with_checksum().map_err(failed("write", &self.path))?;
        self.keep().map_err(failed("keep", &self.path))?;
        replace_file(&self.path, &state)
    }

    /// Keeps the present state as the previous one; there is a whole present one all the time.
    fn keep(&self) -> io::Result<()> {
        // Copied and not renamed, so that there is no moment without a present state.
        let text = match fs::read(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            text => text?,
        };
        let mut file = temporary(parent_of(&self.path))?;
        file.write_all(&text)?;
        file.as_file().sync_all()?;
        // The directory is flushed when the state itself is replaced, right behind this.
        file.persist(self.previous())?;
        Ok(())
    }

    /// Returns the path of the state before this one.
    fn previous(&self) -> PathBuf {
        self.path.with_added_extension("previous")
    }
}

/// Returns the directory of what a run has taught a stock server, beside its state.
pub(crate) fn taught_of(state: &Path) -> PathBuf {
    state.with_added_extension("taught")
}

/// Returns the journal of what a run has sent to a stock server, beside its state.
pub(crate) fn journal_of(state: &Path) -> PathBuf {
    state.with_added_extension("sent")
}

/// Reads the state in a file and checks it; `None` where there is no file.
fn read_state(path: &Path) -> Result<Option<State>, RemoteError> {
    let Some(state) = read_file::<State>(path)? else {
        return Ok(None);
    };
    if state.format_version != FORMAT_VERSION {
        let found = state.format_version;
        let reason = format!("it has version {found}, and this program knows {FORMAT_VERSION}");
        return Err(refused("read", path, reason));
    }
    let expected = state.with_checksum().map_err(failed("read", path))?;
    if state != expected {
        return Err(refused("read", path, "its checksum does not match"));
    }
    Ok(Some(state))
}

/// Reads the JSON content of a file; `None` where there is none.
pub(crate) fn read_file<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, RemoteError> {
    let text = match fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed("read", path)(error)),
    };
    serde_json::from_slice(&text)
        .map(Some)
        .map_err(|error| refused("read", path, error))
}

/// Replaces a file by JSON content, durably: a crash leaves the old content or the new.
pub(crate) fn replace_file(path: &Path, content: &impl Serialize) -> Result<(), RemoteError> {
    replace_file_by(path, |file| {
        serde_json::to_writer(&mut *file, content)?;
        file.write_all(b"\n")
    })
}

/// Replaces a file by what is written, durably: a crash leaves the old content or the new.
pub(crate) fn replace_file_by(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), RemoteError> {
    let replace = || -> io::Result<()> {
        let parent = parent_of(path);
        let mut file = temporary(parent)?;
        let mut buffered = io::BufWriter::new(&mut file);
        write(&mut buffered)?;
        buffered.flush()?;
        drop(buffered);
        // Before the rename: else a power cut could leave the name with nothing behind it.
        file.as_file().sync_all()?;
        file.persist(path)?;
        // Windows cannot flush a directory and does not need to.
        if cfg!(unix) {
            File::open(parent)?.sync_all()?;
        }
        Ok(())
    };
    replace().map_err(failed("write", path))
}

/// Creates a temporary file in the directory of its later place, with the rights of any new file.
fn temporary(dir: &Path) -> io::Result<NamedTempFile> {
    let mut builder = Builder::new();
    // Temporary files are the owner's alone by default, and what else is kept of a run is not.
    #[cfg(unix)]
    builder.permissions(PermissionsExt::from_mode(0o666));
    builder.tempfile_in(dir)
}

/// Returns the directory of a file.
fn parent_of(path: &Path) -> &Path {
    let parent = path.parent().filter(|dir| !dir.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use kato_advice::ErrorClass;

    use super::*;

    #[test]
    fn a_state_that_another_trainer_has_is_a_conflict() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run.json");
        let first = StateFile::open(&path).unwrap();
        let second = StateFile::open(&path).unwrap_err();
        assert_eq!(second.class(), ErrorClass::Conflict);
        assert!(second.to_string().contains("or by this one"));
        drop(first);
        // Nothing stays of a run that never began.
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        StateFile::open(&path).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn files_have_the_rights_of_any_new_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run.json");
        let file = StateFile::open(&path).unwrap();
        replace_file(&path, &"before").unwrap();
        file.keep().unwrap();
        fs::write(dir.path().join("any"), "").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        for found in [path.clone(), file.previous()] {
            assert_eq!(mode(&found), mode(&dir.path().join("any")), "{found:?}");
        }
    }
}
