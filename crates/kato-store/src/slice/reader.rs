//! Reading a slice from its beginning to its end, block by block.

use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use kato_model::PatternName;

use super::format::{FRAME_BYTES, HEAD_BYTES, MAGIC, SliceRecord, block_crc32, text_width};
use super::source::{RangesReader, SliceSource};
use crate::StoreError;
use crate::embedded::Dictionary;

/// A reader of the patterns of a slice in name order, a block in memory at a time.
///
/// Places are those in the block; [`fill`](Self::fill) reads the next block when all were taken.
#[derive(Debug)]
pub(super) struct SliceReader {
    file: BufReader<RangesReader>,
    path: PathBuf,
    dictionary: Dictionary,
    width: usize,
    block: Vec<u8>,
    /// Starts of the block's records in it, one for each pattern.
    records: Vec<u32>,
    /// The block's first place that was not taken.
    at: usize,
    /// Last name of the block; `None` before the first.
    last: Option<PatternName>,
}

impl SliceReader {
    /// Opens a slice in front of its first block.
    pub(super) fn open(source: &SliceSource) -> Result<Self, StoreError> {
        let (file, size) = source.open()?;
        let path = source.path();
        let mut file = BufReader::with_capacity(1 << 17, file);
        let corrupt = |reason: &str| StoreError::corrupt_slice(path, reason);
        let mut head = [0; HEAD_BYTES];
        read_exact(&mut file, path, &mut head)?;
        let (checked, crc32) = head.split_at(HEAD_BYTES - 4);
        if head[..8] != MAGIC {
            return Err(corrupt("it is not a slice"));
        }
        if crc32 != crc32fast::hash(checked).to_le_bytes() {
            return Err(corrupt("the checksum of its head does not match"));
        }
        let n_texts = number(&head[8..16]);
        let length = number(&head[16..24]);
        // Checked before the room is taken: a forged head may announce any size.
        if length > size {
            return Err(corrupt("it is cut off"));
        }
        let mut bytes = vec![0; usize::try_from(length).map_err(|_| corrupt("it is too large"))?];
        read_exact(&mut file, path, &mut bytes)?;
        if crc32fast::hash(&bytes).to_le_bytes() != head[24..28] {
            return Err(corrupt("the checksum of its dictionary does not match"));
        }
        let dictionary = usize::try_from(n_texts)
            .ok()
            .and_then(|n_texts| Dictionary::decode(&bytes, n_texts))
            .filter(|_| u32::try_from(n_texts).is_ok())
            .ok_or_else(|| corrupt("its dictionary does not decode"))?;
        Ok(Self {
            file,
            path: path.to_owned(),
            dictionary,
            width: text_width(n_texts),
            block: Vec::new(),
            records: Vec::new(),
            at: 0,
            last: None,
        })
    }

    /// Returns the text symbols.
    pub(super) fn dictionary(&self) -> &Dictionary {
        &self.dictionary
    }

    /// Returns the number of bytes of a text's number in records without names.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Reads the next block if all patterns of this one were taken; returns false at the end.
    pub(super) fn fill(&mut self) -> Result<bool, StoreError> {
        Ok(self.at < self.records.len() || self.read_block()?)
    }

    /// Returns the last name of the block.
    pub(super) fn last_name(&self) -> Option<PatternName> {
        self.last
    }

    /// Takes the patterns of the block up to a name and shows the leading bytes of each with its
    /// place.
    pub(super) fn take_to(&mut self, bound: PatternName, mut show: impl FnMut(u64, u32)) {
        while self.at < self.records.len() {
            let name = self.name(self.at);
            // Nearly always the leading bytes are enough.
            let leading = name.leading_u64();
            if leading >= bound.leading_u64() && name > bound {
                return;
            }
            let place = u32::try_from(self.at).expect("a block counts its patterns in 32 bits");
            show(leading, place);
            self.at += 1;
        }
    }

    /// Returns the name at a place of the block.
    pub(super) fn name(&self, place: usize) -> PatternName {
        name_at(&self.block, place).expect("a block that was read has all of its names")
    }

    /// Returns the record at a place of the block.
    pub(super) fn record(&self, place: usize) -> Result<SliceRecord<'_>, StoreError> {
        let mut bytes = &self.block[self.records[place] as usize..];
        SliceRecord::take(&mut bytes, self.width).ok_or_else(|| self.corrupt())
    }

    /// Creates the error for a block that does not decode.
    pub(super) fn corrupt(&self) -> StoreError {
        StoreError::corrupt_slice(&self.path, "a block does not decode")
    }

    /// Reads the next block; returns false at the end of the file.
    fn read_block(&mut self) -> Result<bool, StoreError> {
        let mut frame = [0; FRAME_BYTES];
        if !read_or_end(&mut self.file, &self.path, &mut frame)? {
            return Ok(false);
        }
        let word = |at: usize| {
            u32::from_le_bytes([frame[at], frame[at + 1], frame[at + 2], frame[at + 3]])
        };
        let (n_patterns, length) = (word(0), u64::from(word(4)));
        // Read up to the length and no further: a forged length takes no more room than the file.
        self.block.clear();
        let read = self.file.by_ref().take(length).read_to_end(&mut self.block);
        let read = read.map_err(|source| StoreError::io("read", &self.path, source))?;
        if read as u64 != length {
            return Err(StoreError::corrupt_slice(&self.path, "it is cut off"));
        }
        if block_crc32(n_patterns, [&self.block, &[]]) != word(8) {
            return Err(StoreError::corrupt_slice(
                &self.path,
                "the checksum of a block does not match",
            ));
        }
        if n_patterns == 0 {
            return Err(self.corrupt());
        }
        self.find_records(n_patterns as usize)?;
        self.at = 0;
        Ok(true)
    }

    /// Finds the records of the block that was read, and checks that its names ascend.
    fn find_records(&mut self, n_patterns: usize) -> Result<(), StoreError> {
        self.records.clear();
        let names_bytes = n_patterns.checked_mul(PatternName::BYTES);
        let mut rest = names_bytes
            .and_then(|names_bytes| self.block.get(names_bytes..))
            .ok_or_else(|| self.corrupt())?;
        for place in 0..n_patterns {
            let name = name_at(&self.block, place);
            // A merge relies on it: a name that comes late would be counted as another pattern.
            if self.last >= name {
                return Err(StoreError::corrupt_slice(
                    &self.path,
                    "its names do not ascend",
                ));
            }
            self.last = name;
            let start = self.block.len() - rest.len();
            let start = u32::try_from(start).map_err(|_| self.corrupt())?;
            self.records.push(start);
            SliceRecord::take(&mut rest, self.width).ok_or_else(|| self.corrupt())?;
        }
        Ok(())
    }
}

/// Returns the name at a place of a block.
fn name_at(block: &[u8], place: usize) -> Option<PatternName> {
    let start = place * PatternName::BYTES;
    let bytes = block.get(start..start + PatternName::BYTES)?;
    Some(PatternName::from_bytes(bytes.try_into().ok()?))
}

/// Returns a little-endian number of eight bytes.
fn number(bytes: &[u8]) -> u64 {
    bytes.try_into().map_or(0, u64::from_le_bytes)
}

/// Fills a buffer from a file.
fn read_exact(file: &mut impl Read, path: &Path, buffer: &mut [u8]) -> Result<(), StoreError> {
    file.read_exact(buffer)
        .map_err(|source| match source.kind() {
            io::ErrorKind::UnexpectedEof => StoreError::corrupt_slice(path, "it is cut off"),
            _ => StoreError::io("read", path, source),
        })
}

/// Fills a buffer from a file; returns false if the file has ended.
fn read_or_end(file: &mut impl Read, path: &Path, buffer: &mut [u8]) -> Result<bool, StoreError> {
    let read = file.read(buffer);
    match read.map_err(|source| StoreError::io("read", path, source))? {
        0 => Ok(false),
        read => read_exact(file, path, &mut buffer[read..]).map(|()| true),
    }
}
