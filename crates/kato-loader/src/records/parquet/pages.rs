//! Looks at the headers of pages before they are decoded, so that no page takes more memory than
//! allowed: a page of some hundred bytes may unfold to gigabytes.

use std::io::{self, ErrorKind, Read};

use parquet::file::reader::ChunkReader;

use super::input::ParquetInput;
use crate::bad_record::{BadReason, Cause, Fault};

/// Length of a header that is read, at most, in bytes: it may hold the least and the greatest value
/// of its page.
const MAX_HEADER_BYTES: u64 = 64 << 20;
/// Structures within structures that a header may have.
const MAX_DEPTH: usize = 16;

/// The number of the encoding that shares the beginning of each value with the one before it.
const DELTA_BYTE_ARRAY: i64 = 7;

/// What is allowed of the pages of a column.
#[derive(Clone, Copy)]
pub(super) struct Allowed {
    /// Bytes of a page, decompressed.
    pub(super) page_bytes: u64,
    /// Whether the footer says that values may share their beginnings, for which batches are short.
    pub(super) has_shared_beginnings: bool,
}

/// Checks the pages that begin at these places of a file, each to the end of the range or as long
/// as one follows the other.
///
/// # Errors
///
/// [`BadReason::PageTooLarge`], and damage where a page is not what the footer says. Headers that
/// cannot be read are left to the decoder, which says more about them.
pub(super) fn check(
    input: &ParquetInput,
    pages: impl IntoIterator<Item = std::ops::Range<u64>>,
    allowed: Allowed,
) -> Result<(), Fault> {
    for range in pages {
        let mut at = range.start;
        while at < range.end {
            let Ok(reader) = input.get_read(at) else {
                return Ok(());
            };
            let mut header = Header::new(reader);
            let Ok(page) = header.read() else {
                return Ok(());
            };
            if page.bytes > allowed.page_bytes {
                return Err(Fault::for_file(BadReason::PageTooLarge {
                    page_bytes: page.bytes,
                    limit_bytes: allowed.page_bytes,
                }));
            }
            if page.has_shared_beginnings && !allowed.has_shared_beginnings {
                let cause: Cause = "a page is encoded otherwise than the footer says".into();
                return Err(Fault::corrupt(cause));
            }
            // Never 0, so this ends.
            at = at
                .saturating_add(header.n_read)
                .saturating_add(page.stored_bytes);
        }
    }
    Ok(())
}

/// What the header of a page says.
#[derive(Default)]
struct Page {
    /// Decompressed.
    bytes: u64,
    /// In the file, without the header.
    stored_bytes: u64,
    has_shared_beginnings: bool,
}

/// A header in the compact protocol of Thrift.
struct Header<R> {
    reader: io::Take<R>,
    n_read: u64,
}

/// Types of fields, by their numbers.
mod kind {
    pub(super) const STOP: u8 = 0;
    pub(super) const TRUE: u8 = 1;
    pub(super) const FALSE: u8 = 2;
    pub(super) const BYTE: u8 = 3;
    pub(super) const I16: u8 = 4;
    pub(super) const I32: u8 = 5;
    pub(super) const I64: u8 = 6;
    pub(super) const DOUBLE: u8 = 7;
    pub(super) const BINARY: u8 = 8;
    pub(super) const LIST: u8 = 9;
    pub(super) const SET: u8 = 10;
    pub(super) const STRUCT: u8 = 12;
}

impl<R: Read> Header<R> {
    fn new(reader: R) -> Self {
        Self {
            reader: reader.take(MAX_HEADER_BYTES),
            n_read: 0,
        }
    }

    /// Reads the header: fields 2 and 3 are the sizes, 5 and 8 describe pages of data.
    fn read(&mut self) -> io::Result<Page> {
        let mut page = Page::default();
        let mut field = 0;
        while let Some(kind) = self.field(&mut field)? {
            match (field, kind) {
                (2, kind::I32) => page.bytes = self.size()?,
                (3, kind::I32) => page.stored_bytes = self.size()?,
                (5, kind::STRUCT) => page.has_shared_beginnings |= self.encoding(2)?,
                (8, kind::STRUCT) => page.has_shared_beginnings |= self.encoding(4)?,
                (_, kind) => self.skip(kind, 0)?,
            }
        }
        Ok(page)
    }

    /// Reads a structure of which one field is an encoding; returns whether that shares beginnings.
    fn encoding(&mut self, wanted: i64) -> io::Result<bool> {
        let (mut field, mut is_shared) = (0, false);
        while let Some(kind) = self.field(&mut field)? {
            match (field == wanted, kind) {
                (true, kind::I32) => is_shared = self.integer()? == DELTA_BYTE_ARRAY,
                (_, kind) => self.skip(kind, 0)?,
            }
        }
        Ok(is_shared)
    }

    /// Reads the number and the type of the next field; none at the end of the structure.
    fn field(&mut self, number: &mut i64) -> io::Result<Option<u8>> {
        let byte = self.byte()?;
        if byte == kind::STOP {
            return Ok(None);
        }
        *number = match byte >> 4 {
            0 => self.integer()?,
            step => number.saturating_add(i64::from(step)),
        };
        Ok(Some(byte & 0x0F))
    }

    fn skip(&mut self, kind: u8, depth: usize) -> io::Result<()> {
        if depth > MAX_DEPTH {
            return Err(ErrorKind::InvalidData.into());
        }
        match kind {
            kind::TRUE | kind::FALSE => Ok(()),
            kind::BYTE => self.byte().map(drop),
            kind::I16 | kind::I32 | kind::I64 => self.integer().map(drop),
            kind::DOUBLE => self.pass(8),
            kind::BINARY => {
                let length = self.varint()?;
                self.pass(length)
            }
            kind::LIST | kind::SET => {
                let byte = self.byte()?;
                let length = match byte >> 4 {
                    15 => self.varint()?,
                    short => u64::from(short),
                };
                for _ in 0..length {
                    match byte & 0x0F {
                        // In a list each takes a byte.
                        kind::TRUE | kind::FALSE => self.pass(1)?,
                        kind => self.skip(kind, depth + 1)?,
                    }
                }
                Ok(())
            }
            kind::STRUCT => {
                let mut field = 0;
                while let Some(kind) = self.field(&mut field)? {
                    self.skip(kind, depth + 1)?;
                }
                Ok(())
            }
            // Maps, which no header has.
            _ => Err(ErrorKind::InvalidData.into()),
        }
    }

    /// Reads a size, which is not negative.
    fn size(&mut self) -> io::Result<u64> {
        u64::try_from(self.integer()?).map_err(|_| ErrorKind::InvalidData.into())
    }

    /// Reads an integer with a sign.
    fn integer(&mut self) -> io::Result<i64> {
        let value = self.varint()?;
        Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    fn varint(&mut self) -> io::Result<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(ErrorKind::InvalidData.into())
    }

    fn byte(&mut self) -> io::Result<u8> {
        let mut byte = [0];
        self.reader.read_exact(&mut byte)?;
        self.n_read += 1;
        Ok(byte[0])
    }

    fn pass(&mut self, length: u64) -> io::Result<()> {
        let passed = io::copy(&mut self.reader.by_ref().take(length), &mut io::sink())?;
        self.n_read += passed;
        match passed == length {
            true => Ok(()),
            false => Err(ErrorKind::UnexpectedEof.into()),
        }
    }
}

#[cfg(test)]
mod tests;
