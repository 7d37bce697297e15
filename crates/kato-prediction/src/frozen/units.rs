//! Indexes that add to others: one after the other they hold everything, as if they were one.
//!
//! A pattern is in the first that was written of it; what later ones count of it is a number beside its
//! rank. So no two hold one name, ranks follow each other, and what is counted adds up. Symbols are
//! numbered likewise: those of the lower ones first.

use std::borrow::Cow;
use std::iter::successors;

use kato_model::PatternName;

use super::FrozenIndex;
use super::layout::{id_of, number_of};
use crate::SymbolId;
use crate::search::TieOrder;
use crate::symbols::SymbolCount;

/// Where a name that was looked up lies, or would, in the node below and among the texts of an index.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct NearName {
    below: u32,
    text: usize,
}

impl FrozenIndex {
    /// Returns the indexes that together hold everything, the newest first.
    pub(crate) fn units(&self) -> impl Iterator<Item = &Self> {
        successors(Some(self), |unit| unit.lower.as_deref())
    }

    /// Returns the index that holds a pattern, and its rank there.
    fn unit_of(&self, rank: u32) -> (&Self, u32) {
        let unit = self.units().find(|unit| unit.first_rank <= rank);
        // The lowest begins at 0.
        let unit = unit.unwrap_or(self);
        (unit, rank - unit.first_rank)
    }

    /// Returns the rank of a pattern; `None` if there is none of this name.
    pub(crate) fn rank(&self, name: &PatternName) -> Option<u32> {
        let rank = |unit: &Self| Some(unit.first_rank + unit.own_rank(name)?);
        self.units().find_map(rank)
    }

    /// Returns the rank of a pattern as [`rank`](Self::rank) does, sooner where names come in order.
    ///
    /// `near` is empty at first, and after that what the call before has left there.
    pub(crate) fn rank_near(&self, name: &PatternName, near: &mut Vec<u32>) -> Option<u32> {
        if near.is_empty() {
            near.resize(self.units().count(), 0);
        }
        let mut units = self.units().zip(near);
        units.find_map(|(unit, near)| Some(unit.first_rank + unit.own_rank_near(name, near)?))
    }

    /// Says that so many names will soon be looked up.
    pub(crate) fn will_look_up(&self, n_names: usize) {
        self.units().for_each(|unit| unit.will_look_up_own(n_names));
    }

    /// Returns the name of a pattern.
    pub(crate) fn name(&self, rank: u32) -> PatternName {
        let (unit, rank) = self.unit_of(rank);
        unit.reader().name(rank)
    }

    /// Returns the number of learns of a pattern.
    pub(crate) fn frequency(&self, rank: u32) -> u64 {
        let (unit, own) = self.unit_of(rank);
        let above = self.units().take_while(|above| above.first_rank > rank);
        let added = above.map(|above| above.added_frequency(rank));
        added.fold(unit.own_frequency(own), u64::saturating_add)
    }

    /// Replaces `out` by the symbols of a pattern.
    pub(crate) fn read_symbols(&self, rank: u32, out: &mut Vec<SymbolId>) {
        let (unit, rank) = self.unit_of(rank);
        unit.reader().read_symbols(rank, out);
    }

    /// Returns the numbers of symbols of a pattern's events; `None` when each is one.
    pub(crate) fn event_lengths(&self, rank: u32) -> Option<Vec<u32>> {
        let (unit, rank) = self.unit_of(rank);
        unit.own_event_lengths(rank)
    }

    /// Returns the id of a text or of a name as a symbol; `None` if no pattern can hold it.
    pub(crate) fn id(&self, symbol: &str) -> Option<SymbolId> {
        match PatternName::from_symbol(symbol) {
            Some(name) => self.name_id(&name),
            None => self.text_id(symbol),
        }
    }

    /// Returns the id of a pattern name as a symbol.
    pub(crate) fn name_id(&self, name: &PatternName) -> Option<SymbolId> {
        self.find_from_lowest(&mut |unit| {
            let rank = |below: &Self| below.own_rank(name);
            unit.own_name_id(rank, || unit.own_name_place(name, None))
        })
    }

    /// Returns the id of a pattern name as [`name_id`](Self::name_id) does, sooner where names come in order.
    ///
    /// `near` is empty at first, and after that what the call before has left there.
    pub(crate) fn name_id_near(
        &self,
        name: &PatternName,
        near: &mut Vec<NearName>,
    ) -> Option<SymbolId> {
        if near.is_empty() {
            near.resize(self.units().count(), NearName::default());
        }
        let mut near = near.iter_mut();
        self.find_from_lowest(&mut |unit| {
            let NearName { below: rank, text } = near.next()?;
            let rank = |below: &Self| below.own_rank_near(name, rank);
            unit.own_name_id(rank, || unit.own_name_place(name, Some(text)))
        })
    }

    /// Returns what is found in the first index, of the lowest on: what was a text there stays one when the node below
    /// learns it.
    fn find_from_lowest<T>(&self, find: &mut impl FnMut(&Self) -> Option<T>) -> Option<T> {
        let lower = self.lower.as_ref();
        lower
            .and_then(|lower| lower.find_from_lowest(find))
            .or_else(|| find(self))
    }

    /// Returns the id that this index adds for a name, given what finds it in the node below and among texts.
    fn own_name_id(
        &self,
        rank: impl FnOnce(&Self) -> Option<u32>,
        text: impl FnOnce() -> Option<u32>,
    ) -> Option<SymbolId> {
        let own_below = |below: &Self| Some(below.first_rank + rank(below)?);
        if let Some(rank) = self.below.as_deref().and_then(own_below) {
            return Some(id_of(rank, self.n_below));
        }
        // Names that the node below does not hold are texts.
        match self.n_texts > self.first_text {
            true => Some(SymbolId(self.first_text + text()?)),
            false => None,
        }
    }

    fn text_id(&self, text: &str) -> Option<SymbolId> {
        self.units().find_map(|unit| unit.own_text_id(text))
    }

    fn own_text_id(&self, text: &str) -> Option<SymbolId> {
        let own = self.own_text_place(text)?;
        Some(SymbolId(self.first_text + own))
    }

    /// Returns the index that holds a text, and its place there.
    fn unit_of_text(&self, text: u32) -> (&Self, u32) {
        let unit = self.units().find(|unit| unit.first_text <= text);
        let unit = unit.unwrap_or(self);
        (unit, text - unit.first_text)
    }

    /// Returns whether a text is that of one of this node's symbols.
    pub(crate) fn is_text(&self, id: SymbolId, text: &str) -> bool {
        let (unit, own) = self.unit_of_text(id.0);
        unit.is_own_text(own, text)
    }

    /// Returns the text of one of this node's symbols.
    pub(crate) fn text(&self, id: SymbolId) -> Cow<'_, str> {
        let number = number_of(id, self.n_below, self.n_texts).unwrap_or(0);
        match (number.checked_sub(self.n_below), &self.below) {
            (Some(text), _) => {
                let (unit, own) = self.unit_of_text(text);
                Cow::Borrowed(unit.own_text(own))
            }
            (None, Some(below)) => Cow::Owned(below.name(number).prefixed().to_string()),
            (None, None) => Cow::Borrowed(""),
        }
    }

    /// Returns whether an id is that of one of this node's symbols.
    pub(crate) fn knows(&self, id: SymbolId) -> bool {
        number_of(id, self.n_below, self.n_texts).is_some()
    }

    /// Returns the number of patterns that hold a symbol.
    pub(crate) fn n_patterns_with(&self, id: SymbolId) -> u32 {
        let of_units = self.units().map(|unit| unit.own_n_patterns_with(id));
        of_units.fold(0, u32::saturating_add)
    }

    /// Returns the counts of a symbol. Of a pattern's name it reads every pattern that holds it.
    pub(crate) fn count(&self, id: SymbolId) -> SymbolCount {
        let Some(number) = number_of(id, self.n_below, self.n_texts) else {
            return SymbolCount::default();
        };
        match number.checked_sub(self.n_below) {
            Some(text) => {
                let counts = self.units().map(|unit| unit.text_count_if_known(text));
                counts.fold(SymbolCount::default(), SymbolCount::plus)
            }
            None => SymbolCount {
                n_patterns: self.n_patterns_with(id),
                frequency: self.frequency_of_name(id),
            },
        }
    }

    /// Returns what this index counts of a text, which may be a later one's.
    fn text_count_if_known(&self, text: u32) -> SymbolCount {
        match text < self.n_texts {
            true => self.text_count(text),
            false => SymbolCount::default(),
        }
    }

    /// Adds up the occurrences of a name over all learns of the patterns that hold it.
    fn frequency_of_name(&self, id: SymbolId) -> u64 {
        let mut symbols = Vec::new();
        let mut frequency = 0_u64;
        for unit in self.units() {
            let reader = unit.reader();
            let lists = reader.classes().iter();
            for list in lists.filter_map(|class| reader.held(class, id)) {
                for rank in list.iter(TieOrder::Ascending) {
                    reader.read_symbols(rank, &mut symbols);
                    let occurrences = symbols.iter().filter(|&&symbol| symbol == id).count();
                    let learned = self.frequency(reader.rank_among_all(rank));
                    let learned = learned.saturating_mul(occurrences as u64);
                    frequency = frequency.saturating_add(learned);
                }
            }
        }
        frequency
    }

    /// Returns all symbols that a pattern holds, texts before names.
    pub(crate) fn used(&self) -> impl Iterator<Item = SymbolId> + '_ {
        let texts = (0..self.n_texts).map(SymbolId);
        let names = (0..self.n_below).map(|rank| id_of(rank, self.n_below));
        texts
            .chain(names)
            .filter(|&id| self.n_patterns_with(id) > 0)
    }
}
