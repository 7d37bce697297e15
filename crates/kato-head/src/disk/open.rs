//! Finding the counts of a store, and mapping them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use kato_columns::files::{map, watch};
use kato_columns::{BLOCK_BYTES, CheckedBytes, Damage};
use kato_store::visit::ContentDigest;
use kato_store::{EmbeddedStore, PatternStore};

use super::columns::{Has, TEXT_STARTS, TEXTS, level, sums};
use super::files::{CHECKSUMS, Header, content_dir, content_of, counts_dir};
use super::later::{MOST, count_later};
use super::{BuildOptions, CountsError};
use crate::collect::Missing;
use crate::head::Frozen;
use crate::symbols::Symbols;
use crate::trie::{Level, Spectrum, Trie};
use crate::{Head, HeadOptions};

/// N-grams of one symbol up to which these are read into memory.
const MOST_IN_MEMORY: usize = 1 << 20;

/// Opens the counts of what a store holds now as a head; `None` where there are none, or where the options
/// ask for others: n-grams of more symbols, or fewer levels.
///
/// Answers are those of [`Head::from_store`], or of
/// [`from_store_with_vocabulary`](Head::from_store_with_vocabulary) with a vocabulary, to the last bit.
/// Nothing is read but headers, checksums and symbols, so this takes milliseconds for any number of
/// n-grams. What was committed after the counts were written is counted on top of them in memory, if it is
/// some ten thousand patterns at most. When segments that they are of are merged or rewritten, the counts are
/// none.
///
/// # Errors
///
/// [`CountsError`] when there are counts that cannot be used; the store itself can.
pub fn open(
    store: &EmbeddedStore,
    vocabulary: Option<&mut dyn Iterator<Item = &str>>,
    options: HeadOptions,
) -> Result<Option<Head>, CountsError> {
    options.check()?;
    let n_levels = store.nodes().len();
    if options.levels.is_some_and(|levels| levels < n_levels) {
        return Ok(None);
    }
    let texts: Option<Vec<&str>> = vocabulary.map(Iterator::collect);
    let content = content_of(store)?;
    let dir = content_dir(store.dir(), content.digest);
    if let Some(header) = Header::read(&dir)? {
        return match options.order <= header.order {
            true => open_counts(&dir, &header, n_levels, texts.as_deref(), options).map(Some),
            false => Ok(None),
        };
    }
    if content.digest != store.content_digest() {
        // Counts of a part hold what is retired in it.
        return Ok(None);
    }
    let Some((dir, header)) = find_partial(store, &content.sources, options.order) else {
        return Ok(None);
    };
    // What cannot be used is passed over here: nobody was told of it that it would be.
    let Ok(mut head) = open_counts(&dir, &header, n_levels, texts.as_deref(), options) else {
        return Ok(None);
    };
    let covered = header.covered().unwrap_or_default();
    let counted = head.read_checked_mut(|head| count_later(head, store, &covered));
    Ok(match counted {
        Some(counted) => counted?.then_some(head),
        None => None,
    })
}

/// Finds the counts of the most n-grams of a part of these sources beside which there is little, and which
/// can be counted on top of.
fn find_partial(
    store: &EmbeddedStore,
    sources: &[ContentDigest],
    order: usize,
) -> Option<(PathBuf, Header)> {
    let entries = fs::read_dir(counts_dir(store.dir())).ok()?;
    let mut best: Option<(PathBuf, Header)> = None;
    for entry in entries.flatten() {
        let name = entry.file_name();
        if name.to_str().and_then(ContentDigest::from_hex).is_none() {
            continue;
        }
        let Ok(Some(header)) = Header::read(&entry.path()) else {
            continue;
        };
        let covered = header.covered().unwrap_or_default();
        let mut left = sources.iter();
        // Both ascend.
        let is_part = covered.iter().all(|source| left.any(|held| held == source));
        let later = |node_idx| store.n_stored_beyond(node_idx, &covered);
        let n_later: u64 = (0..store.nodes().len()).map(later).sum();
        let n_ngrams = |header: &Header| header.ngrams.iter().sum::<u64>();
        // Those of nothing save nothing.
        let is_usable = is_part
            && header.can_grow
            && header.order >= order
            && n_later <= MOST
            && n_ngrams(&header) > 0;
        let is_better = |(_, other): &(PathBuf, Header)| n_ngrams(&header) > n_ngrams(other);
        if is_usable && best.as_ref().is_none_or(is_better) {
            best = Some((entry.path(), header));
        }
    }
    best
}

/// Opens counts that lie in a directory.
fn open_counts(
    dir: &Path,
    header: &Header,
    n_levels: usize,
    vocabulary: Option<&[&str]>,
    options: HeadOptions,
) -> Result<Head, CountsError> {
    check_content(dir, header, n_levels)?;
    let opened = Opened::new(dir, header)?;
    let texts = opened.texts()?;
    let texts = texts.iter().map(String::as_str);
    let symbols = match vocabulary {
        None => Symbols::from_texts(texts, None)?,
        Some(tokens) => Symbols::from_texts(texts, Some(&mut tokens.iter().copied()))?,
    };
    let trie = opened.trie(header, options.order)?;
    let missing = missing(header).ok_or_else(|| CountsError::damaged(dir, "a name is none"))?;
    let Opened { damage, columns } = opened;
    if let Some(what) = damage.what() {
        return Err(CountsError::damaged(dir, what));
    }
    let columns = columns.into_iter();
    let frozen = Frozen {
        damage,
        columns: columns
            .map(|(name, column)| (dir.join(name), column))
            .collect(),
    };
    let counted = (header.counted, missing);
    Ok(Head::from_counts(
        symbols, trie, counted, n_levels, options, frozen,
    ))
}

/// Returns the names that no level held; `None` if one is none.
fn missing(header: &Header) -> Option<Missing> {
    let names = header.missing.iter();
    names
        .map(|(name, level)| Some((name.parse().ok()?, *level)))
        .collect()
}

/// Returns the header of counts that are there and whole.
pub(super) fn whole(
    store: &EmbeddedStore,
    content: ContentDigest,
    options: &BuildOptions,
) -> Result<Option<Header>, CountsError> {
    let dir = content_dir(store.dir(), content);
    let Ok(Some(header)) = Header::read(&dir) else {
        return Ok(None);
    };
    if check_content(&dir, &header, store.nodes().len()).is_err() {
        return Ok(None);
    }
    let Ok(opened) = Opened::new(&dir, &header) else {
        return Ok(None);
    };
    let columns: Vec<_> = opened
        .columns
        .iter()
        .map(|(name, column)| (dir.join(name), column.clone()))
        .collect();
    let frozen = Frozen {
        damage: opened.damage,
        columns,
    };
    match frozen.check(&|| options.check().is_err()) {
        Ok(()) => Ok(Some(header)),
        Err(_) => options.check().map(|()| None),
    }
}

/// Compares what counts are of with where they were found.
fn check_content(dir: &Path, header: &Header, n_levels: usize) -> Result<(), CountsError> {
    let name = dir.file_name().and_then(|name| name.to_str());
    // A directory that somebody has renamed would be that of other content.
    let is_here = name == Some(header.content.as_str()) && header.levels == n_levels;
    match is_here && header.covered().is_some() {
        true => Ok(()),
        false => Err(CountsError::damaged(dir, "it is of something else")),
    }
}

/// Columns that are mapped.
struct Opened {
    damage: Damage,
    columns: BTreeMap<String, CheckedBytes>,
}

impl Opened {
    fn new(dir: &Path, header: &Header) -> Result<Self, CountsError> {
        let path = dir.join(CHECKSUMS);
        let bytes = fs::read(&path).map_err(CountsError::io("read", &path))?;
        let n_blocks =
            |bytes: u64| usize::try_from(bytes.div_ceil(BLOCK_BYTES as u64)).unwrap_or(usize::MAX);
        let columns = header.columns.iter();
        let expected = columns.fold(0usize, |sum, (_, bytes)| {
            sum.saturating_add(n_blocks(*bytes))
        });
        if crc32fast::hash(&bytes) != header.checksums_crc32
            || Some(bytes.len()) != expected.checked_mul(4)
        {
            return Err(CountsError::damaged(&path, "its checksum does not match"));
        }
        let mut checksums = bytes
            .as_chunks()
            .0
            .iter()
            .map(|&crc| u32::from_le_bytes(crc));
        // Ahead of the maps, so that no write to one of them is missed.
        let damage = watch(&[dir]);
        let mut opened = Self {
            damage,
            columns: BTreeMap::new(),
        };
        for (name, bytes) in &header.columns {
            let of_column: Box<[u32]> = checksums.by_ref().take(n_blocks(*bytes)).collect();
            // Names are those of files in the directory and nowhere else.
            if name.contains(['/', '\\']) {
                return Err(CountsError::damaged(&path, "a column has another place"));
            }
            let column = map(&dir.join(name), *bytes, of_column, &opened.damage)?;
            opened.columns.insert(name.clone(), column);
        }
        Ok(opened)
    }

    fn find(&self, name: &str) -> Result<CheckedBytes, CountsError> {
        let column = self.columns.get(name).cloned();
        column.ok_or_else(|| CountsError::damaged(Path::new(name), "it is not there"))
    }

    /// Reads the texts of all symbols.
    fn texts(&self) -> Result<Vec<String>, CountsError> {
        let (texts, starts) = (self.find(TEXTS)?, self.find(TEXT_STARTS)?);
        let damaged = || CountsError::damaged(Path::new(TEXTS), "it contradicts itself");
        let n = (starts.len() / 8).checked_sub(1).ok_or_else(damaged)?;
        let (starts, bytes) = (starts.view(), texts.view());
        let text = |number: usize| {
            let (start, end) = (starts.u64(number), starts.u64(number + 1));
            let start = usize::try_from(start).map_err(|_| damaged())?;
            let end = usize::try_from(end).map_err(|_| damaged())?;
            let length = end.checked_sub(start).ok_or_else(damaged)?;
            let text = bytes.slice(start, length).to_vec();
            match text.len() == length {
                true => String::from_utf8(text).map_err(|_| damaged()),
                false => Err(damaged()),
            }
        };
        (0..n).map(text).collect()
    }

    /// Returns the tree of n-grams of up to `order` symbols.
    fn trie(&self, header: &Header, order: usize) -> Result<Trie, CountsError> {
        let mut find = |name: &str| self.find(name);
        let mut levels: Vec<Level> = Vec::new();
        let mut tables = Vec::new();
        for n in 1..=order {
            let has = Has::Continuations;
            let level = level(n, n == order, header.symbol_bytes, has, &mut find)?;
            let is_whole = level.is_whole(n == order)
                && level.n_sealed() as u64 == header.ngrams[n - 1]
                && level.n_sealed() <= Level::MAX_LEN;
            if !is_whole {
                let reason = "its columns do not fit each other";
                return Err(CountsError::damaged(Path::new("head"), reason));
            }
            // Every symbol of a history is looked up among the shortest ones, at every place.
            levels.push(match n == 1 && level.n_sealed() <= MOST_IN_MEMORY {
                true => level.in_memory(),
                false => level,
            });
            tables.push(sums(n - 1, &mut find)?);
        }
        let mut continuations = header.continuations[..order].to_vec();
        continuations[order - 1] = Spectrum::default();
        let counts = header.counts[..order].to_vec();
        Ok(Trie::from_parts(levels, counts, continuations, tables))
    }
}
