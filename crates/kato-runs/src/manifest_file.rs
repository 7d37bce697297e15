//! The file that keeps a run's manifest.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::disk::Disk;
use crate::{RunManifest, RunsError};

/// The manifest's file in a knowledge base and in an export.
pub(crate) const FILE: &str = "run.json";

/// The end of the names of server runs' state files.
pub(crate) const STATE_SUFFIX: &str = ".kato-run.json";

/// The file that keeps a run's manifest.
///
/// Writing replaces it as a whole; a crash leaves the old manifest or the new one. Who writes holds
/// the run's lock, as a trainer does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManifestFile {
    path: PathBuf,
}

impl ManifestFile {
    /// Returns the file of a knowledge base: `run.json` in its directory.
    #[must_use]
    pub fn in_knowledge_base(dir: impl AsRef<Path>) -> Self {
        let dir = dir.as_ref();
        Self {
            path: dir.join(FILE),
        }
    }

    /// Returns the file beside the state file of a run whose nodes are on a server: `NAME.run.json`
    /// beside `NAME.kato-run.json`.
    #[must_use]
    pub fn beside_state(state: impl AsRef<Path>) -> Self {
        let state = state.as_ref();
        let name = state.file_name().unwrap_or_default().to_string_lossy();
        let stem = name.strip_suffix(STATE_SUFFIX).unwrap_or(&name);
        Self {
            path: state.with_file_name(format!("{stem}.{FILE}")),
        }
    }

    /// Returns the path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the manifest; `None` where there is none.
    ///
    /// # Errors
    ///
    /// [`RunsError::Version`] and [`RunsError::Damaged`] when it is not one that can be read, and
    /// I/O errors.
    pub fn read(&self) -> Result<Option<RunManifest>, RunsError> {
        let text = match fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(RunsError::io("read", &self.path)(error)),
        };
        let damaged = |error: serde_json::Error| RunsError::damaged(&self.path, error.to_string());
        let value: Value = serde_json::from_str(&text).map_err(damaged)?;
        RunManifest::from_json(&value, &self.path).map(Some)
    }

    /// Replaces the manifest, durably.
    ///
    /// # Errors
    ///
    /// [`RunsError::Io`]; then the old one is there, or the new one.
    pub fn write(&self, manifest: &RunManifest) -> Result<(), RunsError> {
        self.write_to(&Disk::default(), manifest)
    }

    /// Replaces the manifest through a disk that tests can fail.
    pub(crate) fn write_to(&self, disk: &Disk, manifest: &RunManifest) -> Result<(), RunsError> {
        // Written directly, because its JSON value has lost the order of the fields.
        let text = serde_json::to_string_pretty(manifest).expect("a manifest is plain data");
        disk.replace(&self.path, &(text + "\n"))
    }
}

/// Refuses a file of another version before its content is looked at.
pub(crate) fn check_version(path: &Path, value: &Value, supported: u64) -> Result<(), RunsError> {
    let found = value.get("format_version").and_then(Value::as_u64);
    match found {
        Some(found) if found == supported => Ok(()),
        Some(found) => Err(RunsError::Version {
            path: path.to_owned(),
            found,
            supported,
        }),
        None => Err(RunsError::damaged(path, "it has no format version")),
    }
}
