//! NumPy's format: a line of text on type and shape, then the numbers.

use std::io::{self, Write};

use crate::ArrayNumber;

/// What every file begins with; the version follows.
const MAGIC: &[u8] = b"\x93NUMPY";
/// The version that is written, which every reader knows.
const VERSION: [u8; 2] = [1, 0];
/// What the header's end must be a multiple of.
const ALIGNMENT: usize = 64;
/// Bytes that are handed over at once: a number each would be a call each.
const BUFFER_BYTES: usize = 1 << 16;

/// Writes an array by rows, from numbers that need not be held all at once.
///
/// # Errors
///
/// When it cannot be written, or there are not as many numbers as the shape says.
pub fn write_array<T: ArrayNumber>(
    out: &mut dyn Write,
    shape: &[usize],
    values: impl IntoIterator<Item = T>,
) -> io::Result<()> {
    let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
    // Python's way to write a tuple of one.
    let comma = if sizes.len() == 1 { "," } else { "" };
    let sizes = sizes.join(", ") + comma;
    let text = format!(
        "{{'descr': '{}', 'fortran_order': False, 'shape': ({sizes}), }}",
        T::NAME
    );
    // The text is filled up with blanks and ends its line; two bytes before it say its length.
    let n_before = MAGIC.len() + VERSION.len() + 2;
    let n_text = (n_before + text.len() + 1).next_multiple_of(ALIGNMENT) - n_before;
    out.write_all(MAGIC)?;
    out.write_all(&VERSION)?;
    out.write_all(
        &u16::try_from(n_text)
            .map_err(io::Error::other)?
            .to_le_bytes(),
    )?;
    writeln!(out, "{text:<width$}", width = n_text - 1)?;
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

/// Reads an array of numbers of this kind that was written by rows: its shape and its numbers.
///
/// # Errors
///
/// What is wrong, in words: it is no such array, or longer or shorter than it says.
pub fn parse_array<T: ArrayNumber>(bytes: &[u8]) -> Result<(Vec<usize>, Vec<T>), &'static str> {
    let (header, numbers) = parts(bytes)?;
    if !has_numbers(header, T::NAME) {
        return Err("its numbers are of another kind");
    }
    let shape = shape_of(header)?;
    if is_by_columns(header)? && shape.len() > 1 {
        return Err("it is stored by columns; write it by rows");
    }
    Ok((shape.clone(), values(&shape, numbers)?))
}

/// Reads an array of floats of 32 or 64 bits: its shape and its numbers.
///
/// One that is stored by columns comes as the array that has its rows for columns.
///
/// # Errors
///
/// As for [`parse_array`].
pub fn parse_floats(bytes: &[u8]) -> Result<(Vec<usize>, Vec<f64>), &'static str> {
    let (header, numbers) = parts(bytes)?;
    let mut shape = shape_of(header)?;
    if is_by_columns(header)? {
        shape.reverse();
    }
    let values = if has_numbers(header, "<f8") {
        values(&shape, numbers)?
    } else if has_numbers(header, "<f4") {
        let singles: Vec<f32> = values(&shape, numbers)?;
        singles.into_iter().map(f64::from).collect()
    } else {
        return Err("its numbers are no little-endian floats of 32 or 64 bits");
    };
    Ok((shape, values))
}

/// Parts a file of version 1, 2 or 3 into its header and the bytes of its numbers.
fn parts(bytes: &[u8]) -> Result<(&str, &[u8]), &'static str> {
    const CUT: &str = "it is cut off";
    let rest = bytes.strip_prefix(MAGIC).ok_or("it is no array of NumPy")?;
    let (version, rest) = rest.split_at_checked(VERSION.len()).ok_or(CUT)?;
    let n_size = if version[0] == 1 { 2 } else { 4 };
    let (size, rest) = rest.split_at_checked(n_size).ok_or(CUT)?;
    let n_header = size
        .iter()
        .rev()
        .fold(0, |n, &byte| n << 8 | usize::from(byte));
    let (header, numbers) = rest.split_at_checked(n_header).ok_or(CUT)?;
    let header = str::from_utf8(header).map_err(|_| "its header is no text")?;
    Ok((header, numbers))
}

/// Returns whether the array is of plain numbers of a kind, and not of records of such.
fn has_numbers(header: &str, name: &str) -> bool {
    header.contains(&format!("'descr': '{name}'"))
}

fn is_by_columns(header: &str) -> Result<bool, &'static str> {
    match header.split_once("'fortran_order': ") {
        Some((_, rest)) => Ok(!rest.starts_with("False")),
        None => Err("its header names no order"),
    }
}

fn shape_of(header: &str) -> Result<Vec<usize>, &'static str> {
    let sizes = header
        .split_once("'shape': (")
        .and_then(|(_, rest)| rest.split_once(')'));
    let sizes = sizes.ok_or("its header names no shape")?.0.split(',');
    let sizes = sizes.map(str::trim).filter(|size| !size.is_empty());
    let shape: Result<_, _> = sizes.map(str::parse).collect();
    shape.map_err(|_| "its shape is not made of numbers")
}

fn values<T: ArrayNumber>(shape: &[usize], bytes: &[u8]) -> Result<Vec<T>, &'static str> {
    let n_bytes = shape
        .iter()
        .try_fold(T::N_BYTES, |n, size| n.checked_mul(*size));
    if n_bytes != Some(bytes.len()) {
        return Err("it has not as many numbers as its shape says");
    }
    Ok(bytes.chunks_exact(T::N_BYTES).map(T::take).collect())
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
        write_array(&mut written, &[1, 2], [1_u32, 2]).expect("a vector takes all");
        assert_eq!(written, expected);
        assert_eq!(parse_array::<u32>(&written), Ok((vec![1, 2], vec![1, 2])));
    }

    #[test]
    fn floats_are_read_of_either_size_and_in_either_order() {
        let mut written = Vec::new();
        write_array(&mut written, &[2, 1], [0.5_f32, -2.0]).expect("a vector takes all");
        let expected = Ok((vec![2, 1], vec![0.5, -2.0]));
        assert_eq!(parse_floats(&written), expected);
        // Version 2 has four bytes for the header's length.
        let mut later = written[..6].to_vec();
        later.extend([2, 0, written[8], written[9], 0, 0]);
        later.extend(&written[10..]);
        assert_eq!(parse_floats(&later), expected);
        let text = String::from_utf8_lossy(&written[10..128]).replace("False", "True ");
        written.splice(10..128, text.into_bytes());
        assert_eq!(parse_floats(&written), Ok((vec![1, 2], vec![0.5, -2.0])));
        assert!(parse_array::<f32>(&written).is_err(), "by columns");
        let text = String::from_utf8_lossy(&written[10..128]).replace("'<f4'", "[('a', '<f4')]");
        written.splice(10..128, text.bytes().take(118));
        let reason = parse_floats(&written).unwrap_err();
        assert!(reason.contains("no little-endian floats"), "{reason}");
    }

    #[test]
    fn damage_is_found() {
        let mut written = Vec::new();
        let all = [1.0_f32, -2.5, f32::MAX];
        write_array(&mut written, &[3], all).expect("a vector takes all");
        assert_eq!(parse_array(&written), Ok((vec![3], all.to_vec())));
        assert!(parse_array::<u8>(&written).is_err());
        for end in 0..written.len() {
            assert!(
                parse_array::<f32>(&written[..end]).is_err(),
                "cut off at {end}"
            );
            assert!(parse_floats(&written[..end]).is_err(), "cut off at {end}");
        }
        written.push(0);
        assert!(parse_array::<f32>(&written).is_err());
        assert!(
            write_array(&mut written, &[2], [1.0_f32]).is_err(),
            "too few"
        );
    }
}
