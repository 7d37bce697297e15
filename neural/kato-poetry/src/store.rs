//! Files that are whole or not there.

use std::fs;
use std::io::{BufWriter, Write};
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tempfile::NamedTempFile;

use crate::error::PoetryError;

/// Writes a file under another name, onto the disk, and then to its place: readers see the old one
/// or all of the new one.
pub(crate) fn write_whole(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<(), PoetryError> {
    let attempt = || {
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        let mut file = NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
        let mut buffer = BufWriter::with_capacity(1 << 20, file.as_file_mut());
        write(&mut buffer)?;
        buffer.flush()?;
        drop(buffer);
        // Before the renaming: after a power cut, the name must not stand for a file without its
        // content.
        file.as_file().sync_all()?;
        make_readable(file.as_file())?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    };
    attempt().map_err(PoetryError::file("write", path))
}

/// Gives a file the rights that a new one usually has; those of temporary ones are for the owner alone.
fn make_readable(file: &fs::File) -> std::io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        file.set_permissions(fs::Permissions::from_mode(0o644))?;
    }
    Ok(())
}

/// Writes a value as JSON that people can read.
pub(crate) fn write_json(path: &Path, value: &impl Serialize) -> Result<(), PoetryError> {
    write_whole(path, |out| {
        serde_json::to_writer_pretty(&mut *out, value)?;
        out.write_all(b"\n")
    })
}

/// Reads a value from a JSON file that this crate wrote.
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, PoetryError> {
    let bytes = fs::read(path).map_err(PoetryError::file("read", path))?;
    serde_json::from_slice(&bytes).map_err(|error| PoetryError::Damaged {
        path: path.to_owned(),
        reason: error.to_string(),
    })
}
