//! Finding the index of a store, and mapping it.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::Cancel;
use crate::frozen::{BLOCK_BYTES, CheckedBytes, Column, Damage, FrozenIndex, SharedBytes};
use kato_columns::files::{MappedColumn, watch};
use kato_map::Map;
use kato_store::visit::ContentDigest;
use kato_store::{EmbeddedStore, PatternStore};

use crate::disk::IndexFileError;
use crate::disk::files::{CHECKSUMS, Header, column_path, content_dir, index_dir};

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

/// The index of what a store holds.
#[derive(Debug)]
pub struct StoreIndex {
    dir: PathBuf,
    nodes: Vec<IndexedNode>,
    /// All columns with their files.
    columns: Vec<(PathBuf, CheckedBytes)>,
    damage: Damage,
    bytes: u64,
    patterns: u64,
    content: ContentDigest,
    covered: Vec<ContentDigest>,
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
/// an engine loads the rest. When segments are merged or rewritten, what an index covers is no
/// longer there as it was, and the index is none.
///
/// Nothing but headers and checksums is read, so this takes milliseconds for any number of
/// patterns.
///
/// # Errors
///
/// [`IndexFileError`] when there is one of all that the store holds that cannot be used; the store itself
/// can.
pub fn open(store: &EmbeddedStore) -> Result<Option<StoreIndex>, IndexFileError> {
    let content = store.content();
    if let Some(index) = open_index(store, content.digest)? {
        return Ok(Some(index));
    }
    // What cannot be used is passed over here: nobody was told of it that it would be.
    Ok(find_partial(store, &content.sources).index)
}

/// Opens the index that [`open`] would, whatever there is beside it that cannot be used, and tells
/// of that as well.
///
/// For those who serve, and rather go on without an index that is damaged than not at all: it is to
/// be reported, and written again.
#[must_use]
pub fn find(store: &EmbeddedStore) -> FoundIndex {
    let content = store.content();
    let whole = open_index(store, content.digest);
    let fault = match whole {
        Ok(Some(index)) => {
            return FoundIndex {
                index: Some(index),
                faults: Vec::new(),
            };
        }
        Ok(None) => None,
        Err(error) => Some(error),
    };
    let mut found = find_partial(store, &content.sources);
    // That of everything is met again among those of a part.
    if let Some(fault) = fault
        && found.faults.is_empty()
    {
        found.faults.push(fault);
    }
    found
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

/// Finds the index of the most patterns of a part of these sources, or of all of them.
fn find_partial(store: &EmbeddedStore, sources: &[ContentDigest]) -> FoundIndex {
    let mut found = FoundIndex::default();
    let Ok(entries) = fs::read_dir(index_dir(store.dir())) else {
        return found;
    };
    let mut candidates: Vec<(u64, ContentDigest)> = Vec::new();
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(content) = name.to_str().and_then(ContentDigest::from_hex) else {
            continue;
        };
        let header = match Header::read(&entry.path()) {
            Ok(Some(header)) => header,
            // Without a header it was never finished, or is being removed.
            Ok(None) => continue,
            Err(error) => {
                found.faults.push(error);
                continue;
            }
        };
        let covered = header.covered().unwrap_or_default();
        let mut left = sources.iter();
        // Both ascend.
        let is_part = covered.iter().all(|source| left.any(|held| held == source));
        // One of nothing saves nothing.
        if is_part && header.n_patterns() > 0 {
            candidates.push((header.n_patterns(), content));
        }
    }
    candidates.sort_unstable_by(|a, b| b.cmp(a));
    for (_, content) in candidates {
        match open_index(store, content) {
            Ok(None) => {}
            Ok(Some(index)) => {
                found.index = Some(index);
                break;
            }
            Err(error) => found.faults.push(error),
        }
    }
    found
}

/// Opens the index of some content; `None` if there is none.
fn open_index(
    store: &EmbeddedStore,
    content: ContentDigest,
) -> Result<Option<StoreIndex>, IndexFileError> {
    let dir = content_dir(store.dir(), content);
    let Some(header) = Header::read(&dir)? else {
        return Ok(None);
    };
    // A directory that somebody has renamed would be that of other content.
    if header.content != content.to_string() || header.nodes.len() != store.nodes().len() {
        return Err(IndexFileError::damaged(
            &dir,
            "it is the index of something else",
        ));
    }
    let covered = header
        .covered()
        .ok_or_else(|| IndexFileError::damaged(&dir, "a source has no digest"))?;
    let checksums = read_checksums(&dir, &header)?;
    let mut checksums = checksums.into_iter();
    // Ahead of the maps, so that no write to one of them is missed.
    let damage = watch(&dir);
    let mut index = StoreIndex {
        nodes: Vec::new(),
        columns: Vec::new(),
        bytes: 0,
        damage: damage.clone(),
        patterns: header.n_patterns(),
        content,
        covered,
        dir,
    };
    for (node_idx, node) in header.nodes.iter().enumerate() {
        let first = index.columns.len();
        for (column, &bytes) in Column::ALL.into_iter().zip(&node.column_bytes) {
            let path = column_path(&index.dir, node_idx, column);
            let n_blocks = n_blocks(bytes);
            let of_column: Box<[u32]> = checksums.by_ref().take(n_blocks).collect();
            let map = map(&path, bytes, SCATTERED.contains(&column))?;
            let checked = CheckedBytes::new(map, of_column, damage.clone());
            let checked = checked.map_err(IndexFileError::layout(&path))?;
            index.columns.push((path, checked));
            index.bytes += bytes;
        }
        let below = index.nodes.last().map(|below: &IndexedNode| &*below.frozen);
        let column = |column: Column| {
            // `read_checksums` has seen that there are as many as columns.
            let place = Column::ALL.iter().position(|&other| other == column);
            Ok(index.columns[first + place.unwrap_or(0)].1.clone())
        };
        let frozen = FrozenIndex::new(&node.layout, below, damage.clone(), column);
        let frozen = frozen.map_err(IndexFileError::layout(&index.dir))?;
        index.nodes.push(IndexedNode {
            frozen: Arc::new(frozen),
            has_emotives: node.has_emotives,
        });
    }
    Ok(Some(index))
}

impl StoreIndex {
    /// Returns the index of each node, from the bottom up; `None` for nodes that have to be loaded,
    /// because what they learned has emotives, which an index does not hold.
    #[must_use]
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = Option<Arc<FrozenIndex>>> {
        let usable = |node: &IndexedNode| (!node.has_emotives).then(|| Arc::clone(&node.frozen));
        self.nodes.iter().map(usable)
    }

    /// Returns the digests of the sources of the store that are indexed.
    #[must_use]
    pub fn covered(&self) -> &[ContentDigest] {
        &self.covered
    }

    /// Returns the digest of what is indexed: that of a store that holds nothing else.
    #[must_use]
    pub fn content(&self) -> ContentDigest {
        self.content
    }

    /// Returns the number of patterns of all nodes.
    #[must_use]
    pub fn n_patterns(&self) -> u64 {
        self.patterns
    }

    /// Returns the bytes of all columns.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the directory.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Reads all of the index and compares it with its checksums. What was found whole is not
    /// compared again when it is read from the map.
    ///
    /// For those who go on to learn, and could not go back to what the store held. Takes no memory.
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
