//! A walk along several slices of one level.

use kato_model::{AttributeLimits, PatternName};

use super::format::{PackedSymbols, SliceRecord, SliceSymbol};
use super::reader::SliceReader;
use super::source::SliceSource;
use super::writer::SliceWriter;
use crate::StoreError;
use crate::embedded::Extras;
use crate::name_batch::{Entry, NameBatch};

/// A walk along the patterns of several slices of one level in name order, each name once.
#[derive(Debug)]
pub(super) struct SliceWalk {
    readers: Vec<SliceReader>,
    /// All texts, ascending and distinct.
    texts: Vec<String>,
    /// Rank in each slice's dictionary → rank in `texts`.
    numbers: Vec<Vec<u32>>,
    batch: NameBatch,
    /// Where the current name lies, by slice.
    group: Vec<Entry>,
}

/// Working memory of [`SliceWalk::copy_to`].
#[derive(Debug, Default)]
pub(super) struct CopyScratch {
    symbols: Vec<SliceSymbol>,
    packed: Vec<u8>,
    extras: Vec<u8>,
}

impl SliceWalk {
    /// Opens slices in front of their first name.
    pub(super) fn open(slices: &[SliceSource]) -> Result<Self, StoreError> {
        let readers = slices
            .iter()
            .map(SliceReader::open)
            .collect::<Result<Vec<_>, _>>()?;
        let (texts, numbers) = merge_texts(&readers);
        Ok(Self {
            readers,
            texts,
            numbers,
            batch: NameBatch::default(),
            group: Vec::new(),
        })
    }

    /// Returns all text symbols, ascending; numbers of texts are places among them.
    pub(super) fn texts(&self) -> impl ExactSizeIterator<Item = &str> + Clone {
        self.texts.iter().map(String::as_str)
    }

    /// Moves to the next name and returns it; `None` after the last.
    pub(super) fn next(&mut self) -> Result<Option<PatternName>, StoreError> {
        self.group.clear();
        if self.batch.is_done() && !self.read_batch()? {
            return Ok(None);
        }
        let readers = &self.readers;
        let group = self.batch.next_group(|entry| name_of(readers, entry));
        Ok(group.map(|(name, members)| {
            self.group.extend_from_slice(members);
            name
        }))
    }

    /// Takes the next names of all slices, in order; returns false where none are left.
    fn read_batch(&mut self) -> Result<bool, StoreError> {
        self.batch.clear();
        let mut bound = None;
        for reader in &mut self.readers {
            if reader.fill()? {
                let last = reader.last_name();
                bound = match bound {
                    None => last,
                    Some(bound) => last.min(Some(bound)),
                };
            }
        }
        let Some(bound) = bound else {
            return Ok(false);
        };
        // Up to there nothing is missing: what is not read yet comes later in every slice. One block
        // at least is taken whole, so the walk moves on.
        for (idx, reader) in (0..).zip(&mut self.readers) {
            reader.take_to(bound, |leading, place| self.batch.push(leading, idx, place));
        }
        let readers = &self.readers;
        self.batch.sort(|entry| name_of(readers, entry));
        Ok(true)
    }

    /// Reads the symbols of the current pattern; they are equal in all slices that hold it.
    pub(super) fn symbols(&self, symbols: &mut Vec<SliceSymbol>) -> Result<(), StoreError> {
        symbols.clear();
        let Some(&first) = self.group.first() else {
            return Ok(());
        };
        let (reader, numbers) = self.slice(first);
        let shown = self
            .record(first)?
            .symbols
            .unpack(reader.width(), |symbol| {
                symbols.push(renumbered(symbol, numbers)?);
                Some(())
            });
        shown.ok_or_else(|| reader.corrupt())
    }

    /// Returns frequency and extras of the current pattern, over all slices that hold it.
    pub(super) fn counts(&self, limits: &AttributeLimits) -> Result<(u64, Extras), StoreError> {
        let (mut frequency, mut merged) = (0_u64, Extras::default());
        for &entry in &self.group {
            let record = self.record(entry)?;
            frequency = frequency.saturating_add(record.frequency);
            if record.extras.is_empty() {
                continue;
            }
            let extras = record.decode_extras();
            let extras = extras.ok_or_else(|| self.slice(entry).0.corrupt())?;
            // The limits were applied when the extras were written.
            if merged.is_empty() {
                merged = extras;
            } else {
                merged.merge(extras, limits);
            }
        }
        Ok((frequency, merged))
    }

    /// Writes the current pattern, which has this name, over all slices that hold it, to a writer with
    /// the texts of the walk.
    ///
    /// What stays as it is, nearly all, is copied and not taken apart.
    pub(super) fn copy_to(
        &self,
        name: PatternName,
        limits: &AttributeLimits,
        writer: &mut SliceWriter,
        scratch: &mut CopyScratch,
    ) -> Result<(), StoreError> {
        let Some((&first, others)) = self.group.split_first() else {
            return Ok(());
        };
        let record = self.record(first)?;
        let (mut frequency, mut extras) = (record.frequency, record.extras);
        let mut n_extras = u32::from(!extras.is_empty());
        for &entry in others {
            let other = self.record(entry)?;
            frequency = frequency.saturating_add(other.frequency);
            if !other.extras.is_empty() {
                extras = other.extras;
                n_extras += 1;
            }
        }
        if n_extras > 1 {
            scratch.extras.clear();
            self.counts(limits)?.1.encode(&mut scratch.extras);
            extras = &scratch.extras;
        }
        let (reader, numbers) = self.slice(first);
        let symbols = match record.symbols {
            names if names.are_names_alone() => names,
            // As many texts as all have together are all of them, in the same order.
            same if numbers.len() == self.texts.len() => same,
            symbols => {
                scratch.symbols.clear();
                let unpacked = symbols.unpack(reader.width(), |symbol| {
                    scratch.symbols.push(renumbered(symbol, numbers)?);
                    Some(())
                });
                unpacked.ok_or_else(|| reader.corrupt())?;
                PackedSymbols::pack(&scratch.symbols, writer.width(), &mut scratch.packed)
            }
        };
        writer.push(
            name,
            &SliceRecord {
                frequency,
                symbols,
                extras,
            },
        )
    }

    /// Returns a slice and what its numbers of texts become.
    fn slice(&self, entry: Entry) -> (&SliceReader, &[u32]) {
        let idx = entry.source();
        (&self.readers[idx], &self.numbers[idx])
    }

    fn record(&self, entry: Entry) -> Result<SliceRecord<'_>, StoreError> {
        self.readers[entry.source()].record(entry.place())
    }
}

/// Returns the name of a pattern of a batch.
fn name_of(readers: &[SliceReader], entry: Entry) -> PatternName {
    readers[entry.source()].name(entry.place())
}

/// Returns a symbol of a slice as one of the walk; `None` for a text that the slice does not have, which
/// passes the checksum of a file that was written so.
fn renumbered(symbol: SliceSymbol, numbers: &[u32]) -> Option<SliceSymbol> {
    Some(match symbol {
        SliceSymbol::Text(number) => {
            SliceSymbol::Text(*numbers.get(usize::try_from(number).ok()?)?)
        }
        name @ SliceSymbol::Name(_) => name,
    })
}

/// Merges the dictionaries of slices: all texts, and the rank of each dictionary's among them.
fn merge_texts(readers: &[SliceReader]) -> (Vec<String>, Vec<Vec<u32>>) {
    let mut texts: Vec<&str> = Vec::new();
    for reader in readers {
        texts.extend(reader.dictionary().iter());
        // As it goes, so that memory is that of two dictionaries and not of all.
        texts.sort_unstable();
        texts.dedup();
    }
    let numbers = readers
        .iter()
        .map(|reader| {
            let mut rank: u32 = 0;
            let mut rest = texts.iter();
            let ranks = reader.dictionary().iter().map(|text| {
                // Both sides ascend, so one walk serves the whole dictionary.
                while rest.as_slice().first().is_some_and(|next| **next < *text) {
                    rest.next();
                    rank += 1;
                }
                rank
            });
            ranks.collect()
        })
        .collect();
    (texts.into_iter().map(str::to_owned).collect(), numbers)
}
