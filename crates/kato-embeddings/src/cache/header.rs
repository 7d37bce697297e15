//! The first 256 bytes of a cache.

use std::ops::Range;

use bytemuck::{Pod, Zeroable};

use super::CHECKED_BYTES;
use crate::element::Number;
use crate::report::CacheRefusal;
use crate::source::SourceIdentity;

const MAGIC: [u8; 8] = *b"KATOVECS";
const VERSION: u32 = 1;
/// Reads as another number where bytes have the other order.
const BYTE_ORDER: u32 = 0x0102_0304;

/// Bytes of the header; sections begin behind it.
pub(crate) const HEADER_BYTES: usize = 256;

/// What the vectors of a cache depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Origins {
    pub(crate) source: SourceIdentity,
    pub(crate) options: [u8; 32],
}

/// The header as it lies in the file. Numbers have the byte order of the machine that wrote it.
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

/// Where the sections are, and the CRCs behind them.
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

/// Lengths that decide everything about a cache's form.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lengths {
    pub(crate) n_words: u64,
    pub(crate) dims: u64,
    pub(crate) word_bytes: u64,
    pub(crate) bad_line_bytes: u64,
}

impl Header {
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
            source_modified_ns: [modified as u64, (modified >> 64) as u64],
            source_fingerprint: origins.source.fingerprint,
            options: origins.options,
            unused: [0; 11],
            sums_crc: 0,
            header_crc: 0,
        }
    }

    /// The header with the CRC of the CRCs, and its own.
    pub(crate) fn sealed(mut self, sums: &[u32]) -> Self {
        self.sums_crc = crc32fast::hash(bytemuck::cast_slice(sums));
        self.header_crc = self.own_crc();
        self
    }

    fn own_crc(&self) -> u32 {
        let bytes = bytemuck::bytes_of(self);
        crc32fast::hash(&bytes[..HEADER_BYTES - size_of::<u32>()])
    }

    /// The header of a file, when it is one and was made from `origins`.
    pub(crate) fn read(file: &[u8], origins: &Origins) -> Result<Self, CacheRefusal> {
        let damaged = CacheRefusal::Damaged { part: "its header" };
        let bytes = file.get(..HEADER_BYTES).ok_or(damaged.clone())?;
        let header: Self = bytemuck::pod_read_unaligned(bytes);
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

    fn lengths(&self) -> Lengths {
        Lengths {
            n_words: self.n_words,
            dims: self.dims,
            word_bytes: self.word_bytes,
            bad_line_bytes: self.bad_line_bytes,
        }
    }

    /// Where everything is; `None` when it does not fit a file of `file_bytes`, or has other elements.
    pub(crate) fn sections<E: Number>(&self, file_bytes: usize) -> Option<Sections> {
        let sections = self.lengths().sections::<E>()?;
        (self.element_bytes == size_of::<E>() as u64 && sections.sums.end == file_bytes)
            .then_some(sections)
    }
}

impl Lengths {
    /// Where everything is; `None` when it would not fit memory.
    pub(crate) fn sections<E: Number>(&self) -> Option<Sections> {
        let length = |n: u64| usize::try_from(n).ok();
        let n_words = length(self.n_words)?;
        let n_elements = n_words.checked_mul(length(self.dims)?)?;
        let section = |start: usize, bytes: usize| Some(start..start.checked_add(bytes)?);
        let elements = section(HEADER_BYTES, n_elements.checked_mul(size_of::<E>())?)?;
        let norms = section(
            elements.end.checked_next_multiple_of(size_of::<f64>())?,
            n_words.checked_mul(size_of::<f64>())?,
        )?;
        let word_ends = section(norms.end, n_words.checked_mul(size_of::<u64>())?)?;
        let words = section(word_ends.end, length(self.word_bytes)?)?;
        let bad_lines = section(words.end, length(self.bad_line_bytes)?)?;
        let n_sums = (bad_lines.end - HEADER_BYTES).div_ceil(CHECKED_BYTES);
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
