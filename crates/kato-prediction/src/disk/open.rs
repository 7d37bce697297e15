//! Finding the index of a store, and mapping it.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::Cancel;
use crate::frozen::{BLOCK_BYTES, CheckedBytes, Column, DamageWatch, FrozenIndex, SharedBytes};
use kato_columns::files::{MappedColumn, watch};
use kato_columns::map::Map;
use kato_store::visit::ContentDigest;
use kato_store::{EmbeddedStore, PatternStore};

use crate::disk::IndexFileError;
use crate::disk::chain::{Chain, find_chains, read_chain};
use crate::disk::files::{CHECKSUMS, HEADER, Header, column_path, content_dir};
use crate::disk::taken::Deleted;

/// Columns of which a prediction reads a little here and there.
const SCATTERED: [Column; 4] = [
    Column::Names,
    Column::SymbolStarts,
    Column::Symbols,
    Column::Frequencies,
];

/// Bytes of a column up to which all of it is fetched from the disk as soon as it is opened: every first
/// question reads texts, keys and where lists begin in many places, and would wait for each of them.
const FETCHED: u64 = 8 << 20;

/// The index of what a store holds: one of everything that there was when it was written, and those that
/// add to it what came later.
#[derive(Debug)]
pub struct StoreIndex {
    chain: Chain,
    /// The digests of its sources without what is passed over, ascending.
    covered: Vec<ContentDigest>,
    dir: PathBuf,
    nodes: Vec<IndexedNode>,
    /// All columns with their files.
    columns: Vec<(PathBuf, CheckedBytes)>,
    damage: DamageWatch,
    bytes: u64,
}

#[derive(Debug)]
struct IndexedNode {
    frozen: Arc<FrozenIndex>,
    has_emotives: bool,
}

/// Opens the index of what a store holds now, or else that of the most patterns that it still holds
/// beside newer ones; `None` if there is neither.
///
/// What was committed after an index was written is not in it: [`StoreIndex::covered`] says what is, and
/// an engine loads the rest, and passes over what was deleted of that. When segments are merged or
/// rewritten, what an index covers is no longer there as it was, and the index is none.
///
/// Little but headers and checksums is waited for, so this takes milliseconds whatever the number of
/// patterns is.
///
/// # Errors
///
/// [`IndexFileError`] when there is one of all that the store holds that cannot be used; the store itself
/// can.
pub fn open(store: &EmbeddedStore) -> Result<Option<StoreIndex>, IndexFileError> {
    let content = store.content();
    let chains = find_chains(store);
    let mut faults = chains.faults.into_iter();
    if let Some((_, error)) = faults.find(|(of, _)| *of == content.digest) {
        return Err(error);
    }
    for chain in chains.usable {
        let is_whole = chain.is_of_all(store);
        match open_chain(store, chain) {
            Ok(Some(mut index)) => {
                index.pass_over_deleted(store);
                return Ok(Some(index));
            }
            Err(error) if is_whole => return Err(error),
            // What cannot be used is passed over: nobody was told of it that it would be.
            Ok(None) | Err(_) => {}
        }
    }
    Ok(None)
}

/// Opens the index that [`open`] would, whatever there is beside it that cannot be used, and tells
/// of that as well.
///
/// For those who serve, and rather go on without an index that is damaged than not at all: it is to
/// be reported, and written again.
#[must_use]
pub fn find(store: &EmbeddedStore) -> FoundIndex {
    let mut found = find_written(store);
    if let Some(index) = &mut found.index {
        index.pass_over_deleted(store);
    }
    found
}

/// Finds as [`find`] does the index as it was written, whatever was deleted of it since.
pub(super) fn find_written(store: &EmbeddedStore) -> FoundIndex {
    let chains = find_chains(store);
    let faults = chains.faults.into_iter().map(|(_, error)| error);
    let mut found = FoundIndex {
        index: None,
        faults: faults.collect(),
    };
    for chain in chains.usable {
        let is_whole = chain.is_of_all(store);
        match open_chain(store, chain) {
            Ok(None) => {}
            Ok(Some(index)) => {
                found.index = Some(index);
                if is_whole {
                    // Nothing could be of more.
                    found.faults.clear();
                }
                break;
            }
            Err(error) => found.faults.push(error),
        }
    }
    found
}

/// Opens the index with this digest, with those that it adds to.
pub(super) fn open_unit(
    store: &EmbeddedStore,
    content: ContentDigest,
) -> Result<StoreIndex, IndexFileError> {
    let opened = match read_chain(store, content)? {
        Some(chain) => open_chain(store, chain)?,
        None => None,
    };
    opened.ok_or_else(|| IndexFileError::damaged(&content_dir(store.dir(), content), "it is gone"))
}

/// What [`find`] finds beside a store.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct FoundIndex {
    /// The index that can be used; `None` if there is none.
    pub index: Option<StoreIndex>,
    /// Why others cannot be used that would be of more patterns, or whose header does not tell of
    /// what they are. Those of what is no longer in the store as it was are none of them.
    pub faults: Vec<IndexFileError>,
}

/// Opens the indexes of a chain; `None` if one has been removed.
pub(super) fn open_chain(
    store: &EmbeddedStore,
    chain: Chain,
) -> Result<Option<StoreIndex>, IndexFileError> {
    let dirs = chain.units.iter();
    let dirs = dirs.map(|unit| content_dir(store.dir(), unit.content));
    let dirs: Vec<PathBuf> = dirs.collect();
    // Ahead of the maps, so that no write to one of them is missed.
    let damage = watch(&dirs);
    let mut index = StoreIndex {
        nodes: Vec::new(),
        columns: Vec::new(),
        bytes: 0,
        damage,
        dir: dirs.last().cloned().unwrap_or_default(),
        covered: chain.covered.clone(),
        chain,
    };
    for (nth, dir) in dirs.iter().enumerate() {
        let header = &index.chain.units[nth].header;
        let content = index.chain.units[nth].content;
        // A directory that somebody has renamed would be that of other content.
        if header.content != content.to_string() || header.nodes.len() != store.nodes().len() {
            return Err(IndexFileError::damaged(
                dir,
                "it is the index of something else",
            ));
        }
        if !dir.join(HEADER).exists() {
            return Ok(None);
        }
        let checksums = read_checksums(dir, header)?;
        index.add_unit(nth, dir, checksums)?;
    }
    Ok(Some(index))
}

impl StoreIndex {
    /// Adds the nodes of the next index of the chain to what they add to.
    fn add_unit(
        &mut self,
        nth: usize,
        dir: &Path,
        checksums: Vec<u32>,
    ) -> Result<(), IndexFileError> {
        let mut checksums = checksums.into_iter();
        let mut nodes: Vec<IndexedNode> = Vec::new();
        for (node_idx, node) in self.chain.units[nth].header.nodes.iter().enumerate() {
            let first = self.columns.len();
            for (column, &bytes) in Column::ALL.into_iter().zip(&node.column_bytes) {
                let path = column_path(dir, node_idx, column);
                let n_blocks = n_blocks(bytes);
                let of_column: Box<[u32]> = checksums.by_ref().take(n_blocks).collect();
                let map = map(&path, bytes, SCATTERED.contains(&column))?;
                let checked = CheckedBytes::new(map, of_column, self.damage.clone());
                let checked = checked.map_err(IndexFileError::layout(&path))?;
                self.columns.push((path, checked));
                self.bytes += bytes;
            }
            let lower = self.nodes.get(node_idx);
            let below = nodes.last().map(|below| Arc::clone(&below.frozen));
            let column = |column: Column| {
                // `read_checksums` has seen that there are as many as columns.
                let place = Column::ALL.iter().position(|&other| other == column);
                Ok(self.columns[first + place.unwrap_or(0)].1.clone())
            };
            let of_lower = lower.map(|lower| Arc::clone(&lower.frozen));
            let damage = self.damage.clone();
            let frozen = FrozenIndex::new(&node.layout, below, of_lower, damage, column);
            let frozen = frozen.map_err(IndexFileError::layout(dir))?;
            nodes.push(IndexedNode {
                frozen: Arc::new(frozen),
                has_emotives: node.has_emotives || lower.is_some_and(|lower| lower.has_emotives),
            });
        }
        self.nodes = nodes;
        Ok(())
    }

    /// Passes over what was deleted since it was written, as far as a file tells which patterns that is.
    pub(super) fn pass_over_deleted(&mut self, store: &EmbeddedStore) {
        let deleted = Deleted::read(&self.dir, &self.frozen());
        // Of a commit that was given up since, more may be deleted there than is.
        let is_of_store = |deleted: &Deleted| {
            deleted.sources.len() == self.covered.len()
                && store.n_sources_beyond(&deleted.sources).is_some()
        };
        let Some(deleted) = deleted.filter(is_of_store) else {
            return;
        };
        for (node, taken) in self.nodes.iter_mut().zip(deleted.nodes) {
            node.frozen = Arc::new(node.frozen.with_taken(taken));
        }
        self.covered = deleted.sources;
    }

    /// Says that much of what is read here and there will soon be read.
    pub(super) fn will_read_scattered(&self) {
        for ((_, column), kind) in self.columns.iter().zip(Column::ALL.iter().cycle()) {
            if SCATTERED.contains(kind) {
                column.view().will_read([(0, column.len())]);
            }
        }
    }

    /// Returns the digests of the indexes that it consists of, the first one first, with the number of
    /// patterns of all nodes that each adds.
    #[must_use]
    pub fn units(&self) -> impl ExactSizeIterator<Item = (ContentDigest, u64)> {
        let units = self.chain.units.iter();
        units.map(|unit| (unit.content, unit.header.n_patterns()))
    }

    /// Returns the index of each node, also where it is to be loaded.
    pub(super) fn frozen(&self) -> Vec<Arc<FrozenIndex>> {
        let nodes = self.nodes.iter();
        nodes.map(|node| Arc::clone(&node.frozen)).collect()
    }

    /// Returns whether damage was found in what was read of it.
    pub(super) fn is_damaged(&self) -> bool {
        self.damage.is_found()
    }

    /// Returns the index of each node, from the bottom up; `None` for nodes that have to be loaded,
    /// because what they learned has emotives, which an index does not hold.
    #[must_use]
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = Option<Arc<FrozenIndex>>> {
        let usable = |node: &IndexedNode| (!node.has_emotives).then(|| Arc::clone(&node.frozen));
        self.nodes.iter().map(usable)
    }

    /// Returns the digests of the sources of the store that are indexed, as they were when what it passes over
    /// was deleted of them.
    #[must_use]
    pub fn covered(&self) -> &[ContentDigest] {
        &self.covered
    }

    /// Returns the digests of these sources as they were when it was written.
    pub(super) fn written_of(&self) -> &[ContentDigest] {
        &self.chain.covered
    }

    /// Returns what is known of its damage.
    pub(super) const fn damage(&self) -> &DamageWatch {
        &self.damage
    }

    /// Returns the digest of what is indexed, by which the last of its [units](Self::units) is found. That of
    /// a single one is the digest of a store that holds nothing else.
    #[must_use]
    pub fn content(&self) -> ContentDigest {
        let last = self.chain.units.last().map(|unit| unit.content);
        last.unwrap_or(ContentDigest::from_bytes([0; 20]))
    }

    /// Returns the number of patterns of all nodes.
    #[must_use]
    pub fn n_patterns(&self) -> u64 {
        self.chain.n_patterns()
    }

    /// Returns the bytes of all columns.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the directory of the last of its [units](Self::units).
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Reads all of the index and compares it with its checksums. What was found whole is not
    /// compared again when it is read from the map.
    ///
    /// For those who go on to learn, and could not go back to what the store held. Takes next to no memory.
    ///
    /// # Errors
    ///
    /// [`IndexFileError::Damaged`], and when it cannot be read.
    pub fn check(&self) -> Result<(), IndexFileError> {
        self.check_unless(&Cancel::never())
    }

    /// Checks as [`check`](Self::check) does, unless it is cancelled from another thread.
    ///
    /// # Errors
    ///
    /// As [`check`](Self::check), and [`IndexFileError::Cancelled`].
    pub fn check_unless(&self, cancel: &Cancel) -> Result<(), IndexFileError> {
        for (path, column) in &self.columns {
            let mut file = File::open(path).map_err(IndexFileError::io("read", path))?;
            let read = |at: u64, buffer: &mut [u8]| {
                cancel.check().map_err(io::Error::other)?;
                file.seek(SeekFrom::Start(at))?;
                file.read_exact(buffer)
            };
            let read = column.check_all(read);
            // Before the error, which is then that of this.
            cancel.check()?;
            read.map_err(IndexFileError::io("read", path))?;
            if self.damage.is_found() {
                return Err(IndexFileError::damaged(path, "its checksums do not match"));
            }
        }
        Ok(())
    }
}

/// Returns the number of blocks of so many bytes.
fn n_blocks(bytes: u64) -> usize {
    let blocks = bytes.div_ceil(BLOCK_BYTES as u64);
    usize::try_from(blocks).unwrap_or(usize::MAX)
}

/// Reads the checksums of all columns.
fn read_checksums(dir: &Path, header: &Header) -> Result<Vec<u32>, IndexFileError> {
    let path = dir.join(CHECKSUMS);
    let bytes = fs::read(&path).map_err(IndexFileError::io("read", &path))?;
    let n_columns =
        |node: &crate::disk::files::NodeHeader| node.column_bytes.len() == Column::ALL.len();
    if !header.nodes.iter().all(n_columns) {
        return Err(IndexFileError::damaged(
            dir,
            "it has another number of columns",
        ));
    }
    let columns = header.nodes.iter().flat_map(|node| &node.column_bytes);
    let expected = columns.fold(0_usize, |sum, &bytes| sum.saturating_add(n_blocks(bytes)));
    if crc32fast::hash(&bytes) != header.checksums_crc32
        || Some(bytes.len()) != expected.checked_mul(4)
    {
        return Err(IndexFileError::damaged(
            &path,
            "its checksum does not match",
        ));
    }
    let numbers = bytes.as_chunks().0.iter();
    Ok(numbers.map(|&number| u32::from_le_bytes(number)).collect())
}

/// Maps the file of a column, which has so many bytes.
fn map(path: &Path, bytes: u64, is_scattered: bool) -> Result<SharedBytes, IndexFileError> {
    let open = || {
        let file = File::open(path)?;
        Ok((file.metadata()?.len(), Map::from_file(path, &file)?))
    };
    let (found, map) = open().map_err(IndexFileError::io("map", path))?;
    if found != bytes {
        let reason = format!("it has {found} bytes instead of {bytes}");
        return Err(IndexFileError::damaged(path, reason));
    }
    if is_scattered {
        map.advise_random();
    } else if found <= FETCHED {
        map.fetch_all();
    }
    Ok(Arc::new(MappedColumn(map)))
}
