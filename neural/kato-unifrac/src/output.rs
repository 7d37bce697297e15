//! Files of distances.

mod hdf5;
mod tsv;

use std::error::Error;
use std::io::{self, Write};
use std::path::Path;

use crate::error::UnifracError;
use crate::matrix::DistanceMatrix;

pub(crate) type Cause = Box<dyn Error + Send + Sync>;

pub(crate) fn write(matrix: &DistanceMatrix, path: &Path) -> Result<(), UnifracError> {
    let write: fn(&DistanceMatrix, &mut dyn Write) -> Result<(), Cause> =
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("npy") => |matrix, sink| {
                let n = matrix.n_samples();
                Ok(kato_arrays::write_array(sink, &[n, n], matrix.square())?)
            },
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

/// Writes a file whole or not at all.
pub(crate) fn whole_file(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<(), Cause>,
) -> Result<(), UnifracError> {
    kato_arrays::write_whole(path, |sink| {
        // What is no error of the system is told as the cause of one.
        write(sink).map_err(|cause| match cause.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(cause) => io::Error::other(cause),
        })
    })
    .map_err(|source| UnifracError::Write {
        path: path.to_owned(),
        source,
    })
}
