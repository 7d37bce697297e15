//! Forgetting: writing a segment again without some of its patterns.

use std::borrow::Cow;
use std::iter::Peekable;
use std::path::Path;
use std::slice;
use std::sync::Arc;

use kato_model::PatternName;

use super::segment::{ForeignCursor, NodeCursor, Segment, SegmentWriter, WrittenSegment};
use super::vectors::MergedVectors;
use crate::StoreError;

/// Patterns that are read in order in the time in which one is looked up: a block of them.
const PATTERNS_A_LOOK_UP: usize = 128;

/// Returns whether a segment holds one of the names, which ascend in every node.
pub(super) fn contains_any(
    segment: &Arc<Segment>,
    names_to_forget: &[Vec<PatternName>],
) -> Result<bool, StoreError> {
    for (node_idx, names) in names_to_forget.iter().enumerate() {
        let (Some(first), Some(last)) = (names.first(), names.last()) else {
            continue;
        };
        if names.len() < segment.n_patterns(node_idx) / PATTERNS_A_LOOK_UP {
            for name in names {
                if segment.find(node_idx, name, |_| Ok(()))?.is_some() {
                    return Ok(true);
                }
            }
            continue;
        }
        let mut sorted_names = SortedNames::new(names);
        // Nothing below the first name or above the last can match, so blocks outside are not read.
        let leading = first.leading_u64();
        let mut cursor = NodeCursor::from_leading(Arc::clone(segment), node_idx, leading)?;
        while let Some(name) = cursor.name().filter(|name| name <= last) {
            if sorted_names.contains(&name) {
                return Ok(true);
            }
            cursor.advance()?;
        }
    }
    Ok(false)
}

/// Writes a segment without the patterns of these names, which ascend in every node. Vectors and
/// documents stay.
///
/// What still refers to a forgotten pattern refers to its name as text from then on. Memory: 24
/// bytes for each name that is forgotten, 4 for each foreign name of one node, and its text symbols.
pub(super) fn write_without(
    segment: &Arc<Segment>,
    names_to_forget: &[Vec<PatternName>],
    path: &Path,
) -> Result<WrittenSegment, StoreError> {
    let mut writer = SegmentWriter::create(path)?;
    // Nodes go bottom up, because the numbers of a node's children depend on what the node below
    // has lost.
    let mut below = Forgotten::default();
    for (node_idx, names) in names_to_forget.iter().enumerate() {
        let forgotten = Forgotten::find(segment, node_idx, names)?;
        // The patterns are walked twice: the dictionary precedes them in the file, and which texts
        // are still in use is known only after the first walk.
        let renumbering = SymbolRenumbering::new(segment, node_idx, &forgotten, &below)?;
        renumbering.write_foreign(segment, node_idx, &mut writer)?;
        writer.begin_node(renumbering.texts.iter().map(AsRef::as_ref))?;
        let mut symbols = Vec::new();
        let mut remaining = RemainingPatterns::new(segment, node_idx, &forgotten)?;
        while let Some(cursor) = remaining.next_pattern()? {
            let (record, name) = (cursor.record()?, cursor.name());
            symbols.clear();
            for symbol in record.symbols(cursor.width()) {
                let renumbered = renumbering.renumber(symbol);
                symbols.push(renumbered.ok_or_else(|| segment.corrupt_block())?);
            }
            let extras = record.extras().ok_or_else(|| segment.corrupt_block())?;
            let name = name.ok_or_else(|| segment.corrupt_block())?;
            writer.push(name, record.frequency, &symbols, &extras)?;
        }
        writer.end_node()?;
        let mut vectors = MergedVectors::new(slice::from_ref(segment), node_idx)?;
        while let Some((name, vector)) = vectors.next_vector()? {
            writer.push_vector(name, &vector)?;
        }
        below = forgotten;
    }
    let documents = segment.documents()?;
    let documents = documents
        .iter()
        .map(|(document_idx, id)| (*document_idx, id.as_str()));
    writer.finish(documents)
}

/// Ascending names that are walked beside others in the same order.
struct SortedNames<'a>(Peekable<slice::Iter<'a, PatternName>>);

impl<'a> SortedNames<'a> {
    /// Creates a walk along these names.
    fn new(names: &'a [PatternName]) -> Self {
        Self(names.iter().peekable())
    }

    /// Returns whether a name is among them; names asked for must ascend.
    fn contains(&mut self, name: &PatternName) -> bool {
        while self.0.next_if(|next| *next < name).is_some() {}
        self.0.peek() == Some(&name)
    }
}

/// Patterns of a node that are forgotten, by rank in the old segment and by name; both ascend.
#[derive(Default)]
struct Forgotten {
    ranks: Vec<u32>,
    names: Vec<PatternName>,
}

impl Forgotten {
    /// Finds those of the names that the segment holds.
    fn find(
        segment: &Arc<Segment>,
        node_idx: usize,
        names: &[PatternName],
    ) -> Result<Self, StoreError> {
        let mut found = Self::default();
        let Some(first) = names.first() else {
            return Ok(found);
        };
        let mut sorted_names = SortedNames::new(names);
        let leading = first.leading_u64();
        let mut cursor = NodeCursor::from_leading(Arc::clone(segment), node_idx, leading)?;
        while let Some(name) = cursor.name().filter(|_| sorted_names.0.peek().is_some()) {
            if sorted_names.contains(&name) {
                let rank = u32::try_from(cursor.rank()).map_err(|_| segment.corrupt_block())?;
                found.ranks.push(rank);
                found.names.push(name);
            }
            cursor.advance()?;
        }
        Ok(found)
    }
}

/// A walk along the patterns of a node that stay.
struct RemainingPatterns<'a> {
    cursor: NodeCursor,
    forgotten: Peekable<slice::Iter<'a, u32>>,
    started: bool,
}

impl<'a> RemainingPatterns<'a> {
    /// Creates a walk that begins before the first pattern.
    fn new(
        segment: &Arc<Segment>,
        node_idx: usize,
        forgotten: &'a Forgotten,
    ) -> Result<Self, StoreError> {
        Ok(Self {
            cursor: NodeCursor::new(Arc::clone(segment), node_idx)?,
            forgotten: forgotten.ranks.iter().peekable(),
            started: false,
        })
    }

    /// Moves to the next pattern that stays and returns the cursor at it; `None` after the last.
    fn next_pattern(&mut self) -> Result<Option<&NodeCursor>, StoreError> {
        // A new cursor stands at the first pattern already.
        if self.started {
            self.cursor.advance()?;
        }
        self.started = true;
        while self
            .forgotten
            .next_if(|&&rank| u64::from(rank) == self.cursor.rank())
            .is_some()
        {
            self.cursor.advance()?;
        }
        Ok(self.cursor.name().map(|_| &self.cursor))
    }
}

/// The new number of a foreign name that is out of use, which no name can have.
const UNUSED: u32 = u32::MAX;

/// The symbols that the patterns of a node that stay have.
struct InUse {
    /// By rank in the dictionary.
    texts: Vec<bool>,
    /// By index among the forgotten patterns of the node below.
    names: Vec<bool>,
    /// By number of the foreign name; [`UNUSED`] for those that are out of use.
    foreign: Vec<u32>,
}

impl InUse {
    /// Reads the patterns that stay.
    fn find(
        segment: &Arc<Segment>,
        node_idx: usize,
        forgotten: &Forgotten,
        below: &Forgotten,
        n_texts: usize,
    ) -> Result<Self, StoreError> {
        let n_below = segment.n_below(node_idx);
        let mut texts = vec![false; n_texts];
        let n_names = segment.n_names(node_idx);
        let mut names = vec![false; below.ranks.len()];
        let mut foreign = vec![UNUSED; segment.n_foreign(node_idx) as usize];
        let mut remaining = RemainingPatterns::new(segment, node_idx, forgotten)?;
        while let Some(cursor) = remaining.next_pattern()? {
            for symbol in cursor.record()?.symbols(cursor.width()) {
                let in_use = if let Some(text) = symbol.checked_sub(n_names) {
                    texts.get_mut(text as usize)
                } else if let Some(number) = symbol.checked_sub(n_below) {
                    foreign[number as usize] = 0;
                    continue;
                } else {
                    match below.ranks.binary_search(&symbol) {
                        Ok(idx) => names.get_mut(idx),
                        // A child that stays needs no text: its new number follows from its rank.
                        Err(_) => continue,
                    }
                };
                *in_use.ok_or_else(|| segment.corrupt_block())? = true;
            }
        }
        Ok(Self {
            texts,
            names,
            foreign,
        })
    }
}

/// The new numbers of a node's symbols.
struct SymbolRenumbering<'a> {
    /// Patterns of the node below in the old segment.
    n_below: u32,
    below: &'a Forgotten,
    /// Patterns of the node below that stay.
    n_remaining: u32,
    /// Number of each foreign name → new one; [`UNUSED`] for those that are out of use.
    foreign: Vec<u32>,
    /// Foreign names that are still in use.
    n_foreign: u32,
    /// The new dictionary: text that is still in use, and names that have become text.
    texts: Vec<Cow<'a, str>>,
    /// Old rank in the dictionary → new one; `None` for text that is out of use.
    text_ranks: Vec<Option<u32>>,
    /// Index in `below` → rank in the new dictionary.
    forgotten_ranks: Vec<Option<u32>>,
}

impl<'a> SymbolRenumbering<'a> {
    /// Finds the texts and foreign names that are still in use and gives every symbol its new number.
    fn new(
        segment: &'a Arc<Segment>,
        node_idx: usize,
        forgotten: &Forgotten,
        below: &'a Forgotten,
    ) -> Result<Self, StoreError> {
        let dictionary = segment.dictionary(node_idx)?;
        let n_below = segment.n_below(node_idx);
        let InUse {
            texts: text_in_use,
            names: name_in_use,
            mut foreign,
        } = InUse::find(segment, node_idx, forgotten, below, dictionary.len())?;
        // By text, as a dictionary is; where a text comes from is the second part.
        let mut texts: Vec<(Cow<'a, str>, Source)> = Vec::new();
        let used = |flags: Vec<bool>| flags.into_iter().enumerate().filter(|&(_, used)| used);
        for (rank, _) in used(text_in_use) {
            let text = dictionary
                .get(rank)
                .ok_or_else(|| segment.corrupt_block())?;
            texts.push((text.into(), Source::Text(rank)));
        }
        for (idx, _) in used(name_in_use) {
            let text = below.names[idx].prefixed().to_string();
            texts.push((text.into(), Source::Forgotten(idx)));
        }
        // No text occurs twice: a dictionary never has the name of a pattern that the segment's
        // node below holds, nor has the table of foreign names.
        texts.sort_unstable();
        let mut text_ranks = vec![None; dictionary.len()];
        let mut forgotten_ranks = vec![None; below.ranks.len()];
        for (rank, (_, source)) in (0..).zip(&texts) {
            match *source {
                Source::Text(old) => text_ranks[old] = Some(rank),
                Source::Forgotten(idx) => forgotten_ranks[idx] = Some(rank),
            }
        }
        let mut n_foreign = 0;
        for number in foreign.iter_mut().filter(|number| **number != UNUSED) {
            *number = n_foreign;
            n_foreign += 1;
        }
        let n_forgotten = u32::try_from(below.ranks.len()).ok();
        let n_remaining = n_forgotten.and_then(|forgotten| n_below.checked_sub(forgotten));
        Ok(Self {
            n_below,
            below,
            n_remaining: n_remaining.ok_or_else(|| segment.corrupt_block())?,
            foreign,
            n_foreign,
            texts: texts.into_iter().map(|(text, _)| text).collect(),
            text_ranks,
            forgotten_ranks,
        })
    }

    /// Writes the foreign names that are still in use.
    fn write_foreign(
        &self,
        segment: &Arc<Segment>,
        node_idx: usize,
        writer: &mut SegmentWriter,
    ) -> Result<(), StoreError> {
        let mut cursor = ForeignCursor::new(Arc::clone(segment), node_idx)?;
        while let Some(name) = cursor.name() {
            if self.foreign[cursor.number() as usize] != UNUSED {
                writer.push_foreign(name)?;
            }
            cursor.advance()?;
        }
        Ok(())
    }

    /// Returns the new number of a symbol; `None` if it is none of the node's.
    fn renumber(&self, symbol: u32) -> Option<u32> {
        let text = match symbol.checked_sub(self.n_below) {
            Some(other) => match (other as usize).checked_sub(self.foreign.len()) {
                Some(text) => *self.text_ranks.get(text)?,
                None => return Some(self.n_remaining + self.foreign[other as usize]),
            },
            None => match self.below.ranks.binary_search(&symbol) {
                Ok(idx) => self.forgotten_ranks[idx],
                // Its rank falls by the number of forgotten patterns with smaller ranks.
                Err(before) => return symbol.checked_sub(u32::try_from(before).ok()?),
            },
        };
        Some(self.n_remaining + self.n_foreign + text?)
    }
}

/// The origin of a text of the new dictionary.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Source {
    /// The old dictionary, at this rank.
    Text(usize),
    /// The name of a forgotten pattern, at this index among them.
    Forgotten(usize),
}
