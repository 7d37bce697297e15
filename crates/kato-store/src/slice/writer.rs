//! Writing a slice: patterns in name order, cut into parts at the ends of ranges.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use kato_model::batch::NamedSymbol;
use kato_model::{AttributeLimits, PatternName, SealedBatch};

use super::format::{
    BLOCK_BYTES, BLOCK_PATTERNS, PackedSymbols, SliceRecord, SliceSymbol, block_crc32, encode_head,
    push_record, text_width,
};
use super::{NameRanges, SlicePart, SliceSummary};
use crate::contract::check_emotives;
use crate::embedded::{Extras, stored_attributes, too_large};
use crate::{StoreError, StoreErrorKind};

/// Writes what a batch taught a level as a slice.
///
/// The file must not exist. Memory: a block.
///
/// # Errors
///
/// [`StoreError::NotFinite`] for an emotive or affinity that no file keeps, a
/// [`StoreErrorKind::Refused`](crate::StoreErrorKind::Refused) for vectors, which slices do not
/// hold, and when the file cannot be written.
///
/// # Panics
///
/// When the batch has no such level.
pub fn write_batch(
    batch: &SealedBatch,
    node_idx: usize,
    limits: &AttributeLimits,
    ranges: NameRanges,
    path: &Path,
) -> Result<SliceSummary, StoreError> {
    let node = batch.node(node_idx);
    if node.vectors().next().is_some() {
        return Err(StoreError::from_backend(
            StoreErrorKind::Refused,
            crate::Place::from_path(path),
            "a slice holds no vectors",
        ));
    }
    let below = node_idx.checked_sub(1).map(|below| batch.node(below));
    // Text that names a pattern is that pattern, but for the lowest level, which has none below.
    let mut texts = Vec::new();
    let literals: Vec<SliceSymbol> = node
        .dictionary()
        .map(
            |text| match below.and_then(|_| PatternName::from_symbol(text)) {
                Some(name) => Ok(SliceSymbol::Name(name)),
                None => {
                    texts.push(text);
                    let number = u32::try_from(texts.len() - 1)
                        .map_err(|_| too_large(path, "a node has more than 2^32 - 1 symbols"))?;
                    Ok(SliceSymbol::Text(number))
                }
            },
        )
        .collect::<Result<_, StoreError>>()?;
    let mut writer = SliceWriter::create(path, texts.iter().copied(), ranges)?;
    let (mut symbols, mut packed, mut encoded) = (Vec::new(), Vec::new(), Vec::new());
    node.for_each_named(|pattern, named| {
        symbols.clear();
        symbols.extend(named.iter().map(|symbol| match *symbol {
            NamedSymbol::Name(name) => SliceSymbol::Name(name),
            NamedSymbol::Literal(rank) => literals[rank as usize],
        }));
        check_emotives(pattern.name, pattern.attributes)?;
        let extras = Extras {
            first_seen: pattern.first_seen,
            attributes: pattern
                .attributes
                .and_then(|attributes| stored_attributes(attributes, limits)),
        };
        encoded.clear();
        if !extras.is_empty() {
            extras.encode(&mut encoded);
        }
        let record = SliceRecord {
            frequency: pattern.frequency,
            symbols: PackedSymbols::pack(&symbols, writer.width(), &mut packed),
            extras: &encoded,
        };
        writer.push(pattern.name, &record)
    })?;
    writer.finish()
}

/// A writer of one slice file.
pub(super) struct SliceWriter {
    out: BufWriter<File>,
    path: PathBuf,
    offset: u64,
    width: usize,
    ranges: NameRanges,
    summary: SliceSummary,
    n_patterns: u32,
    names: Vec<u8>,
    records: Vec<u8>,
}

impl SliceWriter {
    /// Starts a file that must not exist with its texts, which ascend.
    pub(super) fn create<'a>(
        path: &Path,
        texts: impl Iterator<Item = &'a str> + Clone,
        ranges: NameRanges,
    ) -> Result<Self, StoreError> {
        let (head, n_texts) =
            encode_head(texts).ok_or_else(|| too_large(path, "a text symbol has 4 GiB or more"))?;
        let file =
            File::create_new(path).map_err(|source| StoreError::io("create", path, source))?;
        let mut writer = Self {
            out: BufWriter::with_capacity(1 << 18, file),
            path: path.to_owned(),
            offset: 0,
            width: text_width(n_texts),
            ranges,
            summary: SliceSummary {
                head_bytes: head.len() as u64,
                parts: Vec::new(),
            },
            n_patterns: 0,
            names: Vec::new(),
            records: Vec::new(),
        };
        writer.write(&head)?;
        writer.begin_part();
        Ok(writer)
    }

    /// Returns the number of bytes of a text's number in records without names.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Appends a pattern; names must ascend strictly, and its symbols be packed for these texts.
    pub(super) fn push(
        &mut self,
        name: PatternName,
        record: &SliceRecord<'_>,
    ) -> Result<(), StoreError> {
        self.reach(self.ranges.of(&name))?;
        self.names.extend_from_slice(name.as_bytes());
        push_record(&mut self.records, record);
        self.n_patterns += 1;
        if let Some(part) = self.summary.parts.last_mut() {
            part.patterns += 1;
            part.learns = part.learns.saturating_add(record.frequency);
        }
        if self.n_patterns as usize >= BLOCK_PATTERNS || self.records.len() >= BLOCK_BYTES {
            self.write_block()?;
        }
        Ok(())
    }

    /// Ends the file and returns what it holds; it is passed to the system, and not durable.
    pub(super) fn finish(mut self) -> Result<SliceSummary, StoreError> {
        self.reach(self.ranges.count() as usize - 1)?;
        self.write_block()?;
        self.end_part();
        // Dropping the buffer would ignore an error, such as a full disk.
        let written = self.out.into_inner();
        written.map_err(|error| StoreError::io("write", &self.path, error.into_error()))?;
        Ok(self.summary)
    }

    /// Ends parts until the one of this range is being written.
    fn reach(&mut self, range: usize) -> Result<(), StoreError> {
        while self.summary.parts.len() <= range {
            self.write_block()?;
            self.end_part();
            self.begin_part();
        }
        Ok(())
    }

    /// Begins the next part.
    fn begin_part(&mut self) {
        self.summary.parts.push(SlicePart {
            offset: self.offset,
            ..SlicePart::default()
        });
    }

    /// Ends the part that is being written.
    fn end_part(&mut self) {
        if let Some(part) = self.summary.parts.last_mut() {
            part.bytes = self.offset - part.offset;
        }
    }

    /// Writes the block in progress, if it holds anything.
    fn write_block(&mut self) -> Result<(), StoreError> {
        if self.n_patterns == 0 {
            return Ok(());
        }
        let (names, records) = (
            std::mem::take(&mut self.names),
            std::mem::take(&mut self.records),
        );
        let length = u32::try_from(names.len() + records.len())
            .map_err(|_| too_large(&self.path, "a pattern has 4 GiB or more"))?;
        let crc32 = block_crc32(self.n_patterns, [&names, &records]);
        for bytes in [
            self.n_patterns.to_le_bytes(),
            length.to_le_bytes(),
            crc32.to_le_bytes(),
        ] {
            self.write(&bytes)?;
        }
        self.write(&names)?;
        self.write(&records)?;
        // The buffers go back with the room that they have.
        (self.names, self.records) = (names, records);
        self.names.clear();
        self.records.clear();
        self.n_patterns = 0;
        Ok(())
    }

    /// Writes bytes and counts them.
    fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.out
            .write_all(bytes)
            .map_err(|source| StoreError::io("write", &self.path, source))?;
        self.offset += bytes.len() as u64;
        Ok(())
    }
}
