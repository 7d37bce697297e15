//! Reading a segment: one pattern by name or rank, or a node's patterns in order.

mod check;
mod renumbering;
mod run;
mod vectors;
mod walk;

use std::path::Path;
use std::slice;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use kato_model::PatternName;
use sha1::{Digest, Sha1};

use super::block::{BlockIndex, block_name};
use super::file::SegmentFile;
use super::footer::{Footer, NodeFooter, NodeTotals};
use super::foreign::ForeignTable;
use super::record::{RawRecord, width_for};
use super::{BLOCK_PATTERNS, Deleted, DeletedRun, Dictionary, MAGIC_BYTES, MAGICS, MAX_NUMBERS};
use crate::StoreError;
use crate::visit::ContentDigest;
pub(crate) use check::Depth;
pub(crate) use renumbering::{Renumbering, RenumberingScratch};
pub(crate) use run::NodeRun;
pub(crate) use vectors::VectorCursor;

/// Number of bytes after the footer: its length, its CRC-32, the magic.
const TAIL_BYTES: usize = 4 + 4 + MAGIC_BYTES;

/// A segment that can be read. Holds the block indexes (0.1 bytes a pattern) and dictionaries in memory
/// once they are used: most of those that training writes are not, for long.
///
/// Rows are numbered as in the file, those of [deleted](Deleted) patterns too: what the node above says of
/// its children stays true. Nothing but their names is shown.
#[derive(Debug, Clone)]
pub(crate) struct Segment {
    file: Arc<SegmentFile>,
    version: u64,
    /// The SHA-1 of the footer and the file's size: the footer has the checksums of all parts.
    digest: ContentDigest,
    footer: Arc<Footer>,
    nodes: Arc<[SegmentNode]>,
    deleted: Deleted,
}

/// The part of one node that is held in memory.
#[derive(Debug)]
struct SegmentNode {
    n_patterns: usize,
    /// Opening has checked it; it is read again when it is used first.
    index: OnceLock<CheckedIndex>,
    width: usize,
    n_below: u32,
    foreign: ForeignTable,
    dictionary: OnceLock<Dictionary>,
    /// Leading bytes of the last name, once a look-up has asked for them.
    last: OnceLock<u64>,
}

/// A block index, and what was seen of the blocks.
#[derive(Debug)]
struct CheckedIndex {
    blocks: BlockIndex,
    /// Blocks whose checksum was seen to match, so that single names can be read without the whole
    /// block.
    matched: Vec<AtomicBool>,
}

impl SegmentNode {
    fn n_blocks(&self) -> usize {
        self.n_patterns.div_ceil(BLOCK_PATTERNS)
    }

    /// Returns the number of patterns in a block.
    fn patterns_in(&self, block_idx: usize) -> usize {
        BLOCK_PATTERNS.min(self.n_patterns.saturating_sub(block_idx * BLOCK_PATTERNS))
    }
}

impl Segment {
    /// Opens a segment and checks its footer and indexes; blocks are checked when they are read.
    pub(crate) fn open(path: &Path) -> Result<Self, StoreError> {
        let file = SegmentFile::open(path)?;
        let OpenedFooter {
            footer,
            version,
            digest,
        } = read_footer(&file)?;
        let mut nodes = Vec::with_capacity(footer.nodes.len());
        let mut n_below = 0;
        if footer
            .nodes
            .first()
            .is_some_and(|node| node.foreign.is_some())
        {
            return Err(file.corrupt("its lowest node has foreign names"));
        }
        for node in &footer.nodes {
            nodes.push(open_node(&file, node, n_below)?);
            n_below = node.totals.patterns;
        }
        Ok(Self {
            file: Arc::new(file),
            version,
            digest,
            footer: Arc::new(footer),
            nodes: nodes.into(),
            deleted: Deleted::default(),
        })
    }

    /// Returns the patterns that are deleted.
    pub(crate) fn deleted(&self) -> &Deleted {
        &self.deleted
    }

    /// Returns the version of the segment's format: 2 where it may have foreign names.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// Returns the digest of the segment's content, vectors left out.
    pub(crate) fn digest(&self) -> ContentDigest {
        self.deleted.digest().unwrap_or(self.digest)
    }

    /// Returns whether the segment has this digest, or had it before patterns were deleted.
    pub(crate) fn had(&self, digest: &ContentDigest) -> bool {
        self.digest == *digest || self.deleted.since(0, digest).is_some()
    }

    /// Returns the patterns of a node, by row, ascending, that were deleted since the segment
    /// [had](Self::had) this digest.
    pub(crate) fn deleted_since(&self, node_idx: usize, digest: &ContentDigest) -> Vec<u32> {
        match self.deleted.since(node_idx, digest) {
            // Each deletion's are in order.
            Some(later) => {
                let mut rows: Vec<u32> = later.collect();
                rows.sort();
                rows
            }
            None if self.digest == *digest => self.deleted.rows(node_idx).to_vec(),
            None => Vec::new(),
        }
    }

    /// Returns the segment without the patterns of some rows more, ascending for every node, of which it
    /// is said what they count; it shares the file with this one.
    pub(crate) fn without(
        &self,
        rows: Vec<Vec<u32>>,
        counts: &[NodeTotals],
    ) -> Result<Self, StoreError> {
        let mut totals = match self.deleted.is_empty() {
            true => vec![NodeTotals::default(); self.nodes.len()],
            false => self.deleted.totals().to_vec(),
        };
        for (totals, more) in totals.iter_mut().zip(counts) {
            totals.add(more);
        }
        self.with_more_deleted(&self.deleted, vec![Arc::new(DeletedRun(rows))], totals)
    }

    /// Returns the segment without what some deletions took, which counted so much; it shares the file with
    /// this one.
    pub(crate) fn with_deleted(
        &self,
        runs: Vec<Arc<DeletedRun>>,
        totals: Vec<NodeTotals>,
    ) -> Result<Self, StoreError> {
        self.with_more_deleted(&Deleted::default(), runs, totals)
    }

    fn with_more_deleted(
        &self,
        before: &Deleted,
        more: Vec<Arc<DeletedRun>>,
        totals: Vec<NodeTotals>,
    ) -> Result<Self, StoreError> {
        let held: Vec<NodeTotals> = self.all_totals().collect();
        let deleted = before.and(self.digest, more, totals, &held);
        let deleted = deleted.ok_or_else(|| self.corrupt("what is deleted of it is not in it"))?;
        Ok(Self {
            deleted,
            ..self.clone()
        })
    }

    /// Keeps the file open from now on, so that the segment can be read when its file is removed.
    pub(crate) fn hold(&self) -> Result<(), StoreError> {
        self.file.hold()
    }

    /// Returns the file's path.
    pub(crate) fn path(&self) -> &Path {
        self.file.path()
    }

    /// Returns the size of the file.
    pub(crate) fn bytes(&self) -> Result<u64, StoreError> {
        self.file.bytes()
    }

    /// Returns what the file counts, by node.
    pub(crate) fn all_totals(&self) -> impl ExactSizeIterator<Item = NodeTotals> {
        self.footer.nodes.iter().map(|node| node.totals)
    }

    /// Returns the number of patterns of one node that are not deleted.
    pub(crate) fn n_held(&self, node_idx: usize) -> u64 {
        (self.n_patterns(node_idx) - self.deleted.rows(node_idx).len()) as u64
    }

    /// Returns the number of rows of one node.
    pub(crate) fn n_patterns(&self, node_idx: usize) -> usize {
        self.nodes.get(node_idx).map_or(0, |node| node.n_patterns)
    }

    /// Returns the number of patterns of the node below: symbols from this number on are foreign
    /// names, and after those text.
    pub(crate) fn n_below(&self, node_idx: usize) -> u32 {
        self.nodes.get(node_idx).map_or(0, |node| node.n_below)
    }

    /// Returns the number of foreign names of a node.
    pub(crate) fn n_foreign(&self, node_idx: usize) -> u32 {
        self.nodes
            .get(node_idx)
            .map_or(0, |node| node.foreign.len())
    }

    /// Returns the number of symbols of a node that are names by their numbers: symbols from this
    /// number on are text.
    pub(crate) fn n_names(&self, node_idx: usize) -> u32 {
        // Opening has checked that the sum is a number.
        self.n_below(node_idx) + self.n_foreign(node_idx)
    }

    /// Returns the foreign name of a number, which counts from 0.
    pub(crate) fn foreign_name(
        &self,
        node_idx: usize,
        number: u32,
    ) -> Result<PatternName, StoreError> {
        let name = self.nodes[node_idx].foreign.name(&self.file, number)?;
        name.ok_or_else(|| self.corrupt_block())
    }

    /// Returns the foreign names of a node.
    pub(super) fn foreign_table(&self, node_idx: usize) -> &ForeignTable {
        &self.nodes[node_idx].foreign
    }

    /// Returns the file.
    pub(super) fn file(&self) -> &SegmentFile {
        &self.file
    }

    /// Returns the number of bytes of a symbol's number.
    pub(crate) fn width(&self, node_idx: usize) -> usize {
        self.nodes.get(node_idx).map_or(1, |node| node.width)
    }

    /// Returns the block index of a node, which is read when it is used first.
    fn index(&self, node_idx: usize) -> Result<&CheckedIndex, StoreError> {
        let node = &self.nodes[node_idx];
        if let Some(index) = node.index.get() {
            return Ok(index);
        }
        let footer = &self.footer.nodes[node_idx];
        let blocks = read_index(&self.file, footer, node.n_patterns)?;
        let matched = blocks.entries.iter().map(|_| AtomicBool::new(false));
        let matched = matched.collect();
        // Threads may read it at the same time; all of them get the first result.
        Ok(node.index.get_or_init(|| CheckedIndex { blocks, matched }))
    }

    /// Returns the node's text symbols, which are read once.
    pub(crate) fn dictionary(&self, node_idx: usize) -> Result<&Dictionary, StoreError> {
        let node = &self.nodes[node_idx];
        if let Some(dictionary) = node.dictionary.get() {
            return Ok(dictionary);
        }
        let dictionary = self.read_dictionary(node_idx)?;
        // Threads may read it at the same time; all of them get the first result.
        Ok(node.dictionary.get_or_init(|| dictionary))
    }

    /// Reads the node's text symbols.
    fn read_dictionary(&self, node_idx: usize) -> Result<Dictionary, StoreError> {
        let footer = &self.footer.nodes[node_idx];
        let bytes = self.file.read_part(&footer.dictionary, "dictionary")?;
        let decoded = usize::try_from(footer.n_literals)
            .ok()
            .and_then(|n| Dictionary::decode(&bytes, n));
        decoded.ok_or_else(|| self.file.corrupt("its dictionary does not decode"))
    }

    /// Returns sample index and id of the recorded documents, ascending.
    pub(crate) fn documents(&self) -> Result<Vec<(u64, String)>, StoreError> {
        let bytes = self
            .file
            .read_part(&self.footer.documents, "list of documents")?;
        serde_json::Deserializer::from_slice(&bytes)
            .into_iter()
            .collect::<Result<_, _>>()
            .map_err(|error| {
                self.file
                    .corrupt(format!("its list of documents does not decode: {error}"))
            })
    }

    /// Returns the name of the pattern with this rank.
    pub(crate) fn name_of_rank(
        &self,
        node_idx: usize,
        rank: u32,
    ) -> Result<PatternName, StoreError> {
        let (block_idx, within) = (
            rank as usize / BLOCK_PATTERNS,
            rank as usize % BLOCK_PATTERNS,
        );
        let index = self.index(node_idx)?;
        let (start, _) = index
            .blocks
            .range(block_idx)
            .ok_or_else(|| self.corrupt_block())?;
        if within >= self.nodes[node_idx].patterns_in(block_idx) {
            return Err(self.corrupt_block());
        }
        // A block is read whole once for its checksum; after that 20 bytes are enough. Relaxed will
        // do: a thread that misses the flag only checks again.
        if !index.matched[block_idx].load(Ordering::Relaxed) {
            self.load(node_idx, block_idx, &mut BlockBuffer::default())?;
        }
        let mut name = [0; PatternName::BYTES];
        self.file
            .read_at(&mut name, start + (within * PatternName::BYTES) as u64)?;
        Ok(PatternName::from_bytes(name))
    }

    /// Returns the names of rows, which ascend. Every block that holds one of them is read once, and of one
    /// that was seen to be whole no more than the names.
    pub(crate) fn names_of_rows(
        &self,
        node_idx: usize,
        rows: &[u32],
    ) -> Result<Vec<PatternName>, StoreError> {
        let mut names = Vec::with_capacity(rows.len());
        let mut bytes = Vec::new();
        let block_of = |row: &u32| *row as usize / BLOCK_PATTERNS;
        for of_block in rows.chunk_by(|one, other| block_of(one) == block_of(other)) {
            let block_idx = of_block.first().map_or(0, block_of);
            self.read_names(node_idx, block_idx, &mut bytes)?;
            for row in of_block {
                let within = *row as usize % BLOCK_PATTERNS;
                let name = block_name(&bytes, within * PatternName::BYTES);
                names.push(name.ok_or_else(|| self.corrupt_block())?);
            }
        }
        Ok(names)
    }

    /// Replaces `bytes` by the names of a block, or by all of one that is to be checked.
    fn read_names(
        &self,
        node_idx: usize,
        block_idx: usize,
        bytes: &mut Vec<u8>,
    ) -> Result<(), StoreError> {
        bytes.clear();
        let CheckedIndex { blocks, matched } = self.index(node_idx)?;
        let matched = matched.get(block_idx);
        if !matched.is_some_and(|matched| matched.load(Ordering::Relaxed)) {
            return self.read_block(node_idx, block_idx, bytes);
        }
        let range = blocks.range(block_idx);
        let (start, _) = range.ok_or_else(|| self.corrupt_block())?;
        bytes.resize(
            self.nodes[node_idx].patterns_in(block_idx) * PatternName::BYTES,
            0,
        );
        self.file.read_at(bytes, start)
    }

    /// Finds a pattern by name and passes its row and its record to `found`; `None` if the node has no
    /// such pattern.
    pub(crate) fn find<T>(
        &self,
        node_idx: usize,
        name: &PatternName,
        found: impl FnOnce(u32, RawRecord<'_>) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        let (mut found, mut result) = (Some(found), None);
        self.find_each(node_idx, slice::from_ref(name), |_, row, record| {
            let found = found.take().map(|found| found(row, record));
            result = found.transpose()?;
            Ok(())
        })?;
        Ok(result)
    }

    /// Finds the patterns of names, which ascend and are distinct, and passes the name's place among them,
    /// row and record of each to `found`.
    ///
    /// Every block that may hold one of them is read once, and no other.
    pub(crate) fn find_each(
        &self,
        node_idx: usize,
        names: &[PatternName],
        mut found: impl FnMut(usize, u32, RawRecord<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let index = &self.index(node_idx)?.blocks;
        let Some(last) = self.last_leading(node_idx)? else {
            return Ok(());
        };
        let width = self.nodes[node_idx].width;
        let mut block = BlockBuffer::default();
        // Records have various sizes, so those before one are stepped over: how many have been, and their
        // bytes.
        let (mut n_passed, mut passed_bytes) = (0, 0);
        // A knowledge base may have a segment for each range of names: those whose range ends before the
        // names are not read.
        let names = names.iter().enumerate();
        for (idx, name) in names.take_while(|(_, name)| name.leading_u64() <= last) {
            // The index has only the leading bytes of names, so several blocks may have to be searched.
            // Nearly always it is one.
            for block_idx in index.first_block_for(name.leading_u64())..index.entries.len() {
                if index.entries[block_idx].first > name.leading_u64() {
                    break;
                }
                if block.loaded != Some((node_idx, block_idx)) {
                    (n_passed, passed_bytes) = (0, 0);
                    self.load(node_idx, block_idx, &mut block)?;
                }
                let n_patterns = self.nodes[node_idx].patterns_in(block_idx);
                let (held, records) = block
                    .split(n_patterns)
                    .ok_or_else(|| self.corrupt_block())?;
                // Numbers, as most names differ in their leading bytes, and comparing slices is a call.
                let order = |probe: &[u8; PatternName::BYTES]| {
                    let probe = PatternName::from_bytes(*probe);
                    let leading = probe.leading_u64().cmp(&name.leading_u64());
                    leading.then_with(|| probe.cmp(name))
                };
                let Ok(position) = held.binary_search_by(order) else {
                    continue;
                };
                let row = row_of(block_idx, position);
                if self.deleted.holds(node_idx, row) {
                    break;
                }
                let mut left = &records[passed_bytes..];
                let mut take =
                    || RawRecord::take(&mut left, width).ok_or_else(|| self.corrupt_block());
                for _ in n_passed..position {
                    take()?;
                }
                let record = take()?;
                (n_passed, passed_bytes) = (position + 1, records.len() - left.len());
                found(idx, row, record)?;
                break;
            }
        }
        Ok(())
    }

    /// Returns the leading bytes of the last name; `None` if there is no name.
    fn last_leading(&self, node_idx: usize) -> Result<Option<u64>, StoreError> {
        let node = &self.nodes[node_idx];
        if let Some(last) = node.last.get() {
            return Ok(Some(*last));
        }
        let Some(rank) = node.n_patterns.checked_sub(1) else {
            return Ok(None);
        };
        let rank = u32::try_from(rank).map_err(|_| self.corrupt_block())?;
        let last = self.name_of_rank(node_idx, rank)?.leading_u64();
        Ok(Some(*node.last.get_or_init(|| last)))
    }

    /// Shows `found` the rows and names whose leading bytes lie between `first` and `last`, in order;
    /// those of deleted patterns as well.
    pub(crate) fn names_between(
        &self,
        node_idx: usize,
        first: u64,
        last: u64,
        block: &mut BlockBuffer,
        mut found: impl FnMut(u32, &[u8; PatternName::BYTES]),
    ) -> Result<(), StoreError> {
        let index = &self.index(node_idx)?.blocks;
        // The buffer may hold a block of another segment, which `loaded` does not distinguish.
        block.loaded = None;
        for block_idx in index.first_block_for(first)..index.entries.len() {
            if index.entries[block_idx].first > last {
                break;
            }
            self.load(node_idx, block_idx, block)?;
            let (names, _) = block
                .split(self.nodes[node_idx].patterns_in(block_idx))
                .ok_or_else(|| self.corrupt_block())?;
            for (within, name) in names.iter().enumerate() {
                if (first..=last).contains(&PatternName::from_bytes(*name).leading_u64()) {
                    found(row_of(block_idx, within), name);
                }
            }
        }
        Ok(())
    }

    /// Creates the error for damage.
    pub(crate) fn corrupt(&self, reason: &str) -> StoreError {
        self.file.corrupt(reason)
    }

    /// Creates the error for a block that does not decode.
    pub(crate) fn corrupt_block(&self) -> StoreError {
        self.file.corrupt("a block does not decode")
    }

    /// Reads a block and checks it, unless the buffer holds it already.
    fn load(
        &self,
        node_idx: usize,
        block_idx: usize,
        block: &mut BlockBuffer,
    ) -> Result<(), StoreError> {
        if block.loaded == Some((node_idx, block_idx)) {
            return Ok(());
        }
        // Until the new bytes are checked the buffer holds no block, so that an error leaves
        // nothing to be used.
        block.loaded = None;
        block.bytes.clear();
        self.read_block(node_idx, block_idx, &mut block.bytes)?;
        block.loaded = Some((node_idx, block_idx));
        Ok(())
    }

    /// Appends the bytes of a block and checks them.
    fn read_block(
        &self,
        node_idx: usize,
        block_idx: usize,
        bytes: &mut Vec<u8>,
    ) -> Result<(), StoreError> {
        let CheckedIndex { blocks, matched } = self.index(node_idx)?;
        let (start, end) = blocks
            .range(block_idx)
            .ok_or_else(|| self.corrupt_block())?;
        // Offsets ascend and lie within the file, which opening has checked: a block is never
        // larger than that.
        let length = usize::try_from(end - start).map_err(|_| self.corrupt_block())?;
        let before = bytes.len();
        bytes.resize(before + length, 0);
        let block = &mut bytes[before..];
        self.file.read_at(block, start)?;
        if crc32fast::hash(block) != blocks.entries[block_idx].crc32 {
            return Err(self.file.corrupt(format!(
                "the checksum of a block at byte {start} does not match"
            )));
        }
        matched[block_idx].store(true, Ordering::Relaxed);
        Ok(())
    }
}

/// One checked block in memory.
#[derive(Debug, Default)]
pub(crate) struct BlockBuffer {
    bytes: Vec<u8>,
    loaded: Option<(usize, usize)>,
}

impl BlockBuffer {
    /// Splits the block into names and records.
    fn split(&self, n_patterns: usize) -> Option<(&[[u8; PatternName::BYTES]], &[u8])> {
        let (names, records) = self
            .bytes
            .split_at_checked(n_patterns * PatternName::BYTES)?;
        Some((names.as_chunks().0, records))
    }
}

/// Returns the row of a pattern by its block and its place in there.
fn row_of(block_idx: usize, within: usize) -> u32 {
    let row = block_idx * BLOCK_PATTERNS + within;
    u32::try_from(row).expect("opening has checked that rows are numbers of 32 bits")
}

/// The footer of a segment, and what was found on the way to it.
struct OpenedFooter {
    footer: Footer,
    version: u64,
    /// The digest of the footer and the size of the file.
    digest: ContentDigest,
}

/// Reads the footer, after checking the first and the last bytes of the file, and digests it.
fn read_footer(file: &SegmentFile) -> Result<OpenedFooter, StoreError> {
    let bytes = file.bytes()?;
    if bytes < (MAGIC_BYTES + TAIL_BYTES) as u64 {
        return Err(file.corrupt("it is too short to be a segment"));
    }
    let tail_at = bytes - TAIL_BYTES as u64;
    let mut tail = [0; TAIL_BYTES];
    file.read_at(&mut tail, tail_at)?;
    let (numbers, magic) = tail.split_at(8);
    let mut head = [0; MAGIC_BYTES];
    file.read_at(&mut head, 0)?;
    let version = (1..).zip(MAGICS).find(|(_, known)| *known == head);
    let Some((version, _)) = version.filter(|(_, known)| magic == known) else {
        return Err(file.corrupt("it does not begin and end as a segment does"));
    };
    let word = |at: usize| {
        u32::from_le_bytes([
            numbers[at],
            numbers[at + 1],
            numbers[at + 2],
            numbers[at + 3],
        ])
    };
    let length = u64::from(word(0));
    let Some(offset) = tail_at.checked_sub(length) else {
        return Err(file.corrupt("its footer is longer than the file"));
    };
    let part = super::footer::Part {
        offset,
        bytes: length,
        crc32: word(4),
    };
    let json = file.read_part(&part, "footer")?;
    let mut footer: Footer = serde_json::from_slice(&json)
        .map_err(|error| file.corrupt(format!("its footer does not decode: {error}")))?;
    if version == 1 {
        // Version 1 does not know the key, and says that such are ignored.
        footer.nodes.iter_mut().for_each(|node| node.foreign = None);
    }
    let digest = Sha1::new()
        .chain_update(bytes.to_le_bytes())
        .chain_update(&json);
    Ok(OpenedFooter {
        footer,
        version,
        digest: ContentDigest::from_bytes(digest.finalize().into()),
    })
}

/// Opens a node: checks its block index, and that all its parts but the dictionary lie within the file.
fn open_node(
    file: &SegmentFile,
    footer: &NodeFooter,
    n_below: u64,
) -> Result<SegmentNode, StoreError> {
    if footer.blocks_end > file.bytes()? {
        return Err(file.corrupt("its blocks lie outside the file"));
    }
    let vectors_end = footer.vectors.unwrap_or_default().end();
    if vectors_end.is_none_or(|end| file.bytes().is_ok_and(|bytes| end > bytes)) {
        return Err(file.corrupt("its vectors lie outside the file"));
    }
    let foreign_end = footer.foreign.map_or(Some(0), |foreign| foreign.end());
    if foreign_end.is_none_or(|end| file.bytes().is_ok_and(|bytes| end > bytes)) {
        return Err(file.corrupt("its foreign names lie outside the file"));
    }
    let n_patterns = usize::try_from(footer.totals.patterns)
        .map_err(|_| file.corrupt("its block index does not decode"))?;
    // Rows are numbers of 32 bits, also where no node above refers to them.
    u32::try_from(n_patterns).map_err(|_| file.corrupt("it has more patterns than numbers"))?;
    // Checked, and given up again.
    read_index(file, footer, n_patterns)?;
    let n_foreign = footer.foreign.map_or(0, |foreign| foreign.names);
    let n_numbers = n_below
        .saturating_add(n_foreign)
        .saturating_add(footer.n_literals);
    let (n_below, n_foreign) = u32::try_from(n_below)
        .ok()
        .zip(u32::try_from(n_foreign).ok())
        .filter(|_| n_numbers <= MAX_NUMBERS)
        .ok_or_else(|| file.corrupt("it has more symbols than there are numbers"))?;
    // The width is not stored: it follows from the number of symbols, as in the writer.
    let width = width_for(n_numbers);
    Ok(SegmentNode {
        n_patterns,
        index: OnceLock::new(),
        width,
        n_below,
        foreign: ForeignTable::new(footer.foreign, n_foreign),
        dictionary: OnceLock::new(),
        last: OnceLock::new(),
    })
}

/// Reads and checks the block index of a node, which has so many patterns.
fn read_index(
    file: &SegmentFile,
    footer: &NodeFooter,
    n_patterns: usize,
) -> Result<BlockIndex, StoreError> {
    let bytes = file.read_part(&footer.index, "block index")?;
    BlockIndex::decode(&bytes, n_patterns, footer.blocks_end)
        .ok_or_else(|| file.corrupt("its block index does not decode"))
}
