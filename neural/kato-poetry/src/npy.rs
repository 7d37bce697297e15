//! Arrays in NumPy's file format.

use std::fs;
use std::path::Path;

use kato_neural::run::{RunError, write_whole};

use crate::error::PoetryError;

pub use kato_arrays::ArrayNumber;

/// Writes an array by rows, atomically, from numbers that need not be held all at once.
///
/// ```
/// use kato_poetry::npy;
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("vectors.npy");
/// npy::write(&path, &[2, 3], [1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
/// let (shape, values) = npy::read::<f32>(&path)?;
/// assert_eq!((shape, values[5]), (vec![2, 3], 6.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// When the file cannot be written, or there are not as many numbers as the shape says.
pub fn write<T: ArrayNumber>(
    path: &Path,
    shape: &[usize],
    values: impl IntoIterator<Item = T>,
) -> Result<(), PoetryError> {
    Ok(write_whole(path, |out| {
        kato_arrays::write_array(out, shape, values)
    })?)
}

/// Reads an array that was written by rows with numbers of this kind: its shape and its numbers.
///
/// # Errors
///
/// When the file cannot be read, is no such array, or is longer or shorter than it says.
pub fn read<T: ArrayNumber>(path: &Path) -> Result<(Vec<usize>, Vec<T>), PoetryError> {
    let bytes = fs::read(path).map_err(RunError::file("read", path))?;
    kato_arrays::parse_array(&bytes).map_err(|reason| {
        let (path, reason) = (path.to_owned(), reason.to_owned());
        RunError::Damaged { path, reason }.into()
    })
}
