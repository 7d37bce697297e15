//! Text with tabs, in which distances are read back as they were.

use std::io::{self, Write};

use crate::matrix::DistanceMatrix;

pub(super) fn write(matrix: &DistanceMatrix, sink: &mut dyn Write) -> io::Result<()> {
    for id in matrix.sample_ids() {
        write!(sink, "\t{}", on_a_line(id))?;
    }
    writeln!(sink)?;
    for (i, id) in matrix.sample_ids().iter().enumerate() {
        write!(sink, "{}", on_a_line(id))?;
        for distance in matrix.row(i) {
            write!(sink, "\t{distance}")?;
        }
        writeln!(sink)?;
    }
    Ok(())
}

/// A tab or a line break in a name would move all cells behind it.
fn on_a_line(id: &str) -> String {
    id.replace(['\t', '\n', '\r'], " ")
}
