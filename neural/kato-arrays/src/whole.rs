//! Files that are whole or not there.

use std::fs::{self, OpenOptions};
use std::io::{self, BufWriter, Write};
#[cfg(unix)]
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::Builder;

/// Writes a file under another name, onto the disk, and then to its place: readers see the old one
/// or all of the new one. A link to a file stays one, and the file is replaced. What is there and no file,
/// such as a pipe or a device, is written to as it is.
///
/// # Errors
///
/// Where the system refuses it, or what `write` says.
pub fn write_whole(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    // A renaming would put a file in its place.
    if fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        let mut stream = BufWriter::new(OpenOptions::new().write(true).open(path)?);
        write(&mut stream)?;
        return stream.flush();
    }
    // Where links lead: `/dev/stdout` may be one to a file. What is not there yet has none.
    let target = fs::canonicalize(path);
    let path = target.as_deref().unwrap_or(path);
    // A name without a folder has an empty one, which is no folder to the system.
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    // In the folder of its place, which renaming needs.
    let mut file = temporary(0o666).tempfile_in(folder.unwrap_or(Path::new(".")))?;
    let mut buffer = BufWriter::with_capacity(1 << 20, file.as_file_mut());
    write(&mut buffer)?;
    buffer.flush()?;
    drop(buffer);
    // Before the renaming: after a power cut, the name must not stand for a file without its content.
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

/// Returns the builder of temporary files or folders that get a place of their own in the end: with these
/// rights, less what the umask removes. By default they are the owner's alone.
#[must_use]
pub fn temporary(rights: u32) -> Builder<'static, 'static> {
    #[cfg_attr(
        not(unix),
        expect(unused_mut, reason = "other systems have no such rights")
    )]
    let mut builder = Builder::new();
    #[cfg(unix)]
    builder.permissions(PermissionsExt::from_mode(rights));
    #[cfg(not(unix))]
    let _ = rights;
    builder
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn a_pipe_is_written_to_and_stays_one() -> Result<(), Box<dyn std::error::Error>> {
        let (reader, writer) = io::pipe()?;
        let path = format!("/proc/self/fd/{}", writer.as_raw_fd());
        write_whole(Path::new(&path), |out| out.write_all(b"whole"))?;
        drop(writer);
        assert_eq!(io::read_to_string(reader)?, "whole");
        Ok(())
    }

    #[test]
    fn a_link_stays_one_to_the_new_file() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let [file, link] = ["a", "b"].map(|name| folder.path().join(name));
        fs::write(&file, b"old")?;
        std::os::unix::fs::symlink(&file, &link)?;
        write_whole(&link, |out| out.write_all(b"new"))?;
        assert!(fs::symlink_metadata(&link)?.is_symlink());
        assert_eq!(fs::read(&file)?, b"new");
        Ok(())
    }

    #[test]
    fn what_was_there_stays_where_writing_fails() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("a");
        write_whole(&path, |out| out.write_all(b"old"))?;
        let failed = write_whole(&path, |out| {
            out.write_all(b"new")?;
            Err(io::Error::other("no more"))
        });
        assert_eq!(
            failed.map_err(|error| error.to_string()),
            Err("no more".to_owned())
        );
        assert_eq!(fs::read(&path)?, b"old");
        assert_eq!(
            fs::read_dir(folder.path())?.count(),
            1,
            "nothing is left over"
        );
        Ok(())
    }
}
