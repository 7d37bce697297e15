//! An ordinary segment of the slices of all levels: children become ranks.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use kato_model::{AttributeLimits, PatternName};

use super::format::SliceSymbol;
use super::merge::SliceWalk;
use super::references::References;
use crate::StoreError;
use crate::embedded::{SegmentWriter, WrittenSegment, too_large};

/// Writes a segment of the slices of each level, bottom up. Slices of one level may overlap.
///
/// Memory: the names of a part of the level below, and the text symbols. Working files, 24 bytes for
/// each child of a level, are made in `scratch`.
pub(crate) fn write_segment(
    levels: &[Vec<PathBuf>],
    documents: &[(u64, String)],
    limits: &AttributeLimits,
    scratch: &Path,
    path: &Path,
) -> Result<WrittenSegment, StoreError> {
    let mut writer = SegmentWriter::create(path)?;
    let mut symbols = Vec::new();
    let mut numbered = Vec::new();
    for (node_idx, slices) in levels.iter().enumerate() {
        let below = node_idx.checked_sub(1).map(|below| &levels[below]);
        let n_below = writer.n_below()?;
        let mut numbers = None;
        let mut unknown = BTreeSet::new();
        if let Some(below) = below {
            let mut references = References::create(scratch, u64::from(n_below))?;
            let mut walk = SliceWalk::open(slices)?;
            while walk.next()?.is_some() {
                walk.symbols(&mut symbols)?;
                for symbol in &symbols {
                    if let SliceSymbol::Name(name) = symbol {
                        references.push(name)?;
                    }
                }
            }
            let mut names = SliceWalk::open(below)?;
            let names = std::iter::from_fn(|| names.next().transpose());
            numbers = Some(references.number(names, &mut unknown)?);
        }
        let mut walk = SliceWalk::open(slices)?;
        // Names of patterns that the level below does not hold are text, in order among the others.
        let unknown: Vec<PatternName> = unknown.into_iter().collect();
        let names: Vec<String> = unknown
            .iter()
            .map(|name| name.prefixed().to_string())
            .collect();
        let mut texts: Vec<&str> = walk
            .texts()
            .chain(names.iter().map(String::as_str))
            .collect();
        texts.sort_unstable();
        let number = |text: &str| {
            let rank = texts.binary_search(&text).ok();
            let rank = rank.and_then(|rank| u32::try_from(rank).ok());
            rank.and_then(|rank| n_below.checked_add(rank))
                .ok_or_else(|| too_large(path, "a node has more than 2^32 - 1 symbols"))
        };
        let text_numbers = walk.texts().map(number).collect::<Result<Vec<_>, _>>()?;
        let unknown_numbers = names
            .iter()
            .map(|name| number(name))
            .collect::<Result<Vec<_>, _>>()?;
        writer.begin_node(texts.iter().copied())?;
        while let Some(name) = walk.next()? {
            walk.symbols(&mut symbols)?;
            numbered.clear();
            for symbol in &symbols {
                numbered.push(match (symbol, &mut numbers) {
                    (SliceSymbol::Text(number), _) => text_numbers[*number as usize],
                    (SliceSymbol::Name(name), Some(numbers)) => match numbers.next(name)? {
                        Some(rank) => rank,
                        None => {
                            let at = unknown.binary_search(name);
                            let at = at.map_err(|_| changed(path))?;
                            unknown_numbers[at]
                        }
                    },
                    (SliceSymbol::Name(_), None) => {
                        return Err(StoreError::corrupt(path, "the lowest level has children"));
                    }
                });
            }
            let (frequency, extras) = walk.counts(limits)?;
            writer.push(name, frequency, &numbered, &extras)?;
        }
        writer.end_node()?;
    }
    let documents = documents.iter();
    writer.finish(documents.map(|(sample_idx, id)| (*sample_idx, id.as_str())))
}

/// Creates the error of working files that are not what was written to them.
fn changed(path: &Path) -> StoreError {
    StoreError::corrupt(path, "its working files were changed while it was written")
}
