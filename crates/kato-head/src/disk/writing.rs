//! Writing counts: the n-grams, then the symbols to the left of each, then sums.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use kato_columns::Damage;
use kato_columns::files::ColumnWriter;
use kato_map::Map;

use super::CountsError;
use super::columns::{Columns, Has, SmallWriter, TEXT_STARTS, TEXTS, level, name_of};
use super::runs::Nodes;
use crate::HeadError;
use crate::trie::sums::to_bytes;
use crate::trie::{Level, Spectrum, Trie};

/// Stands for no n-gram.
const NONE: u32 = u32::MAX;

/// What writes the n-grams of all lengths.
pub(super) struct NgramWriter {
    columns: Columns,
    symbol_bytes: u8,
    levels: Vec<LevelWriter>,
}

/// The n-grams of one length.
struct LevelWriter {
    symbols: ColumnWriter,
    counts: SmallWriter,
    /// `None` for the longest.
    starts: Option<ColumnWriter>,
    /// How many of the next length there are that continue those so far.
    n_children: u32,
    len: u64,
    spectrum: Spectrum,
}

/// N-grams that were written.
pub(super) struct Written {
    pub(super) columns: Columns,
    pub(super) symbol_bytes: u8,
    pub(super) ngrams: Vec<u64>,
    pub(super) counts: Vec<Spectrum>,
}

impl NgramWriter {
    /// Begins with the texts of all symbols, ascending.
    pub(super) fn new<'a>(
        mut columns: Columns,
        order: usize,
        texts: impl ExactSizeIterator<Item = &'a str>,
    ) -> Result<Self, CountsError> {
        let symbol_bytes = match u16::try_from(texts.len().saturating_sub(1)) {
            Ok(_) => 2,
            Err(_) => 4,
        };
        write_texts(&mut columns, texts)?;
        let level = |depth: usize| {
            let name = |column: &str| name_of(depth + 1, column);
            let mut level = LevelWriter {
                symbols: columns.create(&name("symbols"))?,
                counts: columns.small(&name("counts"))?,
                starts: None,
                n_children: 0,
                len: 0,
                spectrum: Spectrum::default(),
            };
            if depth + 1 < order {
                let mut starts = columns.create(&name("starts"))?;
                starts.push(&0u32.to_le_bytes())?;
                level.starts = Some(starts);
            }
            Ok(level)
        };
        let levels = (0..order).map(level).collect::<Result<_, CountsError>>()?;
        Ok(Self {
            columns,
            symbol_bytes,
            levels,
        })
    }

    /// Ends the columns of n-grams.
    pub(super) fn finish(mut self) -> Result<Written, CountsError> {
        let (mut ngrams, mut counts) = (Vec::new(), Vec::new());
        for (depth, level) in self.levels.into_iter().enumerate() {
            let name = |column: &str| name_of(depth + 1, column);
            self.columns.end(&name("symbols"), level.symbols)?;
            self.columns.end_small(&name("counts"), level.counts)?;
            if let Some(starts) = level.starts {
                self.columns.end(&name("starts"), starts)?;
            }
            ngrams.push(level.len);
            counts.push(level.spectrum);
        }
        Ok(Written {
            columns: self.columns,
            symbol_bytes: self.symbol_bytes,
            ngrams,
            counts,
        })
    }
}

impl Nodes for NgramWriter {
    fn node(
        &mut self,
        depth: usize,
        symbol: u32,
        count: u32,
        n_children: u32,
    ) -> Result<(), CountsError> {
        let level = &mut self.levels[depth];
        let symbol = symbol.to_le_bytes();
        level.symbols.push(&symbol[..self.symbol_bytes.into()])?;
        level.counts.push(count)?;
        level.spectrum.replace(0, count);
        level.len += 1;
        if let Some(starts) = &mut level.starts {
            // One n-gram is the most that a length is too long by.
            level.n_children = level.n_children.saturating_add(n_children);
            starts.push(&level.n_children.to_le_bytes())?;
        }
        match level.len > Level::MAX_LEN as u64 {
            true => Err(HeadError::TooManyNgrams.into()),
            false => Ok(()),
        }
    }
}

/// Writes the texts of symbols, and where each begins and the last one ends.
pub(super) fn write_texts<'a>(
    columns: &mut Columns,
    all: impl Iterator<Item = &'a str>,
) -> Result<(), CountsError> {
    let (mut texts, mut starts) = (columns.create(TEXTS)?, columns.create(TEXT_STARTS)?);
    let mut end = 0u64;
    starts.push(&end.to_le_bytes())?;
    for text in all {
        texts.push(text.as_bytes())?;
        end += text.len() as u64;
        starts.push(&end.to_le_bytes())?;
    }
    columns.end(TEXTS, texts)?;
    columns.end(TEXT_STARTS, starts)
}

impl Written {
    /// Writes how many symbols stand to the left of each n-gram, in so many bytes of memory, and returns
    /// by length how many n-grams have how many.
    pub(super) fn write_continuations(
        &mut self,
        scratch: &Path,
        sort_bytes: usize,
        check: &dyn Fn() -> Result<(), CountsError>,
    ) -> Result<Vec<Spectrum>, CountsError> {
        let order = self.ngrams.len();
        let damage = Damage::default();
        let mut levels = Vec::new();
        for n in 1..=order {
            let mut find = |name: &str| self.columns.map(name, &damage);
            levels.push(level(
                n,
                n == order,
                self.symbol_bytes,
                Has::Counts,
                &mut find,
            )?);
        }
        let mut spectra = Vec::new();
        // The shortened n-gram of every one of the length before; those of one symbol have none.
        let mut shortened: Option<Map> = None;
        for depth in 1..order {
            let path = scratch.join(format!("shortened-{depth}"));
            write_shortened(&levels, depth, shortened.as_ref(), &path, check)?;
            let map = map_scratch(&path)?;
            let n_counters = (sort_bytes / 4).max(1 << 16);
            let name = name_of(depth, "continuations");
            let mut column = self.columns.small(&name)?;
            let mut spectrum = Spectrum::default();
            let len = levels[depth - 1].n_sealed();
            for first in (0..len).step_by(n_counters) {
                check()?;
                let counters = count(&levels[depth], &map, first..(first + n_counters).min(len));
                for counter in counters {
                    column.push(counter)?;
                    spectrum.replace(0, counter);
                }
            }
            self.columns.end_small(&name, column)?;
            spectra.push(spectrum);
            shortened = Some(map);
        }
        spectra.push(Spectrum::default());
        match damage.what() {
            Some(what) => Err(CountsError::damaged(self.columns.dir(), what)),
            None => Ok(spectra),
        }
    }

    /// Writes the sums of the contexts that are followed by many symbols.
    pub(super) fn write_sums(
        &mut self,
        continuations: &[Spectrum],
        check: &dyn Fn() -> Result<(), CountsError>,
    ) -> Result<(), CountsError> {
        let order = self.ngrams.len();
        let damage = Damage::default();
        let mut find = |name: &str| self.columns.map(name, &damage);
        let mut levels = Vec::new();
        for n in 1..=order {
            let has = Has::Continuations;
            levels.push(level(n, n == order, self.symbol_bytes, has, &mut find)?);
        }
        let none = (0..order).map(|_| Default::default()).collect();
        let trie = Trie::from_parts(levels, self.counts.clone(), continuations.to_vec(), none);
        for length in 0..order {
            let mut ids = self.columns.create(&name_of(length, "summed"))?;
            let mut sums = self.columns.create(&name_of(length, "sums"))?;
            trie.each_sums(length, |context, of_context| {
                ids.push(&context.to_le_bytes())?;
                sums.push(&to_bytes(of_context))?;
                check()
            })?;
            self.columns.end(&name_of(length, "summed"), ids)?;
            self.columns.end(&name_of(length, "sums"), sums)?;
        }
        match damage.what() {
            Some(what) => Err(CountsError::damaged(self.columns.dir(), what)),
            None => Ok(()),
        }
    }
}

/// Writes of every n-gram of `depth` + 1 symbols the id of the one without its first symbol.
fn write_shortened(
    levels: &[Level],
    depth: usize,
    shortened: Option<&Map>,
    path: &Path,
    check: &dyn Fn() -> Result<(), CountsError>,
) -> Result<(), CountsError> {
    let file = File::create(path).map_err(CountsError::io("create", path))?;
    let mut out = BufWriter::with_capacity(1 << 18, file);
    let (contexts, symbols) = (&levels[depth - 1], levels[depth].sealed_symbols());
    for context in 0..contexts.n_sealed() {
        if context % (1 << 16) == 0 {
            check()?;
        }
        // What continues the context without its first symbol; the n-grams of two symbols end in one,
        // whose context is the empty one.
        let within = match shortened {
            None => 0..contexts.n_sealed(),
            Some(map) => match number(map, context) {
                NONE => 0..0,
                shorter => levels[depth - 2].sealed_children(shorter),
            },
        };
        let mut from = within.start;
        for child in contexts.sealed_children(context as u32) {
            let found = contexts.find_from(from..within.end, symbols.get(child));
            from = found.unwrap_or(from);
            // Places have 32 bits.
            let id = found.map_or(NONE, |found| found as u32);
            let written = out.write_all(&id.to_le_bytes());
            written.map_err(CountsError::io("write", path))?;
        }
    }
    out.flush().map_err(CountsError::io("write", path))
}

/// Counts the n-grams that become each of a range when they lose their first symbol.
fn count(ngrams: &Level, shortened: &Map, range: std::ops::Range<usize>) -> Vec<u32> {
    let mut counters = vec![0u32; range.len()];
    for (place, n) in ngrams.sealed_counts().enumerate() {
        let shorter = number(shortened, place) as usize;
        if n > 0 && range.contains(&shorter) {
            counters[shorter - range.start] += 1;
        }
    }
    counters
}

/// Maps a working file.
pub(super) fn map_scratch(path: &Path) -> Result<Map, CountsError> {
    let open = || Map::from_file(path, &File::open(path)?);
    let map = open().map_err(CountsError::io("map", path))?;
    // It lives as long as it is mapped, and goes when the process ends however that ends.
    drop(fs::remove_file(path));
    Ok(map)
}

/// Returns a number of a working file; [`NONE`] beyond its end.
fn number(map: &Map, place: usize) -> u32 {
    let bytes = map.get(place * 4..place * 4 + 4);
    let bytes = bytes.and_then(|bytes| bytes.try_into().ok());
    bytes.map_or(NONE, u32::from_le_bytes)
}
