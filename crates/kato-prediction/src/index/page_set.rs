//! The pages of an index: patterns are appended to an open page, which is sealed when it has some
//! of them; small sealed pages are merged when there are many.

#![expect(
    clippy::cast_possible_truncation,
    reason = "a page's number is below 2¹⁶, and so is a place in a page"
)]

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};
use std::thread;

use kato_model::PatternName;

use crate::page::{PAGE_PATTERNS, Page};
use crate::page_class::PageClass;
use crate::{IndexError, SymbolId};

/// Patterns at which learning seals an open page: every prediction compares each pattern in it.
pub(crate) const OPEN_PATTERNS: usize = 4096;

/// Symbols at which an open page is sealed however few patterns hold them.
const OPEN_SYMBOLS: usize = 1 << 20;

/// Number of sealed pages of a class, large ones not counted, at which they are merged.
const FAN_IN: usize = 16;

/// Pages without postings at which these are made: those of many are made together, on several threads.
const DUE: usize = 8;

/// Patterns whose postings are worth a thread.
const PATTERNS_OF_A_THREAD: usize = 1 << 13;

/// Most pages, as they are numbered with 16 bits.
const PAGES: usize = 1 << 16;

/// Where a pattern lies: the page's number in the upper 16 bits, the place in the
/// page in the lower.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place(u32);

impl Place {
    pub(crate) fn new(page: u16, place: u16) -> Self {
        Self(u32::from(page) << 16 | u32::from(place))
    }

    fn page(self) -> usize {
        (self.0 >> 16) as usize
    }

    fn place(self) -> u16 {
        self.0 as u16
    }
}

/// Where a pattern of an index lies: in a page, or in the index below by its rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spot {
    Page(Place),
    Base(u32),
}

/// A pattern that moved from one place to another.
pub(super) type Move = (PatternName, Place, Place);

/// All pages of an index by number.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pages(Vec<Page>);

impl Pages {
    /// Returns all pages that hold patterns, with their numbers.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u16, &Page)> {
        let numbers = 0..=u16::MAX;
        numbers.zip(&self.0).filter(|(_, page)| page.len() > 0)
    }

    pub(crate) fn name(&self, place: Place) -> PatternName {
        self.0[place.page()].names()[usize::from(place.place())]
    }

    pub(crate) fn frequency(&self, place: Place) -> u64 {
        self.0[place.page()].frequency(place.place())
    }

    pub(crate) fn event_lengths(&self, place: Place) -> Option<&[u32]> {
        self.0[place.page()].event_lengths(place.place())
    }

    pub(crate) fn read_symbols(&self, place: Place, out: &mut Vec<SymbolId>) {
        self.0[place.page()].read_symbols(place.place(), out);
    }

    pub(crate) fn is_finalized(&self, place: Place) -> bool {
        self.0[place.page()].is_finalized(place.place())
    }
}

/// The pages of an index, by class.
#[derive(Debug, Clone, Default)]
pub(super) struct PageSet {
    pages: Pages,
    /// Numbers of empty pages.
    free: Vec<u16>,
    classes: BTreeMap<PageClass, ClassPages>,
    /// Number of sealed pages that lack postings, at most.
    n_due: usize,
}

/// The numbers of the pages of one class.
#[derive(Debug, Clone)]
struct ClassPages {
    open: u16,
    sealed: Vec<u16>,
}

impl PageSet {
    pub(super) fn pages(&self) -> &Pages {
        &self.pages
    }

    pub(super) fn add_frequency(&mut self, place: Place, added: u64) {
        self.pages.0[place.page()].add_frequency(place.place(), added);
    }

    /// Makes a pattern one that was never learned, to its frequency.
    pub(super) fn clear_frequency(&mut self, place: Place) {
        self.pages.0[place.page()].clear_frequency(place.place());
    }

    pub(super) fn finalize(&mut self) {
        self.pages.0.iter_mut().for_each(Page::finalize);
    }

    /// Appends a new pattern to the open page of its class.
    pub(super) fn push(
        &mut self,
        class: &PageClass,
        name: PatternName,
        symbols: &[SymbolId],
        event_lengths: Option<&[u32]>,
        frequency: u64,
    ) -> Result<Place, IndexError> {
        // Half of what 32 bits count, so that the longest pattern fits after
        // those of an open page.
        const TOO_LONG: IndexError = IndexError::Full {
            what: "symbols in one pattern",
            limit: u32::MAX as u64 / 2,
        };
        if symbols.len() > u32::MAX as usize / 2 {
            return Err(TOO_LONG);
        }
        let number = match self.classes.get(class) {
            Some(class_pages) => class_pages.open,
            None => {
                let open = self.allocate(Page::open(class.clone()))?;
                let sealed = Vec::new();
                self.classes
                    .insert(class.clone(), ClassPages { open, sealed });
                open
            }
        };
        // Sealing needs a free page later, and an error then would come too late.
        self.ensure_free_pages()?;
        let page = &mut self.pages.0[usize::from(number)];
        let place = page.push(name, symbols, event_lengths, frequency);
        Ok(Place::new(number, place))
    }

    /// Seals the open page of a class if it has reached `limit`, and merges small pages
    /// if there are many.
    pub(super) fn seal_if_full(&mut self, class: &PageClass, limit: usize) -> Vec<Move> {
        let Some(class_pages) = self.classes.get(class) else {
            return Vec::new();
        };
        let open = &self.pages.0[usize::from(class_pages.open)];
        if open.len() < limit && open.n_symbols() < OPEN_SYMBOLS {
            return Vec::new();
        }
        let moves = self.seal(class);
        // Where pages get that large, there is no prediction before all are sealed.
        if limit < PAGE_PATTERNS || self.n_due >= DUE {
            self.make_postings();
        }
        moves
    }

    /// Seals the open page of every class.
    pub(super) fn seal_all(&mut self) -> Vec<Move> {
        let classes: Vec<PageClass> = self.classes.keys().cloned().collect();
        let moves = classes.iter().flat_map(|class| self.seal(class)).collect();
        self.make_postings();
        moves
    }

    /// Makes the postings of the sealed pages that lack them.
    fn make_postings(&mut self) {
        if std::mem::take(&mut self.n_due) == 0 {
            return;
        }
        let pages = self.pages.0.iter_mut();
        let due: Vec<&mut Page> = pages.filter(|page| page.is_due()).collect();
        let n_patterns: usize = due.iter().map(|page| page.len()).sum();
        let n_threads = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let n_threads = n_threads.min(n_patterns / PATTERNS_OF_A_THREAD);
        let n_threads = n_threads.min(due.len());
        let due = Mutex::new(due.into_iter());
        let next = || due.lock().unwrap_or_else(PoisonError::into_inner).next();
        let make = || std::iter::from_fn(next).for_each(Page::make_postings);
        thread::scope(|scope| {
            for _ in 1..n_threads {
                scope.spawn(make);
            }
            make();
        });
    }

    /// Returns the bytes of memory that the pages take.
    pub(super) fn heap_bytes(&self) -> usize {
        self.pages.0.capacity() * size_of::<Page>()
            + self.pages.0.iter().map(Page::heap_bytes).sum::<usize>()
    }

    /// Fails unless there are numbers for all pages that a push can lead to.
    fn ensure_free_pages(&self) -> Result<(), IndexError> {
        // One page each for sealing and for merging.
        if self.free.len() + PAGES - self.pages.0.len() >= 2 {
            return Ok(());
        }
        Err(IndexError::Full {
            what: "pages of 65536 patterns",
            limit: PAGES as u64,
        })
    }

    /// Gives a page a number, if there are enough of them.
    fn allocate(&mut self, page: Page) -> Result<u16, IndexError> {
        self.ensure_free_pages()?;
        Ok(self.place_page(page))
    }

    /// Gives a page a number that is not in use, of which
    /// [`ensure_free_pages`](Self::ensure_free_pages) has made sure.
    fn place_page(&mut self, page: Page) -> u16 {
        if let Some(number) = self.free.pop() {
            self.pages.0[usize::from(number)] = page;
            return number;
        }
        self.pages.0.push(page);
        (self.pages.0.len() - 1) as u16
    }

    /// Seals the open page of a class, then merges the small pages of the class if there are many.
    fn seal(&mut self, class: &PageClass) -> Vec<Move> {
        let Some(class_pages) = self.classes.get(class) else {
            return Vec::new();
        };
        let open = class_pages.open;
        if self.pages.0[usize::from(open)].len() == 0 {
            return Vec::new();
        }
        let (sealed, next_open, mut moves) = self.seal_open(open, class);
        let class_pages = self.classes.get_mut(class).expect("it was just found");
        class_pages.open = next_open;
        class_pages.sealed.push(sealed);
        // Pages over half full are left alone: no two of them fit into one.
        let size = |number: &u16| self.pages.0[usize::from(*number)].len();
        let mut small: Vec<u16> = class_pages.sealed.clone();
        small.retain(|number| size(number) <= PAGE_PATTERNS / 2);
        if small.len() < FAN_IN {
            return moves;
        }
        // The smallest first, so that as many as possible fit into one page.
        small.sort_by_key(size);
        let mut fitting = 0;
        let (mut n_patterns, mut n_symbols) = (0, 0);
        for &number in &small {
            let page = &self.pages.0[usize::from(number)];
            if !page.fits_with(n_patterns, n_symbols) {
                break;
            }
            n_patterns += page.len();
            n_symbols += page.n_symbols();
            fitting += 1;
        }
        small.truncate(fitting);
        if small.len() < 2 {
            return moves;
        }
        class_pages.sealed.retain(|number| !small.contains(number));
        let (merged, more) = self.merge(&small, class);
        if let Some(class_pages) = self.classes.get_mut(class) {
            class_pages.sealed.push(merged);
        }
        // A pattern of the page just sealed moves twice; the moves are applied in order.
        moves.extend(more);
        moves
    }

    /// Seals an open page; returns its number, that of the open page that follows it, and what moved.
    fn seal_open(&mut self, open: u16, class: &PageClass) -> (u16, u16, Vec<Move>) {
        let page = &mut self.pages.0[usize::from(open)];
        // Stores hand over patterns in name order: what is loaded stays where it is.
        if page.is_in_name_order() {
            page.seal();
            self.n_due += 1;
            let next = self.place_page(Page::open(class.clone()));
            return (open, next, Vec::new());
        }
        let (sealed, moves) = self.merge(&[open], class);
        // Merging emptied the page and made its number free; it goes on as the open page.
        self.free.retain(|&number| number != open);
        (sealed, open, moves)
    }

    /// Replaces pages by one sealed page under another number.
    fn merge(&mut self, numbers: &[u16], class: &PageClass) -> (u16, Vec<Move>) {
        let inputs: Vec<Page> = numbers
            .iter()
            .map(|&number| {
                // An empty page of the class keeps the number until it is used again.
                let empty = Page::open(class.clone());
                std::mem::replace(&mut self.pages.0[usize::from(number)], empty)
            })
            .collect();
        let (merged, origins) = Page::merge(&inputs, class.clone());
        // The new number is none of the old ones, so that no old place equals a new one.
        let to = self.place_page(merged);
        // Inclusive: counting on past the last place of a full page would overflow.
        let moves = (0..=u16::MAX)
            .zip(&origins)
            .map(|(place, &(input, old_place))| {
                let from = Place::new(numbers[usize::from(input)], old_place);
                let to = Place::new(to, place);
                (self.pages.name(to), from, to)
            })
            .collect();
        self.free.extend(numbers);
        (to, moves)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn postings_that_are_made_together_are_those_that_are_made_one_by_one() {
        let mut pages = PageSet::default();
        let mut classes = BTreeSet::new();
        for length in 1..=12 {
            // In name order, so that pages are sealed as they are.
            for number in 0..2_000_u32 {
                let mut bytes = [0; PatternName::BYTES];
                bytes[..4].copy_from_slice(&number.to_be_bytes());
                let symbols: Vec<_> = (0..length).map(|at| SymbolId(number % (7 + at))).collect();
                let class = PageClass::new(&symbols, None);
                let name = PatternName::from_bytes(bytes);
                pages.push(&class, name, &symbols, None, 1).unwrap();
                classes.insert(class);
            }
        }
        for class in &classes {
            assert!(pages.seal_if_full(class, PAGE_PATTERNS).is_empty());
            assert!(pages.seal(class).is_empty());
        }
        // None of them is asked before all are sealed.
        let due = |pages: &PageSet| {
            pages
                .pages()
                .iter()
                .filter(|(_, page)| page.is_due())
                .count()
        };
        assert_eq!((due(&pages), pages.n_due), (classes.len(), classes.len()));
        assert!(pages.seal_all().is_empty());
        assert_eq!((due(&pages), pages.n_due), (0, 0));
        for (_, page) in pages.pages().iter() {
            let (alone, _) = Page::merge(std::slice::from_ref(page), page.class().clone());
            assert!(page.postings().is_some());
            assert_eq!(format!("{page:?}"), format!("{alone:?}"));
        }
    }
}
