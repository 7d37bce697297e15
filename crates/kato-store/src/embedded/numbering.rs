//! The symbols of a node when segments are merged: names that the node below holds become ranks,
//! whatever they were, and everything gets its new number.

use std::borrow::Cow;
use std::sync::Arc;

use kato_model::PatternName;

use super::in_use::{HeldName, InUse, NamesWalk};
use super::segment::{Dictionary, Segment};
use super::wanted::{Holder, WantedNames};
use crate::StoreError;

/// What becomes of names of patterns that the node below does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnknownNames {
    /// They are text among the others.
    Text,
    /// They are foreign names.
    Foreign,
}

impl UnknownNames {
    /// Returns what suits a merge of these segments: version 1 knows no foreign names, and what is
    /// merged of it keeps its version.
    pub(super) fn of_merged(segments: &[Arc<Segment>]) -> Self {
        match segments.iter().all(|segment| segment.version() == 1) {
            true => Self::Text,
            false => Self::Foreign,
        }
    }
}

/// The symbols of a node of a merge, by number: ranks, foreign names, then texts.
#[derive(Debug)]
pub(super) struct Numbering<'a> {
    /// The texts, ascending.
    pub(super) texts: Vec<Cow<'a, str>>,
    dictionaries: MergedDictionaries<'a>,
    /// Rank in the merged dictionary → new number.
    literals: Vec<u32>,
    /// Number of each segment's foreign name → new number.
    foreign: Vec<Vec<u32>>,
    /// Of each segment the rows of deleted patterns of the node below that others refer to, with the new
    /// numbers of their names.
    deleted: Vec<Vec<(u32, u32)>>,
}

impl Numbering<'_> {
    /// Gives deleted patterns of the node below the numbers that their names have as symbols, in the tables
    /// of each segment's rows.
    pub(super) fn number_deleted(&mut self, children: &mut [Vec<u32>]) {
        for (numbers, deleted) in children.iter_mut().zip(&mut self.deleted) {
            for (row, number) in deleted.drain(..) {
                numbers[row as usize] = number;
            }
        }
    }

    /// Returns of each segment the new numbers of its symbols that are no ranks, by their numbers
    /// without those of the ranks.
    pub(super) fn into_tables(self) -> Vec<Vec<u32>> {
        let Self {
            dictionaries,
            literals,
            mut foreign,
            ..
        } = self;
        for (table, ranks) in foreign.iter_mut().zip(&dictionaries.ranks) {
            // Texts come behind foreign names.
            // One that is out of use has no number.
            let number = |rank: &Option<usize>| rank.map_or(0, |rank| literals[rank]);
            table.extend(ranks.iter().map(number));
        }
        foreign
    }
}

/// The symbols of a node as long as the node below is walked along: its patterns number the names among
/// them.
pub(super) struct Unnumbered<'a> {
    segments: &'a [Arc<Segment>],
    node_idx: usize,
    dictionaries: MergedDictionaries<'a>,
    names: NumberedNames,
    wanted: WantedNames,
}

impl<'a> Unnumbered<'a> {
    /// Begins with the symbols of a node, ahead of the first pattern of the node below.
    ///
    /// Memory: 4 bytes for each foreign name of the segments, and the texts.
    pub(super) fn new(segments: &'a [Arc<Segment>], node_idx: usize) -> Result<Self, StoreError> {
        let in_use = segments
            .iter()
            .map(|segment| InUse::find(segment, node_idx));
        let in_use = in_use.collect::<Result<Vec<_>, _>>()?;
        let dictionaries = MergedDictionaries::new(segments, node_idx, &in_use)?;
        let walk = NamesWalk::new(segments, node_idx, in_use)?;
        Ok(Self {
            segments,
            node_idx,
            names: NumberedNames::new(segments, node_idx, dictionaries.merged.len()),
            wanted: WantedNames::new(&dictionaries.merged, node_idx, walk),
            dictionaries,
        })
    }

    /// Takes the next pattern of the node below, and its rank in the merge. Names ascend.
    #[inline]
    pub(super) fn below(&mut self, name: PatternName, rank: u32) -> Result<(), StoreError> {
        match self.wanted.next {
            Some(wanted) if wanted <= name => self.below_wanted(name, rank),
            _ => Ok(()),
        }
    }

    fn below_wanted(&mut self, name: PatternName, rank: u32) -> Result<(), StoreError> {
        while let Some(wanted) = self.wanted.next.filter(|wanted| *wanted <= name) {
            let number = (wanted == name).then_some(rank);
            self.names.take(&mut self.wanted, number)?;
        }
        Ok(())
    }

    /// Numbers what is left, over a node below of `n_below` patterns; `None` if there are more symbols than
    /// numbers. Foreign names of the result are passed to `push_foreign` in order.
    ///
    /// Names that some segment's node below holds become ranks: 4 bytes at most instead of 20 or
    /// 45.
    pub(super) fn finish(
        self,
        n_below: u32,
        unknown: UnknownNames,
        push_foreign: &mut dyn FnMut(PatternName) -> Result<(), StoreError>,
    ) -> Result<Option<Numbering<'a>>, StoreError> {
        let Self {
            dictionaries,
            mut names,
            mut wanted,
            ..
        } = self;
        while wanted.next.is_some() {
            names.take(&mut wanted, None)?;
        }
        let merged = &dictionaries.merged;
        if !names.unknown_places.is_empty() {
            let walk = NamesWalk::new(self.segments, self.node_idx, wanted.into_in_use())?;
            let wanted = WantedNames::new(merged, self.node_idx, walk);
            names.number_unknown(wanted, n_below, unknown, push_foreign)?;
        }
        let first_text = match unknown {
            UnknownNames::Foreign => n_below.checked_add(names.n_unknown),
            UnknownNames::Text => Some(n_below),
        };
        let texts = names.texts(merged);
        // Several segments together may have more texts than any of them could.
        let first_text = first_text.filter(|first| {
            let n_texts = u32::try_from(texts.len()).ok();
            n_texts.is_some_and(|n_texts| first.checked_add(n_texts).is_some())
        });
        let Some(first_text) = first_text else {
            return Ok(None);
        };
        names.number_texts(&texts, first_text, n_below);
        Ok(Some(Numbering {
            texts: texts.into_iter().map(|(text, _)| text).collect(),
            // Each has got one, as a name or as a text.
            literals: names.literals.into_iter().flatten().collect(),
            dictionaries,
            foreign: names.foreign,
            deleted: names.deleted,
        }))
    }
}

/// The names of patterns among the symbols, with their new numbers.
struct NumberedNames {
    /// Rank in the merged dictionary → new number, of those that are names.
    literals: Vec<Option<u32>>,
    /// Number of each segment's foreign name → new number.
    foreign: Vec<Vec<u32>>,
    /// Of each segment the rows of deleted patterns of the node below, with new numbers.
    deleted: Vec<Vec<(u32, u32)>>,
    /// Names so far, and of those that no node below holds the places among all.
    n_names: u32,
    unknown_places: Vec<u32>,
    /// Names that no node below holds, where they become text, and how many there are.
    unknown: Vec<PatternName>,
    n_unknown: u32,
}

impl NumberedNames {
    fn new(segments: &[Arc<Segment>], node_idx: usize, n_literals: usize) -> Self {
        let of_segment = |segment: &Arc<Segment>| vec![0; segment.n_foreign(node_idx) as usize];
        Self {
            literals: vec![None; n_literals],
            foreign: segments.iter().map(of_segment).collect(),
            deleted: vec![Vec::new(); segments.len()],
            n_names: 0,
            unknown_places: Vec::new(),
            unknown: Vec::new(),
            n_unknown: 0,
        }
    }

    /// Gives the next name a number, or notes that no node below holds it.
    fn take(&mut self, wanted: &mut WantedNames, number: Option<u32>) -> Result<(), StoreError> {
        if number.is_none() {
            self.unknown_places.push(self.n_names);
        }
        self.n_names += 1;
        wanted.take(|holder| {
            if let Some(number) = number {
                self.give(&holder, number);
            }
        })
    }

    fn give(&mut self, holder: &Holder, number: u32) {
        match *holder {
            Holder::Literal(idx) => self.literals[idx] = Some(number),
            Holder::Held(source, HeldName::Foreign(foreign)) => {
                self.foreign[source][foreign as usize] = number;
            }
            Holder::Held(source, HeldName::Deleted(row)) => {
                self.deleted[source].push((row, number))
            }
        }
    }

    /// Numbers the names that no node below holds, from `n_below` on: all of them once more, in order.
    fn number_unknown(
        &mut self,
        mut wanted: WantedNames,
        n_below: u32,
        unknown: UnknownNames,
        push_foreign: &mut dyn FnMut(PatternName) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let places = std::mem::take(&mut self.unknown_places);
        let mut places = places.into_iter().peekable();
        let mut place: u32 = 0;
        while let Some(name) = wanted.next {
            if places.next_if_eq(&place).is_none() {
                wanted.take(drop)?;
            } else {
                match unknown {
                    UnknownNames::Foreign => push_foreign(name)?,
                    UnknownNames::Text => self.unknown.push(name),
                }
                // Of more than there are numbers, the caller makes nothing.
                let number = n_below.wrapping_add(self.n_unknown);
                self.n_unknown = self.n_unknown.saturating_add(1);
                wanted.take(|holder| self.give(&holder, number))?;
            }
            place += 1;
        }
        Ok(())
    }

    /// Returns all that is text, ascending: what is no name, and the names that become text.
    fn texts<'a>(&self, merged: &[&'a str]) -> Vec<(Cow<'a, str>, Source)> {
        let mut texts: Vec<(Cow<'a, str>, Source)> = Vec::new();
        for (idx, text) in merged.iter().enumerate() {
            if self.literals[idx].is_none() {
                texts.push((Cow::Borrowed(*text), Source::Literal(idx)));
            }
        }
        for (idx, name) in self.unknown.iter().enumerate() {
            let text = name.prefixed().to_string();
            texts.push((Cow::Owned(text), Source::Unknown(idx)));
        }
        texts.sort_unstable();
        texts
    }

    /// Numbers the texts from `first_text` on.
    fn number_texts(&mut self, texts: &[(Cow<'_, str>, Source)], first_text: u32, n_below: u32) {
        if !self.unknown.is_empty() {
            // Until now they had the numbers that they would have as foreign names.
            let mut numbers = vec![0; self.unknown.len()];
            for (number, (_, source)) in (first_text..).zip(texts) {
                if let Source::Unknown(idx) = *source {
                    numbers[idx] = number;
                }
            }
            let as_text = |number: &mut u32| {
                if let Some(idx) = number.checked_sub(n_below) {
                    *number = numbers[idx as usize];
                }
            };
            self.literals.iter_mut().flatten().for_each(as_text);
            self.foreign.iter_mut().flatten().for_each(as_text);
            let deleted = self.deleted.iter_mut().flatten();
            deleted.for_each(|(_, number)| as_text(number));
        }
        for (number, (_, source)) in (first_text..).zip(texts) {
            if let Source::Literal(idx) = *source {
                self.literals[idx] = Some(number);
            }
        }
    }
}

/// The origin of a text.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Source {
    /// The merged dictionary, at this rank.
    Literal(usize),
    /// The names that no node below holds, at this place.
    Unknown(usize),
}

/// The dictionaries of a node, merged.
#[derive(Debug)]
struct MergedDictionaries<'a> {
    /// All texts, ascending and distinct.
    merged: Vec<&'a str>,
    /// Rank in each segment's dictionary → rank in `merged`; `None` for text that is out of use.
    ranks: Vec<Vec<Option<usize>>>,
}

impl<'a> MergedDictionaries<'a> {
    /// Merges the dictionaries of a node.
    fn new(
        segments: &'a [Arc<Segment>],
        node_idx: usize,
        in_use: &[Option<InUse>],
    ) -> Result<Self, StoreError> {
        let mut merged: Vec<&str> = Vec::new();
        let dictionaries = segments
            .iter()
            .map(|segment| segment.dictionary(node_idx))
            .collect::<Result<Vec<_>, _>>()?;
        for (dictionary, in_use) in dictionaries.iter().zip(in_use) {
            merged.extend(used_texts(dictionary, in_use.as_ref()).flatten());
            // Deduplicating as we go keeps memory at two dictionaries, not at one a segment.
            merged.sort();
            merged.dedup();
        }
        let ranks = dictionaries
            .iter()
            .zip(in_use)
            .map(|(dictionary, in_use)| {
                let mut rank = 0;
                let rank_of = |text: Option<&str>| {
                    let text = text?;
                    // Both sides ascend, so one walk over `merged` serves the whole dictionary.
                    while merged[rank] < text {
                        rank += 1;
                    }
                    Some(rank)
                };
                used_texts(dictionary, in_use.as_ref())
                    .map(rank_of)
                    .collect()
            })
            .collect();
        Ok(Self { merged, ranks })
    }
}

/// Returns the texts of a dictionary by rank, `None` for those that are out of use.
fn used_texts<'a>(
    dictionary: &'a Dictionary,
    in_use: Option<&InUse>,
) -> impl Iterator<Item = Option<&'a str>> {
    // Where it is not said what is in use, all is.
    let is_used = move |rank: usize| in_use.is_none_or(|it| it.texts[rank]);
    let texts = dictionary.iter().enumerate();
    texts.map(move |(rank, text)| is_used(rank).then_some(text))
}
