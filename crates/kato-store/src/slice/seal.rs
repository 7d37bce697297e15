//! A segment of one range of names of all levels: children that the range holds become ranks, the
//! others foreign names.

use std::path::Path;

use kato_model::AttributeLimits;

use super::format::SliceSymbol;
use super::references::References;
use super::source::SliceSource;
use super::walk::SliceWalk;
use crate::StoreError;
use crate::embedded::{SegmentWriter, too_large};

/// Writes a segment of the slices of each level, bottom up, with documents by number, ascending.
///
/// The slices hold one range of names, or all; slices of one level may overlap or follow each other.
/// Several segments that together hold all ranges are a knowledge base: see
/// [`EmbeddedStore::create_from_segments`](crate::EmbeddedStore::create_from_segments). The bytes are
/// a function of what the slices and the documents hold, but for the last bits of sums of affinity.
///
/// `path` must not exist. It is written to the system and not flushed. Memory: some 65,536 names, or a
/// 512th of those of a level and its children if that is more, some 60 MB of buffers, the text
/// symbols, and the documents. While it works up to 512 files are open beside the slices. Working
/// files, of 24 bytes at most for each child of a level, are made in `scratch`, a directory.
///
/// # Errors
///
/// [`StoreError::Corrupt`] for what is no slice, [`StoreErrorKind::TooLarge`] where a level has more
/// than 2³² − 1 symbols in the range, and I/O errors.
///
/// [`StoreErrorKind::TooLarge`]: crate::StoreErrorKind::TooLarge
pub fn seal(
    levels: &[Vec<SliceSource>],
    documents: &[(u64, String)],
    limits: &AttributeLimits,
    scratch: &Path,
    path: &Path,
) -> Result<(), StoreError> {
    let mut writer = SegmentWriter::create(path)?;
    let mut symbols = Vec::new();
    let mut numbered = Vec::new();
    for (node_idx, slices) in levels.iter().enumerate() {
        let n_below = writer.n_below()?;
        let mut references = match node_idx {
            0 => None,
            _ => Some(References::create(scratch, n_below, slices)?),
        };
        let mut walk = SliceWalk::open(slices)?;
        let used = find_used(&mut walk, references.as_mut(), path)?;
        let mut n_names = n_below;
        let mut numbers = None;
        if let Some(references) = references {
            let mut names = SliceWalk::open(&levels[node_idx - 1])?;
            let names = std::iter::from_fn(|| names.next().transpose());
            numbers = Some(references.number(names, n_below, &mut |name| {
                n_names = n_names.checked_add(1).ok_or_else(|| too_many(path))?;
                writer.push_foreign(name)
            })?);
        }
        let texts = walk.texts().zip(&used).filter(|(_, used)| **used);
        writer.begin_node(texts.map(|(text, _)| text))?;
        // That all numbers fit is what the writer has just seen.
        let mut next = n_names;
        let text_numbers = used.iter().map(|used| {
            let number = next;
            next += u32::from(*used);
            number
        });
        let text_numbers: Vec<u32> = text_numbers.collect();
        let mut walk = SliceWalk::open(slices)?;
        while let Some(name) = walk.next()? {
            walk.symbols(&mut symbols)?;
            numbered.clear();
            for symbol in &symbols {
                numbered.push(match (symbol, &mut numbers) {
                    (SliceSymbol::Text(number), _) => text_numbers[*number as usize],
                    (SliceSymbol::Name(name), Some(numbers)) => numbers.next(name)?,
                    (SliceSymbol::Name(_), None) => {
                        return Err(has_children(path));
                    }
                });
            }
            let (frequency, extras) = walk.counts(limits)?;
            writer.push(name, frequency, &numbered, &extras)?;
        }
        writer.end_node()?;
    }
    let documents = documents.iter();
    writer
        .finish(documents.map(|(document_idx, id)| (*document_idx, id.as_str())))
        .map(drop)
}

/// Notes the children of a level; returns which texts occur: a slice has the texts of all ranges, and
/// a segment only those that it uses.
fn find_used(
    walk: &mut SliceWalk,
    mut references: Option<&mut References>,
    path: &Path,
) -> Result<Vec<bool>, StoreError> {
    let mut used = vec![false; walk.texts().len()];
    let mut symbols = Vec::new();
    while walk.next()?.is_some() {
        walk.symbols(&mut symbols)?;
        for symbol in &symbols {
            match (symbol, &mut references) {
                (SliceSymbol::Text(number), _) => used[*number as usize] = true,
                (SliceSymbol::Name(name), Some(references)) => references.push(name)?,
                (SliceSymbol::Name(_), None) => return Err(has_children(path)),
            }
        }
    }
    Ok(used)
}

/// Creates the error of a lowest level that has children.
fn has_children(path: &Path) -> StoreError {
    StoreError::corrupt_slice(path, "its lowest level has children")
}

/// Creates the error of a level that has more symbols than there are numbers.
fn too_many(path: &Path) -> StoreError {
    too_large(path, "a node has more than 2^32 - 1 symbols")
}
