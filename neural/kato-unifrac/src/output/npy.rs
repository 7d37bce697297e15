//! NumPy's format: a line of text on type and shape, then the numbers.

use std::io::{self, Write};

use crate::matrix::DistanceMatrix;

/// What the header's end must be a multiple of, by the format's first version.
const ALIGNMENT: usize = 64;

pub(super) fn write(matrix: &DistanceMatrix, sink: &mut dyn Write) -> io::Result<()> {
    let n = matrix.n_samples();
    let head = b"\x93NUMPY\x01\x00";
    let mut text = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({n}, {n}), }}");
    // The text is filled up with spaces and ends its line; two bytes before it say its length.
    let n_bytes = (head.len() + 2 + text.len() + 1).next_multiple_of(ALIGNMENT);
    let n_text_bytes = n_bytes - head.len() - 2;
    text = format!("{text:<width$}\n", width = n_text_bytes - 1);
    sink.write_all(head)?;
    sink.write_all(&(n_text_bytes as u16).to_le_bytes())?;
    sink.write_all(text.as_bytes())?;
    let mut row = Vec::with_capacity(n);
    for i in 0..n {
        matrix.fill_row(i, &mut row);
        for distance in &row {
            sink.write_all(&distance.to_le_bytes())?;
        }
    }
    Ok(())
}
