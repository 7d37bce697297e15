//! Finding the counts of a store, and mapping them.

use std::path::{Path, PathBuf};

use kato_columns::DamageWatch;
use kato_columns::files::{ColumnSet, watch};
use kato_store::visit::ContentDigest;
use kato_store::{EmbeddedStore, PatternStore};

use super::chain::{Chain, find_parts};
use super::columns::{self, TEXT_STARTS, TEXTS, sums};
use super::files::{Header, content_of};
use super::later::{MOST, count_later};
use super::{CountsError, CountsOptions};
use crate::collect::Missing;
use crate::head::Frozen;
use crate::symbols::Symbols;
use crate::trie::sums::SumTable;
use crate::trie::{Later, Level, Spectrum, Trie};
use crate::{Head, HeadOptions};

/// N-grams of one symbol up to which these are read into memory.
const MOST_IN_MEMORY: usize = 1 << 20;

/// Opens the counts of what a store holds now as a head; `None` where there are none, or where the options
/// ask for others: n-grams of more symbols, or fewer levels.
///
/// Answers are those of [`Head::from_store`], or of
/// [`from_store_with_vocabulary`](Head::from_store_with_vocabulary) with a vocabulary, to the last bit.
/// Little is read but headers, checksums and symbols, so this takes milliseconds whatever the number of
/// n-grams is. What was committed after the counts were written is counted on top of them in memory, if it is
/// 20,000 patterns at most. When segments that they are of are merged or rewritten, the counts are
/// none.
///
/// # Errors
///
/// [`CountsError`] when the counts of what the store holds cannot be used, while the store itself can, and for
/// [options](crate::HeadError::Option) outside their range. Counts of a part that cannot be used are none.
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
    if let Some(chain) = Chain::read(store.dir(), content.digest)? {
        return match options.order <= chain.top().order {
            true => open_counts(&chain, n_levels, texts.as_deref(), options, Use::Asking).map(Some),
            false => Ok(None),
        };
    }
    if content.digest != store.content_digest() {
        // Counts of a part hold what is retired in it.
        return Ok(None);
    }
    let mut parts = find_parts(store, &content.sources).into_iter();
    let is_enough =
        |(chain, lacks): &(Chain, u64)| *lacks <= MOST && options.order <= chain.top().order;
    let Some((chain, _)) = parts.find(is_enough) else {
        return Ok(None);
    };
    // What cannot be used is passed over here: nobody was told of it that it would be.
    let opened = open_counts(&chain, n_levels, texts.as_deref(), options, Use::Asking);
    let Ok(mut head) = opened else {
        return Ok(None);
    };
    let counted = head.read_checked_mut(|head| count_later(head, store, &chain.covered, &|| false));
    Ok(match counted {
        Some(counted) => counted?.then_some(head),
        None => None,
    })
}

/// What counts are opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// The shortest n-grams are read into memory, as every symbol of a history is looked up among them.
    Asking,
    /// All stay where they are, so that what is counted on top is told from them.
    Adding,
}

/// Opens counts and those to which they add.
pub(super) fn open_counts(
    chain: &Chain,
    n_levels: usize,
    vocabulary: Option<&[&str]>,
    options: HeadOptions,
    purpose: Use,
) -> Result<Head, CountsError> {
    check_content(chain, n_levels)?;
    let opened = Opened::new(chain)?;
    let texts = opened.texts()?;
    let texts = texts.iter().map(String::as_str);
    let symbols = match vocabulary {
        None => Symbols::from_texts(texts, None)?,
        Some(tokens) => Symbols::from_texts(texts, Some(&mut tokens.iter().copied()))?,
    };
    let header = chain.top();
    let trie = opened.trie(chain, options.order, purpose)?;
    let missing =
        missing(header).ok_or_else(|| CountsError::damaged(opened.dir(), "a name is none"))?;
    let frozen = opened.into_frozen(header.can_grow);
    if let Some(what) = frozen.damage.what() {
        let (dir, _) = &chain.units()[0];
        return Err(CountsError::damaged(dir, what));
    }
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

/// Returns the counts of some content that are there and whole.
pub(super) fn whole(
    store: &EmbeddedStore,
    content: ContentDigest,
    options: &CountsOptions,
) -> Result<Option<Chain>, CountsError> {
    let Ok(Some(chain)) = Chain::read(store.dir(), content) else {
        return Ok(None);
    };
    if check_content(&chain, store.nodes().len()).is_err() {
        return Ok(None);
    }
    let Ok(opened) = Opened::new(&chain) else {
        return Ok(None);
    };
    match opened
        .into_frozen(false)
        .check(&|| options.check().is_err())
    {
        Ok(()) => Ok(Some(chain)),
        Err(_) => options.check().map(|()| None),
    }
}

/// Compares what counts are of with where they were found.
fn check_content(chain: &Chain, n_levels: usize) -> Result<(), CountsError> {
    for (dir, header) in chain.units() {
        let name = dir.file_name().and_then(|name| name.to_str());
        // A directory that somebody has renamed would be that of other content.
        if name != Some(header.content.as_str()) || header.levels != n_levels {
            return Err(CountsError::damaged(dir, "it is of something else"));
        }
    }
    Ok(())
}

/// Columns that are mapped.
struct Opened {
    damage: DamageWatch,
    /// By directory, those of the first counts first.
    units: Vec<(PathBuf, ColumnSet)>,
}

impl Opened {
    fn new(chain: &Chain) -> Result<Self, CountsError> {
        let dirs: Vec<&Path> = chain.units().iter().map(|(dir, _)| dir.as_path()).collect();
        // Ahead of the maps, so that no write to one of them is missed.
        let damage = watch(&dirs);
        let units = chain.units().iter();
        let units = units.map(|(dir, header)| {
            let columns = ColumnSet::open(dir, &header.list(), &damage)?;
            Ok((dir.clone(), columns))
        });
        Ok(Self {
            units: units.collect::<Result<_, CountsError>>()?,
            damage,
        })
    }

    /// Returns the directory of the first counts.
    fn dir(&self) -> &Path {
        self.units.first().map_or(Path::new("head"), |(dir, _)| dir)
    }

    fn into_frozen(self, has_plain_names: bool) -> Frozen {
        let units = self.units.into_iter();
        let columns = units.flat_map(|(_, columns)| columns.into_columns());
        Frozen {
            damage: self.damage,
            columns: columns.collect(),
            has_plain_names,
        }
    }

    /// Reads the texts of all symbols.
    fn texts(&self) -> Result<Vec<String>, CountsError> {
        let mut all = Vec::new();
        for (dir, columns) in &self.units {
            let (texts, starts) = (columns.find(TEXTS)?, columns.find(TEXT_STARTS)?);
            let damaged = || CountsError::damaged(&dir.join(TEXTS), "it contradicts itself");
            let n = (starts.len() / 8).checked_sub(1).ok_or_else(damaged)?;
            let (starts, bytes) = (starts.view(), texts.view());
            for number in 0..n {
                let (start, end) = (starts.u64(number), starts.u64(number + 1));
                let start = usize::try_from(start).map_err(|_| damaged())?;
                let end = usize::try_from(end).map_err(|_| damaged())?;
                let length = end.checked_sub(start).ok_or_else(damaged)?;
                let text = bytes.slice(start, length).to_vec();
                if text.len() != length {
                    return Err(damaged());
                }
                all.push(String::from_utf8(text).map_err(|_| damaged())?);
            }
        }
        Ok(all)
    }

    /// Returns the tree of n-grams of up to `order` symbols.
    fn trie(&self, chain: &Chain, order: usize, purpose: Use) -> Result<Trie, CountsError> {
        let header = chain.top();
        let mut levels: Vec<Level> = Vec::new();
        let mut tables = Vec::new();
        for n in 1..=order {
            let contradiction = || {
                let reason = "its columns do not fit each other";
                CountsError::damaged(self.dir(), reason)
            };
            let mut level = Level::default();
            let mut table = Vec::new();
            for (number, (_, columns)) in self.units.iter().enumerate() {
                let mut find = |name: &str| Ok(columns.find(name)?);
                if number == 0 {
                    level = columns::level(n, n == order, header.symbol_bytes, &mut find)?;
                    if !level.is_whole(n == order) {
                        return Err(contradiction());
                    }
                    if purpose == Use::Asking && n == 1 && level.n_sealed() <= MOST_IN_MEMORY {
                        level = level.in_memory();
                    }
                } else {
                    let first = u32::try_from(level.len()).map_err(|_| contradiction())?;
                    let columns = columns::later(n, &mut find)?;
                    if !level.add_later(Later::new(first, columns, n < order)) {
                        return Err(contradiction());
                    }
                }
                table.push(sums(n - 1, &mut find)?);
            }
            if level.len() as u64 != header.ngrams[n - 1] || level.len() > Level::MAX_LEN {
                return Err(contradiction());
            }
            levels.push(level);
            tables.push(SumTable::frozen(table));
        }
        let mut continuations = header.continuations[..order].to_vec();
        continuations[order - 1] = Spectrum::default();
        let counts = header.counts[..order].to_vec();
        Ok(Trie::from_parts(levels, counts, continuations, tables))
    }
}
