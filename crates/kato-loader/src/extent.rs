//! Cuts files into parts that can be read on their own.

use crate::bad_record::Fault;
use crate::inputs::InputFile;
use crate::options::{Compression, CorpusOptions, Format, TextUnit};

/// Text of a part, in bytes: large against what opening a part costs, small enough that several are
/// held in memory.
pub(crate) const EXTENT_BYTES: u64 = 8 << 20;

/// A part of a file: the records that begin in a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    /// Where the range begins: a row of Parquet, a byte of other formats.
    pub(crate) start: u64,
    /// Where it ends; `u64::MAX` for the end of the file, wherever that turns out to be.
    pub(crate) end: u64,
    /// Number of records, where the file states it.
    pub(crate) records: Option<u64>,
    /// Bytes of text, roughly.
    pub(crate) text_bytes: u64,
}

impl Extent {
    /// Creates the only part of a file that is not cut.
    pub(crate) fn whole(bytes: u64) -> Self {
        Self {
            start: 0,
            end: u64::MAX,
            records: None,
            text_bytes: bytes,
        }
    }
}

/// Cuts a file into parts, in order; there is at least one, except for Parquet without rows.
///
/// Parquet is always cut in the same way; files of lines only where parts of them are read out of
/// turn.
pub(crate) fn cut(
    file: &InputFile,
    selection: &CorpusOptions,
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
    // Cut at multiples of the step and not at line breaks, which would have to be looked for: each
    // part is the lines that begin in it.
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
        // A file that has grown must be read to its end, where the change is noticed.
        last.end = u64::MAX;
    }
    Ok(extents)
}

/// Returns whether records of the file can be found from any byte: where each is a line, and a line
/// break ends it wherever it stands.
pub(crate) fn has_cuttable_lines(file: &InputFile, selection: &CorpusOptions) -> bool {
    let is_line = match file.format {
        Format::JsonLines => true,
        Format::Text => selection.text_unit == TextUnit::Line,
        // A quoted field of CSV may hold line breaks, and whether a break is in quotes only shows
        // from the top.
        Format::Csv | Format::Tsv | Format::Parquet => false,
    };
    is_line && file.compression == Compression::None && file.is_seekable()
}
