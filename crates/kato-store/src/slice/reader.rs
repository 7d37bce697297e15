//! Reading a slice from its beginning to its end.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use kato_model::PatternName;

use super::format::{FRAME_BYTES, HEAD_BYTES, MAGIC, SliceRecord, block_crc32, text_width};
use crate::StoreError;
use crate::embedded::Dictionary;

/// A walk along the patterns of a slice in name order, a block in memory at a time.
#[derive(Debug)]
pub(super) struct SliceReader {
    file: BufReader<File>,
    path: PathBuf,
    dictionary: Dictionary,
    width: usize,
    block: Vec<u8>,
    /// Patterns of the block, and the place of the current one among them.
    n_patterns: usize,
    at: usize,
    name: Option<PatternName>,
    /// Start of the current record in the block, and of the one after it.
    record: usize,
    next_record: usize,
}

impl SliceReader {
    /// Opens a slice at its first pattern.
    pub(super) fn open(path: &Path) -> Result<Self, StoreError> {
        let file = File::open(path).map_err(|source| StoreError::io("open", path, source))?;
        let size = file.metadata();
        let size = size.map_err(|source| StoreError::io("read", path, source))?;
        let mut file = BufReader::with_capacity(1 << 17, file);
        let corrupt = |reason: &str| StoreError::corrupt(path, reason);
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
        if length > size.len() {
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
        let mut reader = Self {
            file,
            path: path.to_owned(),
            dictionary,
            width: text_width(n_texts),
            block: Vec::new(),
            n_patterns: 0,
            at: 0,
            name: None,
            record: 0,
            next_record: 0,
        };
        reader.load()?;
        Ok(reader)
    }

    /// Returns the text symbols.
    pub(super) fn dictionary(&self) -> &Dictionary {
        &self.dictionary
    }

    /// Returns the number of bytes of a text's number in records without names.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Returns the name of the current pattern; `None` past the last.
    pub(super) fn name(&self) -> Option<PatternName> {
        self.name
    }

    /// Returns the record of the current pattern.
    pub(super) fn record(&self) -> Result<SliceRecord<'_>, StoreError> {
        let mut bytes = &self.block[self.record..];
        SliceRecord::take(&mut bytes, self.width).ok_or_else(|| self.corrupt())
    }

    /// Creates the error for a block that does not decode.
    pub(super) fn corrupt(&self) -> StoreError {
        StoreError::corrupt(&self.path, "a block does not decode")
    }

    /// Moves to the next pattern.
    pub(super) fn advance(&mut self) -> Result<(), StoreError> {
        self.at += 1;
        self.load()
    }

    /// Finds name and record at the current place, reading the next block where one ended.
    fn load(&mut self) -> Result<(), StoreError> {
        let before = self.name;
        if self.at >= self.n_patterns && !self.read_block()? {
            self.name = None;
            return Ok(());
        }
        let start = self.at * PatternName::BYTES;
        let name = self.block.get(start..start + PatternName::BYTES);
        let name = name.and_then(|bytes| bytes.try_into().ok());
        let name = PatternName::from_bytes(name.ok_or_else(|| self.corrupt())?);
        // The merge relies on it: a name that comes late would be counted as another pattern.
        if before.is_some_and(|before| before >= name) {
            return Err(StoreError::corrupt(&self.path, "its names do not ascend"));
        }
        self.name = Some(name);
        self.record = self.next_record;
        let mut bytes = self
            .block
            .get(self.record..)
            .ok_or_else(|| self.corrupt())?;
        let length = bytes.len();
        SliceRecord::take(&mut bytes, self.width).ok_or_else(|| self.corrupt())?;
        self.next_record += length - bytes.len();
        Ok(())
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
            return Err(StoreError::corrupt(&self.path, "it is cut off"));
        }
        if block_crc32(n_patterns, [&self.block, &[]]) != word(8) {
            return Err(StoreError::corrupt(
                &self.path,
                "the checksum of a block does not match",
            ));
        }
        if n_patterns == 0 {
            return Err(self.corrupt());
        }
        self.n_patterns = n_patterns as usize;
        self.at = 0;
        self.next_record = self.n_patterns * PatternName::BYTES;
        Ok(true)
    }
}

/// Returns a little-endian number of eight bytes.
fn number(bytes: &[u8]) -> u64 {
    bytes.try_into().map_or(0, u64::from_le_bytes)
}

/// Fills a buffer from a file.
fn read_exact(file: &mut impl Read, path: &Path, buffer: &mut [u8]) -> Result<(), StoreError> {
    file.read_exact(buffer)
        .map_err(|source| match source.kind() {
            io::ErrorKind::UnexpectedEof => StoreError::corrupt(path, "it is cut off"),
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
