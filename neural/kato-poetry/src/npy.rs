//! Arrays in NumPy's file format, version 1.0.
//!
//! Own, as the crates for it bring a parser of Python's literals and big integers with them, for a
//! header of one line.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use crate::error::PoetryError;
use kato_neural::run::{RunError, write_whole};

/// What every file begins with, version included.
const MAGIC: &[u8] = b"\x93NUMPY\x01\x00";

/// Bytes that are handed to the file at once: a number each would be a call each.
const BUFFER_BYTES: usize = 1 << 16;

/// A kind of number that can be stored.
pub trait Number: Copy {
    /// NumPy's name of it, little-endian.
    const NAME: &'static str;
    /// Bytes of one.
    const N_BYTES: usize;

    /// Appends its bytes.
    fn put(self, bytes: &mut Vec<u8>);

    /// Reads it from its bytes, of which there are as many as it has.
    fn take(bytes: &[u8]) -> Self;
}

/// Implements [`Number`] for a type of Rust.
macro_rules! number {
    ($type:ty, $name:literal) => {
        impl Number for $type {
            const NAME: &'static str = $name;
            const N_BYTES: usize = size_of::<Self>();

            fn put(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }

            fn take(bytes: &[u8]) -> Self {
                let mut array = [0; Self::N_BYTES];
                array.copy_from_slice(bytes);
                Self::from_le_bytes(array)
            }
        }
    };
}

number!(f32, "<f4");
number!(u32, "<u4");
number!(u8, "|u1");

/// Writes an array by rows, atomically.
///
/// ```
/// use kato_poetry::npy;
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("vectors.npy");
/// npy::write(&path, &[2, 3], &[1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
/// let (shape, values) = npy::read::<f32>(&path)?;
/// assert_eq!((shape, values[5]), (vec![2, 3], 6.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// When the file cannot be written.
///
/// # Panics
///
/// When there are not as many numbers as the shape says: a mistake of the caller.
pub fn write<T: Number>(path: &Path, shape: &[usize], values: &[T]) -> Result<(), PoetryError> {
    assert_eq!(
        shape.iter().product::<usize>(),
        values.len(),
        "the shape is {shape:?}"
    );
    Ok(write_whole(path, |out| {
        write_to(out, shape, values.iter().copied())
    })?)
}

/// Writes an array by rows as [`write()`] does, from numbers that need not be held all at once.
///
/// # Errors
///
/// When the file cannot be written, or there are not as many numbers as the shape says.
pub fn write_all<T: Number>(
    path: &Path,
    shape: &[usize],
    values: impl IntoIterator<Item = T>,
) -> Result<(), PoetryError> {
    Ok(write_whole(path, |out| write_to(out, shape, values))?)
}

/// Writes an array by rows.
fn write_to<T: Number>(
    out: &mut dyn Write,
    shape: &[usize],
    values: impl IntoIterator<Item = T>,
) -> io::Result<()> {
    let sizes: String = shape.iter().map(|size| format!("{size},")).collect();
    let mut header = format!(
        "{{'descr': '{}', 'fortran_order': False, 'shape': ({sizes}), }}",
        T::NAME
    );
    // The numbers begin at a multiple of 64 bytes, and a line break stands before them.
    let padded = (MAGIC.len() + 2 + header.len() + 1).next_multiple_of(64);
    let n_blanks = padded - (MAGIC.len() + 2 + header.len() + 1);
    header.extend(std::iter::repeat_n(' ', n_blanks));
    header.push('\n');
    let n_bytes = u16::try_from(header.len()).map_err(io::Error::other)?;
    out.write_all(MAGIC)?;
    out.write_all(&n_bytes.to_le_bytes())?;
    out.write_all(header.as_bytes())?;
    let mut bytes = Vec::with_capacity(BUFFER_BYTES);
    let mut n_values = 0;
    for value in values {
        value.put(&mut bytes);
        n_values += 1;
        if bytes.len() >= BUFFER_BYTES {
            out.write_all(&bytes)?;
            bytes.clear();
        }
    }
    out.write_all(&bytes)?;
    if n_values == shape.iter().product::<usize>() {
        Ok(())
    } else {
        let text = format!("{n_values} numbers do not fill an array of {shape:?}");
        Err(io::Error::other(text))
    }
}

/// Reads an array that was written by rows with numbers of this kind: its shape and its numbers.
///
/// # Errors
///
/// When the file cannot be read, is no such array, or is longer or shorter than it says.
pub fn read<T: Number>(path: &Path) -> Result<(Vec<usize>, Vec<T>), PoetryError> {
    let bytes = fs::read(path).map_err(RunError::file("read", path))?;
    parse(&bytes).map_err(|reason| {
        let (path, reason) = (path.to_owned(), reason.to_owned());
        RunError::Damaged { path, reason }.into()
    })
}

/// Parses the content of a file.
fn parse<T: Number>(bytes: &[u8]) -> Result<(Vec<usize>, Vec<T>), &'static str> {
    let rest = bytes
        .strip_prefix(MAGIC)
        .ok_or("it is no array of NumPy's format 1.0")?;
    let (size, rest) = rest.split_at_checked(2).ok_or("it is cut off")?;
    let n_header = usize::from(u16::from_le_bytes([size[0], size[1]]));
    let (header, values) = rest.split_at_checked(n_header).ok_or("it is cut off")?;
    let header = std::str::from_utf8(header).map_err(|_| "its header is no text")?;
    if !header.contains(&format!("'{}'", T::NAME)) {
        return Err("its numbers are of another kind");
    }
    if !header.contains("'fortran_order': False") {
        return Err("it is stored by columns");
    }
    let sizes = header
        .split_once("'shape': (")
        .and_then(|(_, rest)| rest.split_once(')'));
    let sizes = sizes
        .ok_or("its header names no shape")?
        .0
        .split(',')
        .map(str::trim);
    let shape: Option<Vec<usize>> = sizes
        .filter(|size| !size.is_empty())
        .map(|size| size.parse().ok())
        .collect();
    let shape = shape.ok_or("its shape is not made of numbers")?;
    let n_values = shape
        .iter()
        .try_fold(T::N_BYTES, |n, size| n.checked_mul(*size));
    if n_values != Some(values.len()) {
        return Err("it has not as many numbers as its shape says");
    }
    Ok((
        shape,
        values.chunks_exact(T::N_BYTES).map(T::take).collect(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_are_those_that_numpy_writes() {
        // numpy.save of numpy.array([[1, 2]], dtype='<u4') gives these bytes.
        let mut expected = b"\x93NUMPY\x01\x00v\x00".to_vec();
        expected.extend(b"{'descr': '<u4', 'fortran_order': False, 'shape': (1, 2), }");
        expected.resize(127, b' ');
        expected.extend(b"\n\x01\0\0\0\x02\0\0\0");
        let mut written = Vec::new();
        write_to(&mut written, &[1, 2], [1_u32, 2]).expect("a vector takes all");
        // Our shape has another comma, which changes one blank.
        assert_eq!(written.len(), expected.len());
        assert_eq!(written[..10], expected[..10]);
        assert_eq!(parse::<u32>(&expected), Ok((vec![1, 2], vec![1, 2])));
        assert_eq!(parse::<u32>(&written), Ok((vec![1, 2], vec![1, 2])));
    }

    #[test]
    fn damage_is_found() {
        let mut written = Vec::new();
        write_to(&mut written, &[3], [1.0_f32, -2.5, f32::MAX]).expect("a vector takes all");
        assert_eq!(
            parse::<f32>(&written),
            Ok((vec![3], vec![1.0, -2.5, f32::MAX]))
        );
        assert!(parse::<u8>(&written).is_err());
        for end in 0..written.len() {
            assert!(parse::<f32>(&written[..end]).is_err(), "cut off at {end}");
        }
        written.push(0);
        assert!(parse::<f32>(&written).is_err());
        assert!(write_to(&mut written, &[2], [1.0_f32]).is_err(), "too few");
    }
}
