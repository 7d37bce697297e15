//! Files that are whole or not there.

use std::fs;
use std::io::Write;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::RunError;

/// Writes a file whole or not at all, as [`kato_arrays::write_whole`] does.
///
/// # Errors
///
/// [`RunError::File`] where the system refuses it.
pub fn write_whole(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<(), RunError> {
    kato_arrays::write_whole(path, write).map_err(RunError::file("write", path))
}

/// Writes a text as [`write_whole`] does.
///
/// # Errors
///
/// As for [`write_whole`].
pub fn write_text(path: &Path, text: &str) -> Result<(), RunError> {
    write_whole(path, |out| out.write_all(text.as_bytes()))
}

/// Writes a value as JSON that people can read.
///
/// # Errors
///
/// As for [`write_whole`].
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<(), RunError> {
    write_whole(path, |out| {
        serde_json::to_writer_pretty(&mut *out, value)?;
        out.write_all(b"\n")
    })
}

/// Reads a value from a JSON file that was written by [`write_json`].
///
/// # Errors
///
/// [`RunError::File`] where it cannot be read, [`RunError::Damaged`] where it is no such value.
pub fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, RunError> {
    let bytes = fs::read(path).map_err(RunError::file("read", path))?;
    serde_json::from_slice(&bytes).map_err(|error| RunError::Damaged {
        path: path.to_owned(),
        reason: error.to_string(),
    })
}
