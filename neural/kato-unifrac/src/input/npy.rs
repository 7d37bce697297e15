//! NumPy's format, versions 1 to 3: a line of text on type and shape, then the numbers.

/// Reads a square matrix of floats: the number of its rows, and its numbers.
pub(super) fn parse(bytes: &[u8]) -> Result<(usize, Vec<f64>), &'static str> {
    let rest = bytes
        .strip_prefix(b"\x93NUMPY")
        .ok_or("it is no array of NumPy")?;
    let (version, rest) = rest.split_at_checked(2).ok_or("it is cut off")?;
    let n_size = if version[0] == 1 { 2 } else { 4 };
    let (size, rest) = rest.split_at_checked(n_size).ok_or("it is cut off")?;
    let n_header = size
        .iter()
        .rev()
        .fold(0, |n, &byte| n << 8 | usize::from(byte));
    let (header, numbers) = rest.split_at_checked(n_header).ok_or("it is cut off")?;
    let header = str::from_utf8(header).map_err(|_| "its header is no text")?;
    let n = square_shape(header).ok_or("it is not square; write all pairs of samples")?;
    let count = n.checked_mul(n).ok_or("its shape is too large")?;
    // The order of rows and columns does not matter: distances are symmetric.
    let values: Vec<f64> = if header.contains("'<f8'") {
        let (numbers, rest) = numbers.as_chunks::<8>();
        if !rest.is_empty() {
            return Err("it is cut off");
        }
        numbers.iter().map(|b| f64::from_le_bytes(*b)).collect()
    } else if header.contains("'<f4'") {
        let (numbers, rest) = numbers.as_chunks::<4>();
        if !rest.is_empty() {
            return Err("it is cut off");
        }
        numbers
            .iter()
            .map(|b| f32::from_le_bytes(*b).into())
            .collect()
    } else {
        return Err("its numbers are no little-endian floats of 32 or 64 bits");
    };
    if values.len() != count {
        return Err("it has not as many numbers as its shape says");
    }
    Ok((n, values))
}

/// Returns the side of the shape that a header names, if it is a square's.
fn square_shape(header: &str) -> Option<usize> {
    let (_, rest) = header.split_once("'shape': (")?;
    let mut sides = rest.split_once(')')?.0.split(',').map(str::trim);
    let (rows, columns) = (sides.next()?, sides.next()?);
    let is_all = sides.all(str::is_empty);
    (is_all && rows == columns)
        .then(|| rows.parse().ok())
        .flatten()
}
