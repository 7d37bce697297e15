//! The file of what was deleted of the patterns of an index: who opens it then finds none of them by its name.

use std::fs;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use kato_columns::files;
use kato_model::{EmotiveMap, PatternName};
use kato_store::EmbeddedStore;
use kato_store::visit::ContentDigest;

use crate::disk::files::index_dir;
use crate::disk::open::{StoreIndex, find_written};
use crate::disk::policy::n_deleted_beyond;
use crate::frozen::{FrozenIndex, NAMES_A_BLOCK, Taken};
use crate::symbols::SymbolCount;
use crate::{PatternIndex, SymbolId};

/// The file in the directory of the last unit.
const FILE: &str = "TAKEN";

/// First bytes of the file.
const MAGIC: &[u8; 8] = b"KATOTAK1";

/// Deleted patterns that are found by their names at every opening: that takes milliseconds. Few in builds for
/// tests, so that tests see the file.
const FOUND_BY_NAME: u64 = if cfg!(debug_assertions) { 1 } else { 1 << 10 };

/// What was deleted of the patterns of an index.
pub(super) struct Deleted {
    /// The digests that the sources of the index had then, ascending.
    pub(super) sources: Vec<ContentDigest>,
    /// By node, from the bottom up.
    pub(super) nodes: Vec<Taken>,
}

/// Keeps beside the index of a store which of its patterns were deleted, where they are many and that is not kept
/// yet: who opens it then need not find them.
///
/// Answers do not depend on it, so it is no fault where it cannot be written.
pub fn keep_deleted(store: &EmbeddedStore) {
    // As nearly always: no file is opened to find that out.
    if store.n_deleted() < FOUND_BY_NAME {
        return;
    }
    let is_much = |known: &[ContentDigest]| n_deleted_beyond(store, known) >= FOUND_BY_NAME;
    let index = find_written(store).index;
    let Some(mut index) = index.filter(|index| is_much(index.written_of())) else {
        return;
    };
    index.pass_over_deleted(store);
    if is_much(index.covered()) {
        // As in a directory that is read-only.
        let _ = write(store, &index);
    }
}

/// Writes the file; `None` where it cannot be written, or something is committed meanwhile.
fn write(store: &EmbeddedStore, index: &StoreIndex) -> Option<()> {
    let _lock = files::lock(index_dir(store.dir())).ok()?;
    let sources = store.digests_now(index.covered())?;
    let n_deleted = n_deleted_beyond(store, index.covered());
    if n_deleted.saturating_mul(NAMES_A_BLOCK as u64) >= index.n_patterns() {
        index.will_read_scattered();
    }
    let nodes = index.damage().read_once(|| taken(store, index))??;
    if store.digests_now(index.covered())? != sources {
        return None;
    }
    let path = index.dir().join(FILE);
    let unfinished = path.with_extension("tmp");
    let written = fs::write(&unfinished, Deleted { sources, nodes }.encode());
    // Not flushed: what a power cut leaves of it has another checksum.
    written.and_then(|()| fs::rename(&unfinished, &path)).ok()
}

/// Returns what was deleted of each node of an index.
fn taken(store: &EmbeddedStore, index: &StoreIndex) -> Option<Vec<Taken>> {
    let taken = |(node_idx, frozen): (usize, Option<Arc<FrozenIndex>>)| {
        // A node that has emotives is loaded.
        let Some(frozen) = frozen else {
            return Some(Taken::default());
        };
        let mut over = PatternIndex::over(frozen);
        let names = store.deleted_beyond(node_idx, index.covered()).ok()??;
        for name in names {
            over.purge(&name, &EmotiveMap::new());
        }
        Some(over.taken())
    };
    thread::scope(|scope| {
        let nodes = index.nodes().enumerate();
        let nodes: Vec<_> = nodes.map(|node| scope.spawn(move || taken(node))).collect();
        let taken = nodes
            .into_iter()
            .map(|node| node.join().unwrap_or_else(|panic| resume_unwind(panic)));
        taken.collect()
    })
}

impl Deleted {
    /// Reads the file in the directory of the last unit of an index of these nodes; `None` where there is none,
    /// or it is damaged.
    pub(super) fn read(dir: &Path, nodes: &[Arc<FrozenIndex>]) -> Option<Self> {
        let bytes = fs::read(dir.join(FILE)).ok()?;
        let (bytes, crc32) = bytes.split_last_chunk()?;
        let is_whole = crc32fast::hash(bytes) == u32::from_le_bytes(*crc32);
        let mut bytes = bytes.strip_prefix(MAGIC).filter(|_| is_whole)?;
        let sources = take_list(&mut bytes, |digest| ContentDigest::from_bytes(*digest))?;
        let nodes = nodes.iter().map(|node| take_node(&mut bytes, node));
        let deleted = Self {
            nodes: nodes.collect::<Option<_>>()?,
            sources,
        };
        bytes.is_empty().then_some(deleted)
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        let begin = |bytes: &mut Vec<u8>, n: usize| {
            // There are fewer patterns and symbols than ids.
            bytes.extend(u32::try_from(n).unwrap_or(u32::MAX).to_le_bytes());
        };
        begin(&mut bytes, self.sources.len());
        for source in &self.sources {
            bytes.extend(source.as_bytes());
        }
        for node in &self.nodes {
            begin(&mut bytes, node.patterns.len());
            for (rank, name) in &node.patterns {
                bytes.extend(rank.to_le_bytes());
                bytes.extend(name.as_bytes());
            }
            begin(&mut bytes, node.symbols.len());
            for (id, count) in &node.symbols {
                bytes.extend(id.0.to_le_bytes());
                bytes.extend(count.n_patterns.to_le_bytes());
                bytes.extend(count.frequency.to_le_bytes());
            }
            begin(&mut bytes, node.n_unused);
        }
        bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
        bytes
    }
}

/// Takes what was deleted of a node; `None` where it is of another one.
fn take_node(bytes: &mut &[u8], node: &FrozenIndex) -> Option<Taken> {
    let patterns: Vec<(u32, PatternName)> = take_list(bytes, |pattern: &[u8; 24]| {
        let mut name = [0; PatternName::BYTES];
        name.copy_from_slice(&pattern[4..]);
        (number(pattern, 0), PatternName::from_bytes(name))
    })?;
    let symbols: Vec<(SymbolId, SymbolCount)> = take_list(bytes, |symbol: &[u8; 16]| {
        let count = SymbolCount {
            n_patterns: number(symbol, 4),
            frequency: u64::from(number(symbol, 8)) | u64::from(number(symbol, 12)) << 32,
        };
        (SymbolId(number(symbol, 0)), count)
    })?;
    let (n_unused, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    let last = patterns.last().map_or(0, |(rank, _)| *rank as usize + 1);
    let is_of_node = last <= node.n_patterns()
        && patterns.is_sorted_by(|one, other| one.0 < other.0)
        // A number of no symbol would be given room for as many.
        && symbols.iter().all(|(id, _)| node.knows(*id));
    is_of_node.then(|| Taken {
        patterns,
        symbols,
        n_unused: u32::from_le_bytes(*n_unused) as usize,
    })
}

/// Takes the number of things, and the things, of `N` bytes each.
fn take_list<const N: usize, T>(
    bytes: &mut &[u8],
    thing: impl Fn(&[u8; N]) -> T,
) -> Option<Vec<T>> {
    let (n_things, rest) = bytes.split_first_chunk()?;
    let n_bytes = (u32::from_le_bytes(*n_things) as usize).checked_mul(N)?;
    let (things, rest) = rest.split_at_checked(n_bytes)?;
    *bytes = rest;
    Some(things.as_chunks().0.iter().map(thing).collect())
}

/// Returns the number at a place of a thing, which is long enough.
fn number(thing: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([thing[at], thing[at + 1], thing[at + 2], thing[at + 3]])
}
