//! Header of a cache: its first 256 bytes.

use std::ops::Range;

use bytemuck::{Pod, Zeroable};

use super::CHECKED_BYTES;
use crate::element::Number;
use crate::report::CacheRefusal;
use crate::source::SourceIdentity;

const MAGIC: [u8; 8] = *b"KATOVECS";
const VERSION: u32 = 1;
/// Number that reads as another one where bytes have the other order.
const BYTE_ORDER: u32 = 0x0102_0304;

/// Bytes of the header; sections begin behind it.
pub(crate) const HEADER_BYTES: usize = 256;

/// Text and options that the vectors of a cache depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Origins {
    pub(crate) source: SourceIdentity,
    pub(crate) options: [u8; 32],
}

/// Header as it is in the file. Numbers have the byte order of the machine that wrote it.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Header {
    magic: [u8; 8],
    version: u32,
    byte_order: u32,
    pub(crate) n_words: u64,
    pub(crate) dims: u64,
    element_bytes: u64,
    pub(crate) word_bytes: u64,
    pub(crate) bad_line_bytes: u64,
    pub(crate) lines: u64,
    pub(crate) duplicates: u64,
    source_bytes: u64,
    source_modified_ns: [u64; 2],
    source_fingerprint: [u8; 32],
    options: [u8; 32],
    unused: [u64; 11],
    /// CRC-32 of the CRCs at the end.
    pub(crate) sums_crc: u32,
    /// CRC-32 of everything in front of it.
    header_crc: u32,
}

const _: () = assert!(size_of::<Header>() == HEADER_BYTES);

/// Ranges of the sections, and of the CRCs behind them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sections {
    pub(crate) elements: Range<usize>,
    pub(crate) norms: Range<usize>,
    pub(crate) word_ends: Range<usize>,
    pub(crate) words: Range<usize>,
    pub(crate) bad_lines: Range<usize>,
    /// One CRC-32 for each begun MiB from the end of the header to here.
    pub(crate) sums: Range<usize>,
}

/// Lengths that decide the ranges of all sections.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lengths {
    pub(crate) n_words: u64,
    pub(crate) dims: u64,
    pub(crate) word_bytes: u64,
    pub(crate) bad_line_bytes: u64,
}

impl Header {
    /// Creates a header that is not sealed yet.
    pub(crate) fn new<E: Number>(
        lengths: Lengths,
        origins: &Origins,
        lines: u64,
        duplicates: u64,
    ) -> Self {
        let modified = origins.source.modified_ns;
        Self {
            magic: MAGIC,
            version: VERSION,
            byte_order: BYTE_ORDER,
            n_words: lengths.n_words,
            dims: lengths.dims,
            element_bytes: size_of::<E>() as u64,
            word_bytes: lengths.word_bytes,
            bad_line_bytes: lengths.bad_line_bytes,
            lines,
            duplicates,
            source_bytes: origins.source.bytes,
            // The casts cut a two's complement number into halves, and lose nothing together.
            source_modified_ns: [modified as u64, (modified >> 64) as u64],
            source_fingerprint: origins.source.fingerprint,
            options: origins.options,
            unused: [0; 11],
            sums_crc: 0,
            header_crc: 0,
        }
    }

    /// Returns the header with the CRC of the CRCs, and its own.
    pub(crate) fn sealed(mut self, sums: &[u32]) -> Self {
        self.sums_crc = crc32fast::hash(bytemuck::cast_slice(sums));
        self.header_crc = self.own_crc();
        self
    }

    /// Returns the CRC of everything in front of the header's own.
    fn own_crc(&self) -> u32 {
        let bytes = bytemuck::bytes_of(self);
        crc32fast::hash(&bytes[..HEADER_BYTES - size_of::<u32>()])
    }

    /// Reads the header of a file, which must be one and made from `origins`.
    pub(crate) fn read(file: &[u8], origins: &Origins) -> Result<Self, CacheRefusal> {
        let damaged = CacheRefusal::Damaged { part: "its header" };
        let bytes = file.get(..HEADER_BYTES).ok_or(damaged.clone())?;
        let header: Self = bytemuck::pod_read_unaligned(bytes);
        // Before the CRC, which another version may have in another place.
        if header.magic != MAGIC || header.byte_order != BYTE_ORDER || header.version != VERSION {
            return Err(CacheRefusal::OtherFormat);
        }
        if header.header_crc != header.own_crc() {
            return Err(damaged);
        }
        let modified = header.source_modified_ns;
        let source = SourceIdentity {
            bytes: header.source_bytes,
            modified_ns: (u128::from(modified[1]) << 64 | u128::from(modified[0])) as i128,
            fingerprint: header.source_fingerprint,
        };
        if source != origins.source {
            return Err(CacheRefusal::OtherSource);
        }
        if header.options != origins.options {
            return Err(CacheRefusal::OtherOptions);
        }
        Ok(header)
    }

    /// Returns the lengths of the sections.
    fn lengths(&self) -> Lengths {
        Lengths {
            n_words: self.n_words,
            dims: self.dims,
            word_bytes: self.word_bytes,
            bad_line_bytes: self.bad_line_bytes,
        }
    }

    /// Returns the ranges of the sections; `None` if they do not fit a file of `file_bytes`, or it
    /// has other elements.
    pub(crate) fn sections<E: Number>(&self, file_bytes: usize) -> Option<Sections> {
        let sections = self.lengths().sections::<E>()?;
        // A file that is too long is refused as well as one that is too short.
        (self.element_bytes == size_of::<E>() as u64 && sections.sums.end == file_bytes)
            .then_some(sections)
    }
}

impl Lengths {
    /// Returns the ranges of the sections; `None` if they would not fit memory.
    pub(crate) fn sections<E: Number>(&self) -> Option<Sections> {
        // All arithmetic is checked: a header with a right CRC may still have been made up.
        let length = |n: u64| usize::try_from(n).ok();
        let n_words = length(self.n_words)?;
        let n_elements = n_words.checked_mul(length(self.dims)?)?;
        let section = |start: usize, bytes: usize| Some(start..start.checked_add(bytes)?);
        let elements = section(HEADER_BYTES, n_elements.checked_mul(size_of::<E>())?)?;
        let norms = section(
            // After `f32`s, the numbers that follow need to be aligned.
            elements.end.checked_next_multiple_of(size_of::<f64>())?,
            n_words.checked_mul(size_of::<f64>())?,
        )?;
        let word_ends = section(norms.end, n_words.checked_mul(size_of::<u64>())?)?;
        let words = section(word_ends.end, length(self.word_bytes)?)?;
        let bad_lines = section(words.end, length(self.bad_line_bytes)?)?;
        let n_sums = (bad_lines.end - HEADER_BYTES).div_ceil(CHECKED_BYTES);
        // It cannot overflow: there are far fewer sums than bytes.
        let sums = section(bad_lines.end, n_sums * size_of::<u32>())?;
        Some(Sections {
            elements,
            norms,
            word_ends,
            words,
            bad_lines,
            sums,
        })
    }
}
