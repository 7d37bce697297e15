//! Files that are whole or not there.

use std::fs::{self, OpenOptions};
use std::io::{BufWriter, Write};
#[cfg(unix)]
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tempfile::{Builder, NamedTempFile};

use super::RunError;

/// Writes a file under another name, onto the disk, and then to its place: readers see the old one
/// or all of the new one. What is there and no file, such as a pipe or a device, is written to as it is.
///
/// # Errors
///
/// [`RunError::File`] where the system refuses it.
pub fn write_whole(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<(), RunError> {
    // A renaming would put a file in its place.
    let is_stream = fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir());
    let attempt = || {
        if is_stream {
            let mut stream = BufWriter::new(OpenOptions::new().write(true).open(path)?);
            write(&mut stream)?;
            return stream.flush();
        }
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        let mut file = temporary(folder.unwrap_or(Path::new(".")))?;
        let mut buffer = BufWriter::with_capacity(1 << 20, file.as_file_mut());
        write(&mut buffer)?;
        buffer.flush()?;
        drop(buffer);
        // Before the renaming: after a power cut, the name must not stand for a file without its
        // content.
        file.as_file().sync_all()?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    };
    attempt().map_err(RunError::file("write", path))
}

/// Writes a text as [`write_whole`] does.
///
/// # Errors
///
/// As for [`write_whole`].
pub fn write_text(path: &Path, text: &str) -> Result<(), RunError> {
    write_whole(path, |out| out.write_all(text.as_bytes()))
}

/// Creates a temporary file in the folder of its later place, with the rights of any new file.
fn temporary(folder: &Path) -> std::io::Result<NamedTempFile> {
    let mut builder = Builder::new();
    // Temporary files are the owner's alone by default.
    #[cfg(unix)]
    builder.permissions(PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder)
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

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn a_pipe_is_written_to_and_stays_one() -> Result<(), Box<dyn std::error::Error>> {
        let (reader, writer) = std::io::pipe()?;
        let path = format!("/proc/self/fd/{}", writer.as_raw_fd());
        write_text(Path::new(&path), "whole")?;
        drop(writer);
        assert_eq!(std::io::read_to_string(reader)?, "whole");
        Ok(())
    }
}
