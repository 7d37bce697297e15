//! Writes a profile to files: JSON, CSV, HTML, Prometheus. Each is whole or not there.

mod csv;
mod html;
pub(crate) mod prometheus;
#[cfg(test)]
mod tests;

use std::io::Write;
use std::path::Path;

use crate::error::ProfileError;
use crate::summary::{FORMAT, ProfilingSummary};

impl ProfilingSummary {
    /// Writes the whole summary as JSON. Its schema is `schemas/profile-v1.schema.json`.
    ///
    /// # Errors
    ///
    /// [`ProfileError::Write`] if the file cannot be written. An old file of that name then stays
    /// as it was.
    pub fn export_json(&self, path: impl AsRef<Path>) -> Result<(), ProfileError> {
        let mut json = serde_json::to_vec(self).map_err(ProfileError::Json)?;
        json.push(b'\n');
        write(path.as_ref(), &json)
    }

    /// Reads a file that [`export_json`](Self::export_json) has written.
    ///
    /// # Errors
    ///
    /// [`ProfileError::Read`] if the file cannot be read, [`ProfileError::Format`] if it is
    /// something else.
    pub fn from_json(path: impl AsRef<Path>) -> Result<Self, ProfileError> {
        let path = path.as_ref();
        let json = std::fs::read(path).map_err(|source| ProfileError::Read {
            path: path.to_owned(),
            source,
        })?;
        let wrong = |source| ProfileError::Format {
            path: path.to_owned(),
            expected: FORMAT,
            source,
        };
        let summary: Self = serde_json::from_slice(&json).map_err(wrong)?;
        // Checked although it was read: a later format may have the same fields with another
        // meaning.
        if summary.format != FORMAT {
            let found = format!("the file is of format {}", summary.format);
            return Err(wrong(serde::de::Error::custom(found)));
        }
        Ok(summary)
    }

    /// Writes the timeline as CSV, a line for each point; the columns are listed in
    /// `docs/profiling.md`.
    ///
    /// # Errors
    ///
    /// [`ProfileError::Write`], as for JSON.
    pub fn export_csv(&self, path: impl AsRef<Path>) -> Result<(), ProfileError> {
        write(path.as_ref(), csv::text(self).as_bytes())
    }

    /// Writes a page with verdict, charts and tables. It needs no network and no script.
    ///
    /// # Errors
    ///
    /// [`ProfileError::Write`], as for JSON.
    pub fn export_html(&self, path: impl AsRef<Path>) -> Result<(), ProfileError> {
        write(path.as_ref(), html::page(self).as_bytes())
    }
}

/// Returns the JSON schema of a summary.
#[cfg(feature = "schema")]
#[must_use]
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(ProfilingSummary).to_value()
}

/// Writes beside the file and renames, so that nobody ever sees a part of it. A link to a file stays one, and
/// what is there and no file, such as a pipe or a device, is written to as it is.
pub(crate) fn write(path: &Path, content: &[u8]) -> Result<(), ProfileError> {
    let written = match std::fs::metadata(path) {
        // A renaming would put a file in its place.
        Ok(found) if !found.is_file() && !found.is_dir() => std::fs::OpenOptions::new()
            .write(true)
            .open(path)
            .and_then(|mut there| there.write_all(content)),
        // Where links lead; what is not there yet has none.
        _ => replace(
            &std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()),
            content,
        ),
    };
    written.map_err(|source| ProfileError::Write {
        path: path.to_owned(),
        source,
    })
}

/// Writes beside a file and renames.
fn replace(path: &Path, content: &[u8]) -> std::io::Result<()> {
    // A bare file name has an empty parent, which is no directory that could be opened.
    let parent = path.parent().filter(|parent| *parent != Path::new(""));
    let folder = parent.unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // Less what the umask removes, as for any new file.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    // In the same directory, because a file can only be renamed within a file system.
    let mut file = builder.tempfile_in(folder)?;
    file.write_all(content)?;
    // Before the rename: after a crash the new name must not lead to an empty file.
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}
