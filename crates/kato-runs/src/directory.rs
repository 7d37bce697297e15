//! The runs of a data directory.

mod create;
#[cfg(test)]
mod tests;
mod walk;

use std::fs;
use std::path::{Path, PathBuf};

use kato_model::RunName;
use kato_store::{EmbeddedStore, PatternStore as _};
use serde_json::Value;

use self::walk::{DirectoryContents, scratch_path};
use crate::disk::{Disk, parent_of};
use crate::facts::run_name_like;
use crate::lock::{KNOWLEDGE_BASE_LOCK, Lock, is_held};
use crate::manifest::{BackendKind, RunBackend, RunOrigin};
use crate::manifest_file::STATE_SUFFIX;
use crate::{
    Archive, ManifestFile, Run, RunFacts, RunId, RunLocation, RunManifest, RunPlace, RunsError,
    state_file,
};

/// The reason why a run on a server is not treated like one on the disk.
const ON_A_SERVER: &str =
    "what it learned is on the server; train another run, or use the server's means";

/// A directory of knowledge bases and state files.
#[derive(Debug)]
pub(crate) struct DirectoryPlace {
    dir: PathBuf,
    disk: Disk,
}

impl DirectoryPlace {
    /// Opens a directory of runs.
    pub(crate) fn open(dir: PathBuf) -> Result<Self, RunsError> {
        Self::on(Disk::default(), dir)
    }

    /// Opens a directory of runs, through a disk that tests can fail.
    fn on(disk: Disk, dir: PathBuf) -> Result<Self, RunsError> {
        let reason = if !dir.is_dir() {
            "it does not exist, or is a file"
        } else if EmbeddedStore::exists(&dir) {
            "it is a knowledge base itself; give the directory around it"
        } else {
            return Ok(Self { dir, disk });
        };
        Err(RunsError::NoPlace { path: dir, reason })
    }

    /// Clears away what operations left whose process died.
    fn sweep(&self) -> Result<(), RunsError> {
        for scratch in DirectoryContents::in_directory(&self.dir)?.scratch {
            match Lock::of_knowledge_base(&scratch) {
                Ok(lock) => {
                    // Removed while the lock is held, so that nobody who begins here meanwhile is
                    // disturbed.
                    self.disk.remove_dir(&scratch)?;
                    drop(lock);
                }
                // Somebody is at work there, or has just ended.
                Err(RunsError::InUse { .. }) => {}
                Err(_) if !scratch.exists() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Takes a run's lock; if another has it, the error names the process of the manifest.
    fn hold(run: &Run) -> Result<Lock, RunsError> {
        let held = match &run.location {
            RunLocation::StateFile(path) => Lock::of_state(path),
            location => Lock::of_knowledge_base(location.path().unwrap_or(Path::new(""))),
        };
        held.map_err(|error| match error {
            RunsError::InUse { path, .. } => RunsError::InUse {
                path,
                process: run.manifest.process,
            },
            error => error,
        })
    }

    /// Returns the directory of a run, if it is a knowledge base.
    fn knowledge_base<'r>(run: &'r Run, action: &'static str) -> Result<&'r Path, RunsError> {
        match &run.location {
            RunLocation::Directory(path) => Ok(path),
            _ => Err(RunsError::Unsupported {
                run: run.in_words(),
                action,
                reason: ON_A_SERVER,
            }),
        }
    }

    /// Returns the manifest of a run that is made here from another.
    fn descendant(&self, manifest: &RunManifest, name: &RunName, origin: RunOrigin) -> RunManifest {
        let backend = backend_at(&self.dir.join(name.as_str()));
        manifest.clone().descendant(name, backend, origin)
    }
}

impl RunPlace for DirectoryPlace {
    fn list(&self) -> Result<Vec<Run>, RunsError> {
        let found = DirectoryContents::in_directory(&self.dir)?;
        let stores = found
            .knowledge_bases
            .into_iter()
            .map(RunLocation::Directory);
        let states = found.state_files.into_iter().map(RunLocation::StateFile);
        let mut runs: Vec<Run> = stores.chain(states).map(read_run).collect();
        runs.sort_by(Run::by_name);
        Ok(runs)
    }

    fn record(&self, run: &Run, manifest: &RunManifest) -> Result<(), RunsError> {
        let file = match &run.location {
            RunLocation::StateFile(_) if manifest.name != run.manifest.name => {
                return Err(RunsError::Unsupported {
                    run: run.in_words(),
                    action: "renamed",
                    reason: "the server knows its nodes by this name; begin another run for another name",
                });
            }
            RunLocation::StateFile(path) => ManifestFile::beside_state(path),
            _ => ManifestFile::in_knowledge_base(Self::knowledge_base(run, "recorded")?),
        };
        let _lock = Self::hold(run)?;
        self.sweep()?;
        file.write_to(&self.disk, manifest)
    }

    fn clone_run(&self, run: &Run, name: &RunName) -> Result<(), RunsError> {
        let from = Self::knowledge_base(run, "cloned")?;
        let _lock = Self::hold(run)?;
        self.sweep()?;
        // Looked at again under the lock, so that the manifest states what is copied.
        let original = read_knowledge_base(from, false)?;
        let origin = RunOrigin::Cloned {
            id: run.manifest.id.clone(),
            name: run.manifest.name.clone(),
        };
        let manifest = self.descendant(&original.manifest, name, origin);
        create::copy(&self.disk, from, &self.dir, name, &manifest)
    }

    fn export(&self, run: &Run, out: &Path) -> Result<Archive, RunsError> {
        let dir = Self::knowledge_base(run, "exported")?;
        // A reader sees one commit from beginning to end, so no lock is needed, and a trainer is
        // not disturbed.
        let store = EmbeddedStore::open_read_only(dir).map_err(RunsError::store(dir))?;
        let recorded = ManifestFile::in_knowledge_base(dir).read()?;
        let facts = RunFacts::from_store(&store, backend_at(dir), false);
        let facts = facts.map_err(RunsError::store(dir))?;
        let mut manifest = facts.manifest(recorded, &run.manifest.name, None);
        manifest.id = run.manifest.id.clone();
        Archive::export_on(&self.disk, &store, &manifest, out)
    }

    fn import(&self, archive: &Archive, name: &RunName) -> Result<(), RunsError> {
        self.sweep()?;
        let original = archive.manifest();
        let origin = RunOrigin::Imported {
            id: original.id.clone(),
            name: original.name.clone(),
        };
        let manifest = self.descendant(original, name, origin);
        create::import(&self.disk, archive, &self.dir, name, &manifest)
    }

    fn delete(&self, run: &Run) -> Result<(), RunsError> {
        self.sweep()?;
        let dir = match &run.location {
            RunLocation::StateFile(path) => {
                return state_file::delete(&self.disk, path, Self::hold(run)?);
            }
            _ => Self::knowledge_base(run, "deleted")?,
        };
        let lock = Self::hold(run)?;
        let parent = parent_of(dir);
        let scratch = scratch_path(&parent, RunId::generate().as_str());
        // Windows renames no directory with open files.
        let lock = (!cfg!(windows)).then_some(lock);
        // The name goes first, and durably: whatever is removed afterwards, no crash leaves half a
        // run under it.
        self.disk.rename(dir, &scratch)?;
        self.disk.flush_dir(&parent)?;
        self.disk.remove_dir(&scratch)?;
        drop(lock);
        self.disk.flush_dir(&parent)
    }
}

/// Returns a run as it is found; what cannot be read is a run with a problem.
fn read_run(location: RunLocation) -> Run {
    let found = match &location {
        RunLocation::StateFile(path) => {
            let recorded = ManifestFile::beside_state(path).read();
            recorded.and_then(|recorded| {
                Ok(Run {
                    is_recorded: recorded.is_some(),
                    manifest: state_file::manifest(path, recorded)?,
                    location: location.clone(),
                    disk_bytes: None,
                    problem: None,
                })
            })
        }
        location => {
            let dir = location.path().unwrap_or(Path::new(""));
            read_knowledge_base(dir, is_held(&dir.join(KNOWLEDGE_BASE_LOCK)))
        }
    };
    found.unwrap_or_else(|error| unreadable(location, &error))
}

/// Returns a knowledge base as it is found; `is_locked` if another holds its lock.
fn read_knowledge_base(dir: &Path, is_locked: bool) -> Result<Run, RunsError> {
    let recorded = ManifestFile::in_knowledge_base(dir).read()?;
    let store = EmbeddedStore::open_read_only(dir).map_err(RunsError::store(dir))?;
    let facts = RunFacts::from_store(&store, backend_at(dir), is_locked);
    let facts = facts.map_err(RunsError::store(dir))?;
    Ok(Run {
        is_recorded: recorded.is_some(),
        manifest: facts.manifest(recorded, &name_of(dir), created(dir)),
        location: RunLocation::Directory(dir.to_owned()),
        disk_bytes: store.disk_bytes(),
        problem: None,
    })
}

/// Returns what is known of a run that cannot be read.
fn unreadable(location: RunLocation, error: &RunsError) -> Run {
    let path = location.path().unwrap_or(Path::new(""));
    let (file, backend) = match &location {
        RunLocation::StateFile(path) => {
            let backend = RunBackend::new(BackendKind::Kato, &absolute(path));
            (ManifestFile::beside_state(path), backend)
        }
        _ => (ManifestFile::in_knowledge_base(path), backend_at(path)),
    };
    let recorded = file.read().ok().flatten();
    let is_recorded = recorded.is_some();
    let manifest = recorded.unwrap_or_else(|| {
        let id = RunId::of_unrecorded(&backend.place);
        let created = created(path);
        RunManifest::new(id, name_of(path), created, &[], Value::Null, backend)
    });
    Run {
        manifest,
        is_recorded,
        location,
        disk_bytes: None,
        problem: Some(error.with_causes()),
    }
}

/// Returns the backend of a knowledge base in a directory.
fn backend_at(dir: &Path) -> RunBackend {
    RunBackend::new(BackendKind::Embedded, &absolute(dir))
}

/// Returns a path in full, with links resolved where that is possible.
fn absolute(path: &Path) -> String {
    // Ids of runs without a manifest are made of this text, so it must not depend on the current
    // directory.
    let canonical = fs::canonicalize(path).or_else(|_| std::path::absolute(path));
    canonical.map_or_else(
        |_| path.display().to_string(),
        |path| path.display().to_string(),
    )
}

/// Returns when a knowledge base was made, as far as its files show.
fn created(dir: &Path) -> Option<std::time::SystemTime> {
    // The lock file is made with the knowledge base and never written to.
    let file = [dir.join(KNOWLEDGE_BASE_LOCK), dir.to_owned()];
    file.iter()
        .find_map(|path| fs::metadata(path).and_then(|file| file.modified()).ok())
}

/// Returns a name for a run, after its directory or state file; of a directory the one that training
/// gives it.
fn name_of(path: &Path) -> RunName {
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    run_name_like(file.strip_suffix(STATE_SUFFIX).unwrap_or(&file))
}
