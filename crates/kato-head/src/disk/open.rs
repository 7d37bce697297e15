//! Finding the counts of a store, and mapping them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use kato_columns::files::{map, watch};
use kato_columns::{BLOCK_BYTES, CheckedBytes, Damage};
use kato_store::visit::ContentDigest;
use kato_store::{EmbeddedStore, PatternStore};

use super::columns::{Has, TEXT_STARTS, TEXTS, level, sums};
use super::files::{CHECKSUMS, Header, content_dir};
use super::{BuildOptions, CountsError};
use crate::collect::Missing;
use crate::head::Frozen;
use crate::symbols::Symbols;
use crate::trie::{Level, Spectrum, Trie};
use crate::{Head, HeadOptions};

/// Opens the counts of what a store holds now as a head; `None` where there are none, or where the options
/// ask for others: n-grams of more symbols, or fewer levels.
///
/// Answers are those of [`Head::from_store`], or of
/// [`from_store_with_vocabulary`](Head::from_store_with_vocabulary) with a vocabulary, to the last bit.
/// Nothing is read but headers, checksums and symbols, so this takes milliseconds for any number of
/// n-grams.
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
    let dir = content_dir(store.dir(), store.content_digest());
    let Some(header) = Header::read(&dir)? else {
        return Ok(None);
    };
    if options.order > header.order {
        return Ok(None);
    }
    check_content(&dir, &header, n_levels)?;
    let opened = Opened::new(&dir, &header)?;
    let texts = opened.texts()?;
    let symbols = Symbols::from_texts(texts.iter().map(String::as_str), vocabulary)?;
    let trie = opened.trie(&header, options.order)?;
    let missing = missing(&header).ok_or_else(|| CountsError::damaged(&dir, "a name is none"))?;
    let Opened { damage, columns } = opened;
    if let Some(what) = damage.what() {
        return Err(CountsError::damaged(&dir, what));
    }
    let frozen = Frozen {
        damage,
        columns: columns
            .into_iter()
            .map(|(name, column)| (dir.join(name), column))
            .collect(),
    };
    Ok(Some(Head::from_counts(
        symbols,
        trie,
        (header.counted, missing),
        n_levels,
        options,
        frozen,
    )))
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
        let damage = watch(dir);
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
            levels.push(level);
            tables.push(sums(n - 1, &mut find)?);
        }
        let mut continuations = header.continuations[..order].to_vec();
        continuations[order - 1] = Spectrum::default();
        let counts = header.counts[..order].to_vec();
        Ok(Trie::from_parts(levels, counts, continuations, tables))
    }
}
