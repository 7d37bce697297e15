//! Files of distances.

mod hdf5;
mod npy;
mod tsv;

use std::error::Error;
use std::io::{BufWriter, Write};
#[cfg(unix)]
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::{Builder, NamedTempFile};

use crate::error::UnifracError;
use crate::matrix::DistanceMatrix;

pub(crate) type Cause = Box<dyn Error + Send + Sync>;

pub(crate) fn write(matrix: &DistanceMatrix, path: &Path) -> Result<(), UnifracError> {
    let write: fn(&DistanceMatrix, &mut dyn Write) -> Result<(), Cause> =
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("npy") => |matrix, sink| Ok(npy::write(matrix, sink)?),
            Some("h5") => hdf5::write,
            Some("tsv") => |matrix, sink| Ok(tsv::write(matrix, sink)?),
            _ => {
                return Err(UnifracError::UnknownOutput {
                    path: path.to_owned(),
                });
            }
        };
    whole_file(path, |sink| write(matrix, sink))?;
    if path.extension().is_some_and(|extension| extension == "npy") {
        whole_file(&path.with_extension("ids.txt"), |sink| {
            for id in matrix.sample_ids() {
                writeln!(sink, "{id}")?;
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// Writes a file under another name beside its own, and gives it its name when it is whole.
pub(crate) fn whole_file(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<(), Cause>,
) -> Result<(), UnifracError> {
    let written = || -> Result<(), Cause> {
        // A name without a folder has an empty one, which is no folder to the system.
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        let file = temporary(folder.unwrap_or(Path::new(".")))?;
        let mut sink = BufWriter::with_capacity(1 << 16, file);
        write(&mut sink)?;
        let file = sink
            .into_inner()
            .map_err(std::io::IntoInnerError::into_error)?;
        // Before the renaming: after a power cut, the name must not stand for a file without its
        // content.
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    };
    written().map_err(|source| UnifracError::Write {
        path: path.to_owned(),
        source,
    })
}

/// Creates a temporary file in the folder of its later place, with the rights of any new file.
fn temporary(folder: &Path) -> std::io::Result<NamedTempFile> {
    let mut builder = Builder::new();
    // Temporary files are the owner's alone by default.
    #[cfg(unix)]
    builder.permissions(PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder)
}
