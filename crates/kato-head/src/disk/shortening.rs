//! Writing how many symbols stand to the left of each n-gram: as many as n-grams become it when they lose their first
//! symbol.

use std::ops::Range;
use std::path::Path;

use kato_columns::DamageWatch;
use kato_columns::map::Map;

use super::CountsError;
use super::columns::{Columns, name_of, small, starts};
use super::scratch::{self, ScratchWriter};
use super::small::SmallWriter;
use super::writing::Written;
use crate::trie::numbers::{Numbers, Reader};
use crate::trie::{Spectrum, first_not_below};

/// Stands for no n-gram.
const NONE: u32 = u32::MAX;

/// Contexts between two looks whether it was cancelled.
const CHECK_EVERY: usize = 1 << 16;

/// N-grams that are counted at once.
const WAITING: usize = 256;

/// Contexts whose n-grams are looked for at once.
const BLOCK: usize = 32;

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
        let n_counters = (sort_bytes / 4).max(1 << 16);
        let damage = DamageWatch::default();
        let symbol_bytes = usize::from(self.symbol_bytes);
        let open = |n| Ngrams::open(&self.columns, n, order, symbol_bytes, &damage);
        let levels = (1..=order).map(open);
        let levels = levels.collect::<Result<Vec<_>, CountsError>>()?;
        let mut spectra = Vec::new();
        // The shortened n-gram of every one of the length before; those of one symbol have none.
        let mut shortened: Option<Map> = None;
        for depth in 1..order {
            let contexts = &levels[depth - 1];
            let len = contexts.symbols.len() / symbol_bytes;
            let shortening = Shortening {
                contexts,
                ngrams: &levels[depth],
                within: depth.checked_sub(2).map(|before| &levels[before]),
                shortened: shortened.as_ref(),
                are_counted: self.n_paths[depth] == 0,
                check,
            };
            // Longer n-grams are found by it, and what counters leave for another turn.
            let is_asked = depth + 1 < order || len > n_counters;
            let path = scratch.join(format!("shortened-{depth}"));
            let mut out = is_asked.then(|| ScratchWriter::create(path)).transpose()?;
            let mut counters = Counters::new(0..n_counters.min(len));
            let mut each = |is_counted: bool, id: u32| {
                counters.count(is_counted, id);
                out.as_mut()
                    .map_or(Ok(()), |out| out.push(&id.to_le_bytes()))
            };
            match self.symbol_bytes {
                2 => shortening.each::<2>(&mut each),
                _ => shortening.each::<4>(&mut each),
            }?;
            let map = out.map(ScratchWriter::finish).transpose()?;
            let name = name_of(depth, "continuations");
            let mut column = SmallWriter::create(&self.columns, depth, &name)?;
            let mut spectrum = Spectrum::default();
            loop {
                let first = counters.range.end;
                for counter in counters.finish() {
                    column.push(counter)?;
                    spectrum.replace(0, counter);
                }
                let Some(map) = map.as_ref().filter(|_| first < len) else {
                    break;
                };
                check()?;
                counters = Counters::new(first..(first + n_counters).min(len));
                let (counts, are_counted) = (levels[depth].counts.read(), self.n_paths[depth] == 0);
                for (place, &id) in map.as_chunks().0.iter().enumerate() {
                    let is_counted = are_counted || counts.get(place) > 0;
                    counters.count(is_counted, u32::from_le_bytes(id));
                }
            }
            column.end(&mut self.columns, &name)?;
            spectra.push(spectrum);
            shortened = map;
        }
        spectra.push(Spectrum::default());
        match damage.what() {
            Some(what) => Err(CountsError::damaged(self.columns.dir(), what)),
            None => Ok(spectra),
        }
    }
}

/// The n-grams of one length, as they were just written.
struct Ngrams {
    /// Read as they are: every n-gram is looked at.
    symbols: Map,
    counts: Numbers,
    /// Where those begin that continue each; empty for the longest.
    starts: Numbers,
}

impl Ngrams {
    fn open(
        columns: &Columns,
        n: usize,
        order: usize,
        symbol_bytes: usize,
        damage: &DamageWatch,
    ) -> Result<Self, CountsError> {
        let symbols = scratch::map(&columns.dir().join(name_of(n, "symbols")))?;
        let len = symbols.len() / symbol_bytes;
        let mut find = |name: &str| columns.map(name, damage);
        Ok(Self {
            counts: small(n, "counts", len, &mut find)?,
            starts: match n == order {
                true => Numbers::default(),
                false => starts(n, len, &mut find)?,
            },
            symbols,
        })
    }
}

/// What finds every n-gram without its first symbol.
struct Shortening<'a> {
    contexts: &'a Ngrams,
    /// Those that continue the contexts.
    ngrams: &'a Ngrams,
    /// Those that the contexts continue without their first symbol; `None` if that is the empty one.
    within: Option<&'a Ngrams>,
    /// Of every context the id of the one without its first symbol.
    shortened: Option<&'a Map>,
    /// Whether all n-grams have a count.
    are_counted: bool,
    check: &'a dyn Fn() -> Result<(), CountsError>,
}

impl Shortening<'_> {
    /// Calls a function with every n-gram: whether it has a count, and its id without its first symbol.
    fn each<const WIDTH: usize>(
        &self,
        each: &mut impl FnMut(bool, u32) -> Result<(), CountsError>,
    ) -> Result<(), CountsError> {
        let symbol = |symbols: &[[u8; WIDTH]], place: usize| {
            let mut bytes = [0; 4];
            bytes[..WIDTH].copy_from_slice(&symbols[place]);
            u32::from_le_bytes(bytes)
        };
        let range = |starts: Reader<'_>, place: usize| {
            let (start, end) = starts.pair(place);
            start as usize..end as usize
        };
        let known = self.contexts.symbols.as_chunks::<WIDTH>().0;
        let asked = self.ngrams.symbols.as_chunks::<WIDTH>().0;
        let (starts, counts) = (self.contexts.starts.read(), self.ngrams.counts.read());
        let starts_within = self.within.map(|within| within.starts.read());
        let shortened = self.shortened.map(|map| map.as_chunks::<4>().0);
        let within = |context: usize| match (starts_within, shortened) {
            (Some(starts), Some(shortened)) => match u32::from_le_bytes(shortened[context]) {
                NONE => 0..0,
                shorter => range(starts, shorter as usize),
            },
            _ => 0..known.len(),
        };
        let held_at = |place: usize, end: usize| match place < end {
            true => symbol(known, place),
            false => NONE,
        };
        let n_contexts = known.len();
        let mut block: [(Range<usize>, u32); BLOCK] = std::array::from_fn(|_| (0..0, NONE));
        for first in (0..n_contexts).step_by(BLOCK) {
            if first % CHECK_EVERY == 0 {
                (self.check)()?;
            }
            // What lies anywhere is fetched for many contexts at once: one by one the processor would wait.
            let contexts = first..(first + BLOCK).min(n_contexts);
            let asked_for = block.iter_mut().zip(contexts.clone());
            asked_for.for_each(|((range, _), context)| *range = within(context));
            for (range, held) in &mut block[..contexts.len()] {
                *held = held_at(range.start, range.end);
            }
            for ((within, held), context) in block.iter().zip(contexts) {
                // The symbol at the place at hand, which is behind all that are below what was asked for.
                let (mut at, mut held) = (within.start, *held);
                let ngrams = range(starts, context);
                for ngram in ngrams {
                    let wanted = symbol(asked, ngram);
                    if held < wanted && self.within.is_none() {
                        // Most of one symbol lie at its number.
                        let at_number = wanted as usize;
                        if held_at(at_number, within.end) == wanted {
                            (at, held) = (at_number, wanted);
                        }
                    }
                    if held < wanted {
                        let rest = within.end - at - 1;
                        at += 1 + first_not_below(rest, |n| symbol(known, at + 1 + n) < wanted);
                        held = held_at(at, within.end);
                    }
                    // Places have 32 bits.
                    let id = if held == wanted { at as u32 } else { NONE };
                    each(self.are_counted || counts.get(ngram) > 0, id)?;
                }
            }
        }
        Ok(())
    }
}

/// The numbers of n-grams that become those of a range.
struct Counters {
    range: Range<usize>,
    counts: Vec<u32>,
    /// Those that are to be counted: many at once, as counters lie anywhere.
    waiting: Vec<u32>,
}

impl Counters {
    fn new(range: Range<usize>) -> Self {
        Self {
            counts: vec![0; range.len()],
            range,
            waiting: Vec::with_capacity(WAITING),
        }
    }

    #[inline]
    fn count(&mut self, is_counted: bool, id: u32) {
        if is_counted {
            self.waiting.push(id);
        }
        if self.waiting.len() == WAITING {
            self.count_waiting();
        }
    }

    fn count_waiting(&mut self) {
        for id in self.waiting.drain(..) {
            let place = (id as usize).wrapping_sub(self.range.start);
            if let Some(counter) = self.counts.get_mut(place) {
                *counter += 1;
            }
        }
    }

    fn finish(mut self) -> Vec<u32> {
        self.count_waiting();
        self.counts
    }
}
