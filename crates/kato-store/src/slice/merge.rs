//! Merging slices of one level by name: counts are added, texts renumbered.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs;
use std::path::{Path, PathBuf};

use kato_model::{AttributeLimits, PatternName};

use super::format::SliceSymbol;
use super::reader::SliceReader;
use super::writer::SliceWriter;
use super::{NameRanges, SliceSummary};
use crate::StoreError;
use crate::embedded::Extras;

/// Most slices that are open at a time; more are merged in groups first, into files beside the
/// result.
pub const MAX_INPUTS: usize = 64;

/// Merges slices of one level into one, cut into these ranges.
///
/// The result is a function of what the inputs hold together, whatever their number, order and
/// cuts. `path` must not exist; files beside it are made and removed where there are more than
/// [`MAX_INPUTS`]. Memory: a block and the text symbols of each open slice.
///
/// # Errors
///
/// [`StoreError::Corrupt`] for an input that is no slice or is damaged, and I/O errors.
pub fn merge(
    inputs: &[PathBuf],
    limits: &AttributeLimits,
    ranges: NameRanges,
    path: &Path,
) -> Result<SliceSummary, StoreError> {
    if inputs.len() <= MAX_INPUTS {
        return merge_open(inputs, limits, ranges, path);
    }
    let mut groups = Vec::new();
    let merged = inputs
        .chunks(MAX_INPUTS)
        .enumerate()
        .try_for_each(|(number, chunk)| {
            let mut name = path.file_name().unwrap_or_default().to_owned();
            name.push(format!(".{number}"));
            groups.push(path.with_file_name(name));
            let group = &groups[number];
            merge_open(chunk, limits, NameRanges::whole(), group).map(drop)
        })
        .and_then(|()| merge(&groups, limits, ranges, path));
    for group in groups {
        // Working files: nothing is lost when one stays.
        let _ = fs::remove_file(group);
    }
    merged
}

/// Merges slices that may all be open.
fn merge_open(
    inputs: &[PathBuf],
    limits: &AttributeLimits,
    ranges: NameRanges,
    path: &Path,
) -> Result<SliceSummary, StoreError> {
    let mut walk = SliceWalk::open(inputs)?;
    let texts: Vec<String> = walk.texts().map(str::to_owned).collect();
    let mut writer = SliceWriter::create(path, texts.iter().map(String::as_str), ranges)?;
    let mut symbols = Vec::new();
    while let Some(name) = walk.next()? {
        walk.symbols(&mut symbols)?;
        let (frequency, extras) = walk.counts(limits)?;
        writer.push(name, frequency, &symbols, &extras)?;
    }
    writer.finish()
}

/// A walk along the patterns of several slices of one level in name order, each name once.
#[derive(Debug)]
pub(super) struct SliceWalk {
    readers: Vec<SliceReader>,
    /// All texts, ascending and distinct.
    texts: Vec<String>,
    /// Rank in each slice's dictionary → rank in `texts`.
    numbers: Vec<Vec<u32>>,
    heap: BinaryHeap<Reverse<(PatternName, usize)>>,
    /// Slices that hold the current name.
    group: Vec<usize>,
}

impl SliceWalk {
    /// Opens slices in front of their first name.
    pub(super) fn open(paths: &[PathBuf]) -> Result<Self, StoreError> {
        let readers = paths
            .iter()
            .map(|path| SliceReader::open(path))
            .collect::<Result<Vec<_>, _>>()?;
        let (texts, numbers) = merge_texts(&readers);
        let heap = readers
            .iter()
            .zip(0..)
            .filter_map(|(reader, idx)| Some(Reverse((reader.name()?, idx))))
            .collect();
        Ok(Self {
            readers,
            texts,
            numbers,
            heap,
            group: Vec::new(),
        })
    }

    /// Returns all text symbols, ascending; numbers of texts are places among them.
    pub(super) fn texts(&self) -> impl ExactSizeIterator<Item = &str> + Clone {
        self.texts.iter().map(String::as_str)
    }

    /// Moves to the next name and returns it; `None` after the last.
    pub(super) fn next(&mut self) -> Result<Option<PatternName>, StoreError> {
        for &idx in &self.group {
            let reader = &mut self.readers[idx];
            reader.advance()?;
            if let Some(name) = reader.name() {
                self.heap.push(Reverse((name, idx)));
            }
        }
        self.group.clear();
        let Some(Reverse((name, first))) = self.heap.pop() else {
            return Ok(None);
        };
        self.group.push(first);
        while let Some(&Reverse((next, idx))) = self.heap.peek()
            && next == name
        {
            self.heap.pop();
            self.group.push(idx);
        }
        Ok(Some(name))
    }

    /// Reads the symbols of the current pattern; they are equal in all slices that hold it.
    pub(super) fn symbols(&self, symbols: &mut Vec<SliceSymbol>) -> Result<(), StoreError> {
        symbols.clear();
        let Some(&idx) = self.group.first() else {
            return Ok(());
        };
        let (reader, numbers) = (&self.readers[idx], &self.numbers[idx]);
        let shown = reader.record()?.symbols(reader.width(), |symbol| {
            symbols.push(match symbol {
                // A number out of bounds passes the checksum of a file that was written so.
                SliceSymbol::Text(number) => {
                    SliceSymbol::Text(*numbers.get(usize::try_from(number).ok()?)?)
                }
                name @ SliceSymbol::Name(_) => name,
            });
            Some(())
        });
        shown.ok_or_else(|| reader.corrupt())
    }

    /// Returns frequency and extras of the current pattern, over all slices that hold it.
    pub(super) fn counts(&self, limits: &AttributeLimits) -> Result<(u64, Extras), StoreError> {
        let (mut frequency, mut merged) = (0_u64, Extras::default());
        for &idx in &self.group {
            let reader = &self.readers[idx];
            let record = reader.record()?;
            frequency = frequency.saturating_add(record.frequency);
            if record.is_plain() {
                continue;
            }
            let extras = record.extras().ok_or_else(|| reader.corrupt())?;
            // The limits were applied when the extras were written.
            if merged.is_empty() {
                merged = extras;
            } else {
                merged.merge(extras, limits);
            }
        }
        Ok((frequency, merged))
    }
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
