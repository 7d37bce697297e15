//! The parts of a file that can be read on their own.

use crate::bad_record::Fault;
use crate::inputs::InputFile;
use crate::options::{Compression, Format, Selection, TextUnit};

/// Text of a part, in bytes: large against what opening one costs, small enough that several are held in memory.
pub(crate) const EXTENT_BYTES: u64 = 8 << 20;

/// A part of a file: the records that begin in a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    /// Where the range begins: a row of Parquet, a byte of other formats.
    pub(crate) start: u64,
    /// Where it ends; `u64::MAX` for the end of the file, wherever that turns out to be.
    pub(crate) end: u64,
    /// Number of records, where the file tells.
    pub(crate) records: Option<u64>,
    /// Bytes of text, roughly.
    pub(crate) text_bytes: u64,
}

impl Extent {
    /// A file that is not cut.
    pub(crate) fn whole(bytes: u64) -> Self {
        Self {
            start: 0,
            end: u64::MAX,
            records: None,
            text_bytes: bytes,
        }
    }
}

/// Cuts a file. Parquet is always cut in the same way; files of lines only where parts of them are read out of turn.
pub(crate) fn cut(
    file: &InputFile,
    selection: &Selection,
    cut_lines: bool,
) -> Result<Vec<Extent>, Fault> {
    if file.format == Format::Parquet {
        return Ok(file.parquet(selection)?.extents.clone());
    }
    let size = file.size.unwrap_or(0);
    let step = selection.extent_bytes;
    if !(cut_lines && has_cuttable_lines(file, selection)) || size <= step {
        return Ok(vec![Extent::whole(size)]);
    }
    let mut extents: Vec<_> = (0..size.div_ceil(step))
        .map(|number| Extent {
            start: number * step,
            end: (number + 1) * step,
            records: None,
            text_bytes: step,
        })
        .collect();
    if let Some(last) = extents.last_mut() {
        last.text_bytes = size - last.start;
        // A file that has grown must not end where it used to.
        last.end = u64::MAX;
    }
    Ok(extents)
}

/// Whether records of a file can be found from any byte: a line break ends one wherever it stands.
pub(crate) fn has_cuttable_lines(file: &InputFile, selection: &Selection) -> bool {
    let is_line = match file.format {
        Format::JsonLines => true,
        Format::Text => selection.text_unit == TextUnit::Line,
        Format::Csv | Format::Tsv | Format::Parquet => false,
    };
    is_line && file.compression == Compression::None && file.is_seekable()
}
