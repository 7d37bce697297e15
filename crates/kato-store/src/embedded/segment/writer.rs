//! Writing a segment: nodes from the bottom up, patterns in name order.

use std::fs::{self, File};
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kato_model::{PatternName, VectorName};

use super::block::{BlockEntry, BlockIndex};
use super::footer::{Extent, Footer, NodeFooter, NodeTotals, Part};
use super::foreign::{ForeignBlock, ForeignNames};
use super::record::{Extras, push_record, width_for};
use super::{BLOCK_PATTERNS, Dictionary, MAGICS, MAX_NUMBERS, Segment, too_large, vector};
use crate::StoreError;
use crate::embedded::flusher::{CompleteFile, Flusher};

/// A writer of one segment file.
///
/// Call [`SegmentWriter::push_foreign`], [`SegmentWriter::begin_node`], [`SegmentWriter::push`],
/// [`SegmentWriter::end_node`] and [`SegmentWriter::push_vector`] for every node in order, then
/// [`SegmentWriter::finish`]. The file has version 2 when there was a foreign name, else version 1.
pub(crate) struct SegmentWriter {
    out: BufWriter<File>,
    path: PathBuf,
    offset: u64,
    footer: Footer,
    /// The foreign names of the next node, and those of them that are not written yet.
    foreign: Option<ForeignNames>,
    foreign_block: ForeignBlock,
    node: NodeInProgress,
}

/// The node that is being written, and its block in progress.
#[derive(Default)]
struct NodeInProgress {
    footer: NodeFooter,
    width: usize,
    entries: Vec<BlockEntry>,
    names: Vec<u8>,
    records: Vec<u8>,
    scratch: Vec<u8>,
    distinct: Vec<u32>,
}

impl SegmentWriter {
    /// Starts a file that must not exist.
    pub(crate) fn create(path: &Path) -> Result<Self, StoreError> {
        // Never over a file that is there, which may be a segment in use.
        let file =
            File::create_new(path).map_err(|source| StoreError::io("create", path, source))?;
        let mut writer = Self {
            out: BufWriter::with_capacity(1 << 18, file),
            path: path.to_owned(),
            offset: 0,
            footer: Footer::default(),
            foreign: None,
            foreign_block: ForeignBlock::default(),
            node: NodeInProgress::default(),
        };
        // What it is in the end is known when it is complete.
        writer.write(&MAGICS[0])?;
        Ok(writer)
    }

    /// Appends a foreign name of the node that begins next; names must ascend strictly.
    pub(crate) fn push_foreign(&mut self, name: PatternName) -> Result<(), StoreError> {
        let offset = self.offset;
        let foreign = self
            .foreign
            .get_or_insert(ForeignNames { offset, names: 0 });
        foreign.names += 1;
        match self.foreign_block.push(name) {
            true => self.write_foreign(),
            false => Ok(()),
        }
    }

    /// Starts the next node with its dictionary. Symbols below the previous node's pattern count
    /// are its patterns' ranks; then come the foreign names, and from there on they are ranks in the
    /// dictionary.
    pub(crate) fn begin_node<'a>(
        &mut self,
        literals: impl Iterator<Item = &'a str> + Clone,
    ) -> Result<(), StoreError> {
        self.write_foreign()?;
        let foreign = self.foreign.take();
        let n_literals = literals.clone().count() as u64;
        let n_names = u64::from(self.n_below()?) + foreign.map_or(0, |foreign| foreign.names);
        // Beyond it numbers would wrap, and patterns hold other symbols than were learned.
        if n_names + n_literals > MAX_NUMBERS {
            return Err(too_large(
                &self.path,
                "a node has more than 2^32 - 1 symbols",
            ));
        }
        let dictionary = Dictionary::encode(literals)
            .ok_or_else(|| too_large(&self.path, "a text symbol has 4 GiB or more"))?;
        let dictionary = self.write_part(&dictionary)?;
        self.node = NodeInProgress {
            footer: NodeFooter {
                dictionary,
                n_literals,
                foreign,
                ..NodeFooter::default()
            },
            width: width_for(n_names + n_literals),
            ..NodeInProgress::default()
        };
        Ok(())
    }

    /// Returns the number of patterns of the node below the one in progress, which is where the
    /// numbers of its foreign names begin, and after them those of its dictionary.
    pub(crate) fn n_below(&self) -> Result<u32, StoreError> {
        let below = self.footer.nodes.last();
        u32::try_from(below.map_or(0, |below| below.totals.patterns))
            .map_err(|_| too_large(&self.path, "a node has more than 2^32 - 1 patterns"))
    }

    /// Appends a pattern; names must ascend strictly.
    pub(crate) fn push(
        &mut self,
        name: PatternName,
        frequency: u64,
        symbols: &[u32],
        extras: &Extras,
    ) -> Result<(), StoreError> {
        let node = &mut self.node;
        // The entry is made when a block begins; its checksum follows when the block is complete.
        if node.names.is_empty() {
            node.entries.push(BlockEntry {
                offset: self.offset,
                first: name.leading_u64(),
                crc32: 0,
            });
        }
        // A block has all names before all records, so both grow apart until it is full.
        node.names.extend_from_slice(name.as_bytes());
        push_record(
            &mut node.records,
            &mut node.scratch,
            frequency,
            symbols,
            node.width,
            extras,
        );
        let totals = &mut node.footer.totals;
        totals.count(
            frequency,
            symbols.len() as u64,
            count_distinct(symbols, &mut node.distinct),
        );
        if node.names.len() == BLOCK_PATTERNS * PatternName::BYTES {
            self.write_block()?;
        }
        Ok(())
    }

    /// Ends the node's patterns.
    pub(crate) fn end_node(&mut self) -> Result<(), StoreError> {
        if !self.node.names.is_empty() {
            self.write_block()?;
        }
        let mut node = std::mem::take(&mut self.node);
        node.footer.blocks_end = self.offset;
        node.footer.index = self.write_part(&BlockIndex::encode(&node.entries))?;
        self.footer.nodes.push(node.footer);
        Ok(())
    }

    /// Appends a vector to the node that ended last; names must ascend strictly.
    pub(crate) fn push_vector(
        &mut self,
        name: VectorName,
        vector: &[f64],
    ) -> Result<(), StoreError> {
        let mut bytes = std::mem::take(&mut self.node.scratch);
        bytes.clear();
        vector::encode(name, vector, &mut bytes);
        let offset = self.offset;
        self.write(&bytes)?;
        if let Some(node) = self.footer.nodes.last_mut() {
            // Vectors of a node follow each other without gaps, so one place describes all of them.
            let start = Extent { offset, bytes: 0 };
            node.vectors.get_or_insert(start).bytes += bytes.len() as u64;
        }
        self.node.scratch = bytes;
        Ok(())
    }

    /// Writes the documents and the footer and passes the file to the operating system; it is
    /// durable only after [`WrittenSegment::sync`].
    pub(crate) fn finish<'a>(
        mut self,
        documents: impl Iterator<Item = (u64, &'a str)>,
    ) -> Result<WrittenSegment, StoreError> {
        let mut bytes = Vec::new();
        for (document_idx, id) in documents {
            serde_json::to_writer(&mut bytes, &(document_idx, id))
                .expect("numbers and text are JSON");
            bytes.push(b'\n');
        }
        self.footer.documents = self.write_part(&bytes)?;
        let footer = serde_json::to_vec(&self.footer).expect("the footer is plain data");
        self.write(&footer)?;
        // A node takes some hundred bytes of the footer, so 32 bits are enough for millions of
        // nodes.
        let length = u32::try_from(footer.len())
            .map_err(|_| too_large(&self.path, "there are too many nodes"))?;
        self.write(&length.to_le_bytes())?;
        self.write(&crc32fast::hash(&footer).to_le_bytes())?;
        let version = match self.footer.nodes.iter().any(|node| node.foreign.is_some()) {
            true => 2,
            false => 1,
        };
        let magic = MAGICS[version - 1];
        self.write(&magic)?;
        if version != 1 {
            self.out
                .seek(SeekFrom::Start(0))
                .and_then(|_| self.out.write_all(&magic))
                .map_err(|source| StoreError::io("write", &self.path, source))?;
        }
        let Self {
            out,
            path,
            offset,
            footer,
            ..
        } = self;
        // Empties the buffer. Dropping it would do the same and ignore an error, such as a full
        // disk.
        let file = out
            .into_inner()
            .map_err(|error| StoreError::io("write", &path, error.into_error()))?;
        let totals = footer.nodes.iter().map(|node| node.totals).collect();
        Ok(WrittenSegment {
            file: Some(Arc::new(CompleteFile::new(file))),
            path,
            bytes: offset,
            totals,
        })
    }

    /// Writes the foreign names that are not written yet.
    fn write_foreign(&mut self) -> Result<(), StoreError> {
        match self.foreign_block.take() {
            Some(block) => self.write(&block),
            None => Ok(()),
        }
    }

    /// Writes the block in progress and completes its index entry.
    fn write_block(&mut self) -> Result<(), StoreError> {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&self.node.names);
        hasher.update(&self.node.records);
        if let Some(entry) = self.node.entries.last_mut() {
            entry.crc32 = hasher.finalize();
        }
        for part in [&self.node.names, &self.node.records] {
            self.out
                .write_all(part)
                .map_err(|source| StoreError::io("write", &self.path, source))?;
            self.offset += part.len() as u64;
        }
        self.node.names.clear();
        self.node.records.clear();
        Ok(())
    }

    /// Writes a part and returns its place and checksum.
    fn write_part(&mut self, bytes: &[u8]) -> Result<Part, StoreError> {
        let part = Part {
            offset: self.offset,
            bytes: bytes.len() as u64,
            crc32: crc32fast::hash(bytes),
        };
        self.write(bytes)?;
        Ok(part)
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

/// A complete segment file, perhaps not on the disk yet.
#[derive(Debug)]
pub(crate) struct WrittenSegment {
    /// The file, unless the disk is known to hold it.
    file: Option<Arc<CompleteFile>>,
    path: PathBuf,
    /// Size of the file.
    pub(crate) bytes: u64,
    /// Totals of each node.
    pub(crate) totals: Vec<NodeTotals>,
}

impl WrittenSegment {
    /// Opens a complete file that is to become a segment of a knowledge base, and waits until the disk
    /// holds it.
    pub(crate) fn of_file(path: &Path) -> Result<Self, StoreError> {
        let segment = Segment::open(path)?;
        File::options()
            .read(true)
            .write(true)
            .open(path)
            .and_then(|file| file.sync_all())
            .map_err(|source| StoreError::io("flush", path, source))?;
        Ok(Self {
            // There may be more such files than the process can have open.
            file: None,
            path: path.to_owned(),
            bytes: segment.bytes()?,
            totals: segment.all_totals().collect(),
        })
    }

    /// Gives the file another name in the same file system.
    pub(crate) fn moved_to(self, path: &Path) -> Result<Self, StoreError> {
        fs::rename(&self.path, path)
            .map_err(|source| StoreError::io("move", &self.path, source))?;
        Ok(Self {
            path: path.to_owned(),
            ..self
        })
    }

    /// Begins to flush the file, without waiting.
    pub(crate) fn flush_ahead(&self, flusher: &Flusher) {
        if let Some(file) = &self.file {
            flusher.begin(file, self.bytes);
        }
    }

    /// Waits until the disk holds the file.
    pub(crate) fn flush(&self) -> Result<(), StoreError> {
        let Some(file) = &self.file else {
            return Ok(());
        };
        let _waiting = kato_probe::thread::waiting(kato_probe::Wait::Disk);
        file.flush()
            .map_err(|source| StoreError::io("flush", &self.path, source))
    }

    /// Returns the file's path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// Counts the distinct symbols.
pub(crate) fn count_distinct(symbols: &[u32], scratch: &mut Vec<u32>) -> u64 {
    if symbols.len() <= 16 {
        // Chunks are short: comparing all pairs beats sorting.
        return (0..symbols.len())
            .filter(|&idx| !symbols[..idx].contains(&symbols[idx]))
            .count() as u64;
    }
    scratch.clear();
    scratch.extend_from_slice(symbols);
    scratch.sort_unstable();
    scratch.chunk_by(|a, b| a == b).count() as u64
}
