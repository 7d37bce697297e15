//! Exported runs: directories that any store can import.

mod digesting;
mod read;
mod write;

use std::path::{Path, PathBuf};

use kato_store::PatternStore;

#[cfg(feature = "mongodb")]
pub(crate) use self::write::is_importing;
use crate::disk::Disk;
use crate::{ManifestFile, RunManifest, RunsError};

/// The file of the checkpoint.
const CHECKPOINT: &str = "checkpoint.json";

/// An exported run: a directory with `run.json`, the patterns of each level as JSON Lines, and the
/// checkpoint.
///
/// `run.json` holds size and digest of the other files. A [`PatternStore`] takes the run, one without
/// tombstones only if no pattern is retired, and training goes on there as it would have where it came
/// from, without [what is left out](crate::manifest::ExportContents::left_out).
///
/// ```
/// use kato_runs::{Archive, Runs};
/// use kato_store::{EmbeddedStore, MemoryStore, PatternStore};
/// use serde_json::json;
///
/// let dir = tempfile::tempdir()?;
/// EmbeddedStore::create(&dir.path().join("wiki"), &["node0"], json!({"by": "hand"}))?;
/// Runs::in_directory(dir.path())?.export("wiki", &dir.path().join("exported"))?;
///
/// let archive = Archive::open(&dir.path().join("exported"))?;
/// let store = MemoryStore::new(&["node0"], archive.manifest().configuration.clone());
/// archive.import_into(&store)?;
/// assert_eq!(store.count_patterns(0)?, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Archive {
    dir: PathBuf,
    manifest: RunManifest,
}

impl Archive {
    /// Opens an exported run. Reads `run.json` only; the other files are checked when they are
    /// imported.
    ///
    /// # Errors
    ///
    /// [`RunsError::NoExport`] when there is none; [`RunsError::Version`], [`RunsError::Damaged`] and
    /// [`RunsError::Io`] when it cannot be read.
    pub fn open(dir: impl AsRef<Path>) -> Result<Self, RunsError> {
        let dir = dir.as_ref();
        let file = ManifestFile::in_knowledge_base(dir);
        match file.read()? {
            Some(manifest) if manifest.contents.is_some() => Ok(Self {
                dir: dir.to_owned(),
                manifest,
            }),
            _ => Err(RunsError::NoExport {
                path: dir.to_owned(),
            }),
        }
    }

    /// Exports what a store holds to a directory that does not exist; everything appears at once.
    /// `manifest` says which run it is.
    ///
    /// Sees one commit of an [`EmbeddedStore`](kato_store::EmbeddedStore) that is opened for
    /// reading, also while another process trains.
    ///
    /// # Errors
    ///
    /// [`RunsError::Exists`], [`RunsError::InUse`] while another process exports to the same place,
    /// and when something cannot be read or written.
    pub fn export(
        store: &dyn PatternStore,
        manifest: &RunManifest,
        out: impl AsRef<Path>,
    ) -> Result<Self, RunsError> {
        Self::export_on(&Disk::default(), store, manifest, out.as_ref())
    }

    /// Exports as [`export`](Self::export) does, through a disk that tests can fail.
    pub(crate) fn export_on(
        disk: &Disk,
        store: &dyn PatternStore,
        manifest: &RunManifest,
        out: &Path,
    ) -> Result<Self, RunsError> {
        write::write(disk, store, manifest, out)
    }

    /// Returns the directory of the export.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the manifest of the exported run.
    #[must_use]
    pub const fn manifest(&self) -> &RunManifest {
        &self.manifest
    }

    /// Fills an empty store that was made with the archive's [nodes and
    /// configuration](Self::manifest), and checks every file.
    ///
    /// The checkpoint comes with the last commit. Until then the store has one that no training
    /// takes, so that what a crash leaves is not mistaken for a run; importing again begins anew.
    ///
    /// # Errors
    ///
    /// [`RunsError::Unsuitable`] when the store holds something or was made for another run;
    /// [`RunsError::Damaged`], [`RunsError::Exchange`], [`RunsError::Io`] and [`RunsError::Store`]
    /// when a file or the store fails. What was put into the store is then cleared, if the store does
    /// that.
    pub fn import_into(&self, store: &dyn PatternStore) -> Result<(), RunsError> {
        read::import_into(self, store)
    }
}
