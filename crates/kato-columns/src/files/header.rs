//! Texts under a checksum: the headers of directories.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::Path;

use super::FileError;

/// Writes a text and its CRC-32 as the last line, and waits until the disk has it.
///
/// # Errors
///
/// [`FileError::Io`], also when the file is there already.
pub fn write_sealed(path: impl AsRef<Path>, body: &str) -> Result<(), FileError> {
    let path = path.as_ref();
    let text = format!("{body}\ncrc32 {:08x}\n", crc32fast::hash(body.as_bytes()));
    let write = || {
        let mut file = File::create_new(path)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()
    };
    write().map_err(FileError::io("write", path))
}

/// Reads a text that [`write_sealed`] wrote; `None` if there is no such file.
///
/// # Errors
///
/// [`FileError::Damaged`] when it is not what was written, and [`FileError::Io`].
pub fn read_sealed(path: impl AsRef<Path>) -> Result<Option<String>, FileError> {
    let path = path.as_ref();
    let bytes = match fs::read(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        read => read.map_err(FileError::io("read", path))?,
    };
    let damaged = |reason: &str| FileError::damaged(path, reason);
    let text = str::from_utf8(&bytes).map_err(|_| damaged("it is not text"))?;
    let (body, trailer) = text
        .trim_end()
        .rsplit_once('\n')
        .ok_or_else(|| damaged("it has no checksum"))?;
    // Nothing of a damaged file is believed, not even its version.
    if trailer != format!("crc32 {:08x}", crc32fast::hash(body.as_bytes())) {
        return Err(damaged("its checksum does not match"));
    }
    Ok(Some(body.to_owned()))
}
