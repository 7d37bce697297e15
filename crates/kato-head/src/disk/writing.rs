//! Writing counts: the n-grams, and sums of what follows them.

use kato_columns::DamageWatch;
use kato_columns::files::ColumnWriter;

use super::CountsError;
use super::columns::{Columns, TEXT_STARTS, TEXTS, level, name_of};
use super::nodes::{Node, Nodes};
use super::scratch;
use super::small::SmallWriter;
use super::starts::StartsWriter;
use crate::HeadError;
use crate::trie::sums::{FEW, to_bytes};
use crate::trie::{Level, ROOT, Spectrum, Trie};

/// Contexts that are summed up between two looks whether it was cancelled.
const CHECK_EVERY: usize = 1 << 10;

/// What writes the n-grams of all lengths.
pub(super) struct NgramWriter {
    columns: Columns,
    symbol_bytes: u8,
    levels: Vec<LevelWriter>,
    /// By length of the context, those that many symbols follow.
    summed: Vec<ColumnWriter>,
}

/// The n-grams of one length.
struct LevelWriter {
    symbols: ColumnWriter,
    counts: SmallWriter,
    /// `None` for the longest.
    starts: Option<StartsWriter>,
    /// How many of the next length there are that continue those so far.
    n_children: u32,
    len: u64,
    /// How many have no count.
    n_paths: u64,
    spectrum: Spectrum,
}

/// N-grams that were written.
pub(super) struct Written {
    pub(super) columns: Columns,
    pub(super) symbol_bytes: u8,
    pub(super) ngrams: Vec<u64>,
    pub(super) counts: Vec<Spectrum>,
    /// By length, how many of them have no count.
    pub(super) n_paths: Vec<u64>,
    summed: Vec<ColumnWriter>,
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
                counts: SmallWriter::create(&columns, depth + 1, &name("counts"))?,
                starts: None,
                n_children: 0,
                len: 0,
                n_paths: 0,
                spectrum: Spectrum::default(),
            };
            if depth + 1 < order {
                let mut starts = StartsWriter::create(&columns, depth + 1, &name("starts"))?;
                starts.push(0)?;
                level.starts = Some(starts);
            }
            Ok(level)
        };
        let levels = (0..order).map(level).collect::<Result<_, CountsError>>()?;
        let summed = (0..order).map(|length| columns.create(&name_of(length, "summed")));
        let summed = summed.collect::<Result<_, CountsError>>()?;
        Ok(Self {
            columns,
            symbol_bytes,
            levels,
            summed,
        })
    }

    /// Ends the columns of n-grams.
    pub(super) fn finish(mut self) -> Result<Written, CountsError> {
        let (mut ngrams, mut counts, mut n_paths) = (Vec::new(), Vec::new(), Vec::new());
        if self.levels[0].len > FEW as u64 {
            self.summed[0].push(&ROOT.to_le_bytes())?;
        }
        for (depth, level) in self.levels.into_iter().enumerate() {
            let name = |column: &str| name_of(depth + 1, column);
            self.columns.end(&name("symbols"), level.symbols)?;
            level.counts.end(&mut self.columns, &name("counts"))?;
            if let Some(starts) = level.starts {
                starts.end(&mut self.columns, &name("starts"))?;
            }
            ngrams.push(level.len);
            counts.push(level.spectrum);
            n_paths.push(level.n_paths);
        }
        Ok(Written {
            columns: self.columns,
            symbol_bytes: self.symbol_bytes,
            ngrams,
            counts,
            n_paths,
            summed: self.summed,
        })
    }
}

impl Nodes for NgramWriter {
    fn node(&mut self, depth: usize, node: Node) -> Result<(), CountsError> {
        let level = &mut self.levels[depth];
        let symbol = node.symbol.to_le_bytes();
        // Each of a width that the compiler knows.
        match self.symbol_bytes {
            2 => level.symbols.push(&symbol[..2]),
            _ => level.symbols.push(&symbol),
        }?;
        level.counts.push(node.count)?;
        level.spectrum.replace(0, node.count);
        level.n_paths += u64::from(node.count == 0);
        if node.n_children as usize > FEW {
            // Too long a length is refused below.
            self.summed[depth + 1].push(&(level.len as u32).to_le_bytes())?;
        }
        level.len += 1;
        if let Some(starts) = &mut level.starts {
            // One n-gram is the most that a length is too long by.
            level.n_children = level.n_children.saturating_add(node.n_children);
            starts.push(level.n_children)?;
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
    /// Writes the sums of the contexts that are followed by many symbols.
    pub(super) fn write_sums(
        &mut self,
        continuations: &[Spectrum],
        check: &dyn Fn() -> Result<(), CountsError>,
    ) -> Result<(), CountsError> {
        let order = self.ngrams.len();
        let damage = DamageWatch::default();
        let mut find = |name: &str| self.columns.map(name, &damage);
        let mut levels = Vec::new();
        for n in 1..=order {
            levels.push(level(n, n == order, self.symbol_bytes, &mut find)?);
        }
        let none = (0..order).map(|_| Default::default()).collect();
        let trie = Trie::from_parts(levels, self.counts.clone(), continuations.to_vec(), none);
        for (length, ids) in std::mem::take(&mut self.summed).into_iter().enumerate() {
            let name = name_of(length, "summed");
            self.columns.end(&name, ids)?;
            let mut sums = self.columns.create(&name_of(length, "sums"))?;
            let ids = scratch::map(&self.columns.dir().join(name))?;
            for (place, &id) in ids.as_chunks().0.iter().enumerate() {
                sums.push(&to_bytes(&trie.sums_of(length, u32::from_le_bytes(id))))?;
                if place.is_multiple_of(CHECK_EVERY) {
                    check()?;
                }
            }
            self.columns.end(&name_of(length, "sums"), sums)?;
        }
        match damage.what() {
            Some(what) => Err(CountsError::damaged(self.columns.dir(), what)),
            None => Ok(()),
        }
    }
}
