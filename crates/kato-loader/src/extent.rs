//! A part of a file that can be read on its own.

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
            text_bytes: bytes,
            ..Self::from_byte(0)
        }
    }

    /// Creates the part from a byte to the end of the file.
    pub(crate) fn from_byte(start: u64) -> Self {
        Self {
            start,
            end: u64::MAX,
            records: None,
            text_bytes: 0,
        }
    }
}
