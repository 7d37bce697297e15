//! The search for the patterns that begin with a symbol, the shorter the better.

#![expect(
    clippy::cast_possible_truncation,
    reason = "a page has at most 2¹⁶ patterns"
)]

use kato_model::PatternName;

use super::{AHEAD, potential};
use crate::SymbolId;
use crate::cancel::{Cancel, Cancelled};
use crate::frozen::Reader;
use crate::index::{Hidden, PatternIndex, Place, Spot};
use crate::page::Page;
use crate::search::{Ranked, TieOrder, TopK};

/// A pattern that begins with the symbol, with its length.
pub(super) enum Candidate<'a> {
    Page(&'a Page, u16, usize),
    Base(&'a Reader<'a>, u32, usize),
}

impl Candidate<'_> {
    pub(super) fn length(&self) -> usize {
        match *self {
            Self::Page(_, _, length) | Self::Base(_, _, length) => length,
        }
    }
}

/// Returns the score of a candidate, which is at most that of its length.
type Score<'f> = dyn FnMut(Candidate<'_>) -> Result<Option<f64>, Cancelled> + 'f;

/// A search for the best patterns that begin with a symbol.
pub(super) struct Search<'a> {
    pub(super) symbol: SymbolId,
    pub(super) hidden: &'a Hidden,
    pub(super) ties: TieOrder,
    pub(super) top: TopK,
    pub(super) cancel: &'a Cancel,
}

impl Search<'_> {
    /// Offers the patterns of an index.
    pub(super) fn offer_all(
        &mut self,
        index: &PatternIndex,
        score: &mut Score<'_>,
    ) -> Result<(), Cancelled> {
        for (number, page) in index.pages().iter() {
            self.offer_page(number, page, score)?;
        }
        for unit in index.base().into_iter().flat_map(|base| base.units()) {
            self.offer_base(&unit.reader(), score)?;
        }
        Ok(())
    }

    /// Offers the patterns of a page.
    fn offer_page(
        &mut self,
        number: u16,
        page: &Page,
        score: &mut Score<'_>,
    ) -> Result<(), Cancelled> {
        self.cancel.check()?;
        // Shorter patterns score higher, so the shortest of the class bounds the page.
        let shortest = *page.class().lengths.lengths().start();
        let upper = potential(shortest.max(1));
        let is_worse = |bar: &Ranked| upper < bar.score;
        if self.top.threshold().is_some_and(is_worse) {
            return Ok(());
        }
        match page.postings() {
            Some(postings) => {
                let lists = postings.lists(self.symbol);
                let places = lists.map_or(&[][..], |lists| lists.places);
                for &place in self.ties.walk(places.iter()) {
                    if !self.offer_place((number, page, place), upper, score)? {
                        // Names come in the order of ties, so no later one is accepted either.
                        break;
                    }
                }
            }
            None => {
                // Names of an open page are in no order: one that is refused ends nothing.
                for place in 0..page.len() {
                    self.offer_place((number, page, place as u16), upper, score)?;
                }
            }
        }
        Ok(())
    }

    /// Offers one pattern of a page, and returns whether its name might be accepted.
    fn offer_place(
        &mut self,
        (number, page, place): (u16, &Page, u16),
        upper: f64,
        score: &mut Score<'_>,
    ) -> Result<bool, Cancelled> {
        let name = page.names()[usize::from(place)];
        let key = self.ties.name(&name);
        if !self.top.accepts(upper, || key) {
            return Ok(false);
        }
        if page.first_symbol(place) == Some(self.symbol) && !self.hidden.holds(&name) {
            let candidate = Candidate::Page(page, place, page.length_at(place));
            let score = score(candidate)?;
            if let Some(score) = score.filter(|&score| self.top.accepts(score, || key)) {
                let spot = Spot::Page(Place::new(number, place));
                self.top.push(Ranked { score, key, spot });
            }
        }
        Ok(true)
    }

    /// Offers the patterns of the index below.
    fn offer_base(&mut self, reader: &Reader<'_>, score: &mut Score<'_>) -> Result<(), Cancelled> {
        for class in reader.classes() {
            let lengths = class.class.lengths.lengths();
            let upper = potential((*lengths.start()).max(1));
            let Some((list, all_begin)) = reader.first(class, self.symbol) else {
                continue;
            };
            let mut ranks = list.iter(self.ties);
            let mut ahead: Vec<u32> = Vec::new();
            'class: loop {
                ahead.clear();
                ahead.extend(ranks.by_ref().take(AHEAD));
                if ahead.is_empty() {
                    break;
                }
                // Once there are enough, few are better.
                if self.top.threshold().is_none() {
                    reader.will_read_found(ahead.iter().copied());
                    reader.will_read_ranges(&ahead);
                }
                if !all_begin {
                    reader.retain_beginning(&mut ahead, self.symbol);
                }
                for &rank in &ahead {
                    self.cancel.check()?;
                    let key = self.ties.name(&reader.name(rank));
                    // Ranks come in the order of ties, so no later one of the class is accepted either.
                    if !self.top.accepts(upper, || key) {
                        break 'class;
                    }
                    self.offer_rank(reader, rank, key, score)?;
                }
            }
        }
        Ok(())
    }

    /// Offers one pattern of the index below.
    fn offer_rank(
        &mut self,
        reader: &Reader<'_>,
        rank: u32,
        key: PatternName,
        score: &mut Score<'_>,
    ) -> Result<(), Cancelled> {
        let among_all = reader.rank_among_all(rank);
        if self.hidden.holds_rank(among_all) {
            return Ok(());
        }
        let (_, length) = reader.range(rank);
        let score = score(Candidate::Base(reader, rank, length))?;
        if let Some(score) = score.filter(|&score| self.top.accepts(score, || key)) {
            let spot = Spot::Base(among_all);
            self.top.push(Ranked { score, key, spot });
        }
        Ok(())
    }
}
